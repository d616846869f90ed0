"""On PYTHONPATH of the processes that analyse, for the sake of its one package.

There it is a top-level package, so that nothing else of the house is loaded beside user code. What the server
itself reads of it (names and requests) needs the standard library only.
"""

from pathlib import Path

FOLDER = Path(__file__).parent
PROGRAM = "faultless_symbolic_worker"
