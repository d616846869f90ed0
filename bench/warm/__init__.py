"""What a call of the pytest server takes beside `python -m pytest` in the same environment.

`python -m bench warm` measures all parts, `python -m bench warm.idle` one.
"""

from bench.page import Page

HEAD = """# How fast the pytest server answers

<!-- Written by `python -m bench warm`; run that, do not edit this. -->

Medians of 15 interleaved runs against `python -m pytest -q` with the same selection in one environment,
output captured. {machine}, {date}.

"""
PAGE = Page("pytest-speed", HEAD, __name__, ["idle", "loaded", "peers"])
main = PAGE.measure
publish = PAGE.publish
