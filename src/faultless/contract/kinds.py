"""The closed list of fault kinds and what is true of each.

kind                 JSON-RPC  retry            when
invalid_params       -32602    after fixing     an argument breaks its schema
unknown_tool         -32602    after fixing     no tool has that name
usage_error          -32602    after fixing     the engine refused arguments that passed the schema
parse_error          -32000    after fixing     text cannot be parsed: source, frontmatter, a script's JSON
permission_denied    -32000    never            a rule forbids it: a path outside the root, a missing scope
approval_required    -32000    after approval   a person must approve first
auth_required        -32000    after login      there is no valid login
not_found            -32000    after fixing     the thing named is not there
conflict             -32000    after re-reading it exists already, or changed since it was read
rate_limited         -32000    later            told to slow down; carries retry_after_seconds
too_large            -32000    after fixing     input or output over a stated limit
unsupported          -32000    never            a construct the engine cannot handle
collection_error     -32000    after fixing     test files could not be imported or parsed
timeout              -32000    maybe            the deadline passed; partial output is kept
interrupted          -32000    yes              stopped from outside
crash                -32000    maybe            killed by a signal, or an exit code out of range
engine_error         -32000    maybe            the engine malfunctioned
upstream_error       -32000    maybe            a service refused or failed
outcome_unknown      -32000    never blindly    a side effect may or may not have happened
unavailable          -32000    later            a process will not start, a server cannot be reached
internal             -32603    report it        a bug in faultless
"""

import re
from dataclasses import dataclass
from enum import StrEnum

INVALID_PARAMS_CODE = -32602
SERVER_ERROR_CODE = -32000
INTERNAL_ERROR_CODE = -32603


class FaultKind(StrEnum):
    INVALID_PARAMS = "invalid_params"
    UNKNOWN_TOOL = "unknown_tool"
    USAGE_ERROR = "usage_error"
    PARSE_ERROR = "parse_error"
    PERMISSION_DENIED = "permission_denied"
    APPROVAL_REQUIRED = "approval_required"
    AUTH_REQUIRED = "auth_required"
    NOT_FOUND = "not_found"
    CONFLICT = "conflict"
    RATE_LIMITED = "rate_limited"
    TOO_LARGE = "too_large"
    UNSUPPORTED = "unsupported"
    COLLECTION_ERROR = "collection_error"
    TIMEOUT = "timeout"
    INTERRUPTED = "interrupted"
    CRASH = "crash"
    ENGINE_ERROR = "engine_error"
    UPSTREAM_ERROR = "upstream_error"
    OUTCOME_UNKNOWN = "outcome_unknown"
    UNAVAILABLE = "unavailable"
    INTERNAL = "internal"


class Retry(StrEnum):
    """When the same call may be made again."""

    YES = "yes"
    LATER = "later"
    MAYBE = "maybe"
    AFTER_FIXING = "after fixing"
    AFTER_APPROVAL = "after approval"
    AFTER_LOGIN = "after login"
    AFTER_REREADING = "after re-reading"
    NEVER = "never"
    NEVER_BLINDLY = "never blindly"
    REPORT_IT = "report it"


@dataclass(frozen=True, slots=True)
class KindFacts:
    code: int
    retry: Retry
    when: str


# "never blindly" before "never".
_RULES = "|".join(sorted((re.escape(rule) for rule in Retry), key=len, reverse=True))
_ROW = re.compile(rf"^(\w+) +(-\d+) +({_RULES}) +(.+)$", re.MULTILINE)


def _read_table(text: str) -> dict[FaultKind, KindFacts]:
    rows = _ROW.findall(text)
    return {FaultKind(kind): KindFacts(int(code), Retry(retry), when) for kind, code, retry, when in rows}


FACTS = _read_table(__doc__)
