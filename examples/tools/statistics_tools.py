"""Numbers: every public function here that has type hints and a docstring is a tool.

@readonly
"""

from dataclasses import dataclass
from statistics import mean, median
from typing import Literal


@dataclass
class Summary:
    count: int
    mean: float
    median: float


def summarise(values: list[float]) -> Summary:
    """Count, mean and median of some numbers.

    Args:
        values: At least one number
    """
    return Summary(len(values), mean(values), median(values))


def convert(value: float, unit: Literal["celsius", "fahrenheit"] = "celsius") -> float:
    """Convert a temperature into the other unit.

    Args:
        value: The temperature
        unit: What it is measured in now

    @timeout 5s
    """
    return value * 9 / 5 + 32 if unit == "celsius" else (value - 32) * 5 / 9
