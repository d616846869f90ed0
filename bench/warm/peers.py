"""The same work by the other servers."""

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack

from bench.figures import interleave, medians, table
from bench.pytest import servers
from bench.pytest.servers import Competitor
from bench.warm import publish
from bench.warm.projects import Bench, Projects
from faultless.testing import WireClient

ROUNDS = 3
NOTE = """
no verdict: it did not call this green project green; mcp-tools-py wants pytest-json-report beside the tests.
"""


def measure() -> str:
    header, *found = peer_rows(Projects())
    return table(f"Times of a call as parts of `python -m pytest`'s ({ROUNDS} rounds)", header, found) + NOTE


def peer_rows(projects: Projects) -> list[list[str]]:
    """The same work by the others, each call against `python -m pytest` beside it."""
    works = {
        "two tests, plain": projects.plain,
        "two tests, Django": projects.django,
        "a public suite (itsdangerous)": projects.public,
    }
    competitors = servers.every()
    found = [[title, *compare_peers(bench, competitors)] for title, bench in works.items()]
    return [["work", *(competitor.name for competitor in competitors)], *found]


def compare_peers(bench: Bench, competitors: Sequence[Competitor]) -> list[str]:
    with ExitStack() as stack:
        runs: dict[str, Callable[[], float]] = {"typed": bench.type_pytest}
        for competitor in competitors:
            path = {"PYTHONPATH": str(bench.root / "src")}
            serving = servers.serving(competitor, bench.root, bench.python, deadline_seconds=120, extra=path)
            run = ask(competitor, stack.enter_context(serving))
            if run is not None:
                runs[competitor.name] = run
        walls = medians(interleave(runs, ROUNDS))
    return [
        f"{walls[each.name] / walls['typed']:.2f}" if each.name in walls else "no verdict"
        for each in competitors
    ]


def ask(competitor: Competitor, client: WireClient) -> Callable[[], float] | None:
    """None for a server that does not call this green project green."""
    tool, arguments = competitor.ask(["."], 500)

    def run() -> float:
        started = time.perf_counter()
        client.call(tool, arguments)
        return time.perf_counter() - started

    try:
        return run if competitor.says_green(client.call(tool, arguments)) else None
    except (TimeoutError, EOFError):
        return None


def main() -> None:
    publish("peers", measure())
