"""How long to wait before the same thing is tried again."""

import random


def choose_wait(
    failures: int, first_seconds: float, longest_seconds: float, asked_seconds: float | None = None
) -> float:
    """Doubles with every failure, less up to half by chance; what the other side asked for comes on top.

    `failures` counts those so far: 1 after the first.
    """
    doubled = min(longest_seconds, first_seconds * 2.0 ** min(failures - 1, 64))
    return (asked_seconds or 0.0) + doubled * random.uniform(0.5, 1.0)  # noqa: S311 - spreads load, keeps no secret
