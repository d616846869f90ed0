"""What a call of the pytest server takes beside `python -m pytest` in the same environment.

`python -m bench warm` measures all parts, `python -m bench warm.idle` one.
"""

import os

from bench.page import Page

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "15"))
"""Fewer where there is no time for more; the page says how many."""
HEAD = """# How fast the pytest server answers

<!-- Written by `python -m bench warm`; run that, do not edit this. -->

Medians of {rounds} interleaved runs, unless said otherwise, against `python -m pytest -q` with the same
selection in one environment, output captured. A call comes when its run is held; "Calls that found their run
begun" says how often that is so in ordinary use. Both sides take the interpreter apart at the end: that is
most of a short call. {machine}, {date}.

""".replace("{rounds}", str(ROUNDS))
PAGE = Page("pytest-speed", HEAD, __name__, ["idle", "others", "loaded", "lasting", "peers"])
main = PAGE.measure
publish = PAGE.publish


def tell_load() -> str:
    """Figures of a machine that others use too are worth less."""
    minute, _, quarter = os.getloadavg()
    return f"Load average when this began: {minute:.1f} (one minute), {quarter:.1f} (fifteen)."
