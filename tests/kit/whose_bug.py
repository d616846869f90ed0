"""Code of an author's that a tool uses."""


def divide(a: int, b: int) -> int:
    return a // b
