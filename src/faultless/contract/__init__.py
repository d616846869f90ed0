"""What a fault is, how it is written, how it is read."""

from faultless.contract.dialects import Dialect, ErrorReply, ResultReply, write
from faultless.contract.fault import (
    FACTS,
    Certainty,
    Fault,
    FaultKind,
    Json,
    KindBasis,
    KindFacts,
    Layer,
    Origin,
    Outcome,
    Retry,
)
from faultless.contract.reader import Reading, read
from faultless.contract.text import clean

__all__ = [
    "FACTS",
    "Certainty",
    "Dialect",
    "ErrorReply",
    "Fault",
    "FaultKind",
    "Json",
    "KindBasis",
    "KindFacts",
    "Layer",
    "Origin",
    "Outcome",
    "Reading",
    "ResultReply",
    "Retry",
    "clean",
    "read",
    "write",
]
