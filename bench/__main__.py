"""Runs the benches named on the command line, or every module here that has a `main`."""

import importlib
import os
import pkgutil
import sys

import bench

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # nobody is measured without its bytecode
names = sys.argv[1:] or [
    found.name for found in pkgutil.iter_modules(bench.__path__) if found.name != "__main__"
]
for name in names:
    module = importlib.import_module(f"bench.{name}")
    if hasattr(module, "main"):
        module.main()
