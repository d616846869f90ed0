"""The other calls: another selection, whole suites, a list of tests, the first call."""

from bench.figures import table
from bench.warm import publish, tell_load
from bench.warm.projects import HEADER, LONG_ROUNDS, Projects, rows_others


def measure() -> str:
    load, projects = tell_load(), Projects()
    title = f"Other calls ({LONG_ROUNDS} rounds of 10,000 tests)"
    return "\n".join([table(title, HEADER, rows_others(projects)), load, ""])


def main() -> None:
    publish("others", measure())
