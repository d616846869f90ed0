"""The `faultless` command."""
