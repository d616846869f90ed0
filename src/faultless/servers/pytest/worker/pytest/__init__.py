"""What `python -m pytest` finds first: begins the run, and has become the real pytest when it is imported."""

import faultless_pytest_start  # type: ignore[import-not-found]  # it lies beside us, where this is found

faultless_pytest_start.begin()
