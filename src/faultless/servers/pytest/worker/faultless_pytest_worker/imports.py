"""Which modules a run imported that the next one will want again. PYTEST_DONT_REWRITE"""

from __future__ import annotations

import os
import sys

INSTALLED = (os.sep + "site-packages" + os.sep, os.sep + "dist-packages" + os.sep)


def installed_modules(before: frozenset[str]) -> list[str]:
    """In the order of their import. Not those that pytest rewrites: they must be imported under its hook."""
    names = []
    for name, module in list(sys.modules.items()):
        if name in before or name == "__main__":
            continue
        path = getattr(module, "__file__", None)
        loader = type(getattr(module, "__loader__", None)).__name__
        if isinstance(path, str) and any(place in path for place in INSTALLED) and "Rewriting" not in loader:
            names.append(name)
    return names
