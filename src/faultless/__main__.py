"""`python -m faultless` is the `faultless` command."""

from faultless.cli import main

main()
