def average(values: list[float]) -> dict[str, float]:
    """The mean of some numbers.

    Args:
        values: The numbers
    """
    if not values:
        raise ValueError("there is nothing to average")
    return {"mean": sum(values) / len(values)}
