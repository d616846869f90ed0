"""Medians and tables, the same for every bench."""

import platform
import statistics
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from typing import TypeVar

K = TypeVar("K")


def interleave(
    competitors: Mapping[K, Callable[[], float]], rounds: int, *, warm_up: int = 1
) -> dict[K, list[float]]:
    """Every competitor once a round, in turning order, so that noise hits all of them alike."""
    found: dict[K, list[float]] = {name: [] for name in competitors}
    names = list(competitors)
    for number in range(rounds + warm_up):
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            figure = competitors[name]()
            if number >= warm_up:
                found[name].append(figure)
    return found


def medians(found: Mapping[K, Sequence[float]]) -> dict[K, float]:
    return {name: statistics.median(figures) for name, figures in found.items()}


def table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Markdown, readable as it is in a terminal."""
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        for row in [header, ["-" * width for width in widths], *rows]
    ]
    return "\n".join([f"## {title}", "", *lines, ""])


def machine(*packages: str) -> str:
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    return f"{platform.system()} {platform.machine()}, Python {platform.python_version()}, {versions}"
