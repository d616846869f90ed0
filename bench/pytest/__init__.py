"""The pytest server: truth on public suites, hostile cases, time and tokens, beside its peers.

`python -m bench pytest` measures all parts, `python -m bench pytest.truth` one.
"""

from bench.page import Page

HEAD = """# The pytest server in figures

<!-- Written by `python -m bench pytest`; run that, do not edit this. -->

{machine}, {date}.

"""
PAGE = Page("pytest-figures", HEAD, __name__, ["truth", "hostile", "costs", "tokens"])
main = PAGE.measure
publish = PAGE.publish
