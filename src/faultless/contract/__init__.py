"""What a fault is, how it is written, how it is read."""

from faultless.contract.fault import Fault, Json
from faultless.contract.kinds import FACTS, FaultKind, KindFacts, Retry

__all__ = ["FACTS", "Fault", "FaultKind", "Json", "KindFacts", "Retry"]
