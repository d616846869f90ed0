"""Bad inputs, bad definitions, bad outputs and bad manners, and the exact answer to each."""

from tests.servers.toolbox.cases.arguments import ARGUMENTS
from tests.servers.toolbox.cases.case import MISSING, Case
from tests.servers.toolbox.cases.definitions import DEFINITIONS
from tests.servers.toolbox.cases.runs import RUNS

CASES = [*ARGUMENTS, *DEFINITIONS, *RUNS]

__all__ = ["ARGUMENTS", "CASES", "DEFINITIONS", "MISSING", "RUNS", "Case"]
