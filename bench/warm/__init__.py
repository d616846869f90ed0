"""What a call of the pytest server takes beside `python -m pytest` in the same environment.

`python -m bench warm` measures all parts, `python -m bench warm.idle` one.
"""

import os

from bench.page import Page

HEAD = """# How fast the pytest server answers

<!-- Written by `python -m bench warm`; run that, do not edit this. -->

Medians of 15 interleaved runs, unless said otherwise, against `python -m pytest -q` with the same selection
in one environment, output captured. A call comes when its run is held; the third table says how often that
is so in ordinary use. {machine}, {date}.

"""
PAGE = Page("pytest-speed", HEAD, __name__, ["idle", "loaded", "peers"])
main = PAGE.measure
publish = PAGE.publish


def tell_load() -> str:
    """Figures of a machine that others use too are worth less."""
    minute, _, quarter = os.getloadavg()
    return f"Load average when this began: {minute:.1f} (one minute), {quarter:.1f} (fifteen)."
