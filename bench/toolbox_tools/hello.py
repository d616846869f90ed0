"""A Python function, to be measured."""


def py_hello(who: str) -> str:
    """Say hello."""
    return f"hello {who}"
