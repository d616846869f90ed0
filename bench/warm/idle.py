"""Calls beside `python -m pytest` on the machine as it is, best with nothing else to do."""

from bench.figures import table
from bench.warm import publish, tell_load
from bench.warm.projects import HEADER, Projects, rows_again


def measure() -> str:
    load, projects = tell_load(), Projects()
    return "\n".join([table("The same selection again", HEADER, rows_again(projects)), load, ""])


def main() -> None:
    publish("idle", measure())
