"""Runs the benches named on the command line, or every module here that has a `main`."""

import importlib
import pkgutil
import sys

import bench

names = sys.argv[1:] or [
    found.name for found in pkgutil.iter_modules(bench.__path__) if found.name != "__main__"
]
for name in names:
    module = importlib.import_module(f"bench.{name}")
    if hasattr(module, "main"):
        module.main()
