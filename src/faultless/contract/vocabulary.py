"""What strangers call each kind: their names, numbers and phrases, and which kind fits best.

Names are compared in snake case, without a closing `_error` or `_exception`. Each kind is also known by its
own name and by its names in our dialects. Beside the kind stands what it is based on: a code, which somebody
chose, or prose, which was only understood.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from faultless.contract.dialects import NAMES, Dialect
from faultless.contract.fault import FaultKind, KindBasis

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_FALLBACK = FaultKind.TOOL_FAILED
_LONGEST_NAME = 60
LONGEST_PROSE = 2000  # a reason stands at the beginning, and searching costs time
_OPENING = 300
"""Further on, a loose wording is more likely part of somebody's output than the reason."""
_LARGEST_NUMBER = 99_999


@dataclass(frozen=True, slots=True)
class Said:
    """What is said for one kind; names and numbers are words with blanks between them."""

    kind: FaultKind
    surely: tuple[str, ...] = ()
    """Regular expressions over the message that outweigh names and numbers."""
    names: str = ""
    numbers: str = ""
    """HTTP statuses and JSON-RPC codes."""
    phrases: tuple[str, ...] = ()
    """Regular expressions over the message, for when no name or number is known."""
    loosely: tuple[str, ...] = ()
    """Regular expressions over the opening of the message, for when no phrase fits either."""
    vaguely: str = ""
    """Names and numbers used for anything: they count only where no phrase fits."""


_NAME = r"""["'`]?[\w.:/-]{1,80}["'`]?"""
_ABSENT = r"(not (found|exist|available|registered|recogni[sz]ed|known|defined|implemented)|unknown)\b"
# A tool may also be a program that the server needs.
_NOT_INSTALLED = r"(?!.{0,40}\b(path|installed|install)\b)"

_PROGRAM = r"(browser|chrome|chromium|firefox|webkit|executable|binary)"
_QUOTED = r"""["'`(][^"'`)]{1,80}["'`)]"""
_FAILED_TO = r"(could(n.t| not)|cannot|can.t|unable to|failed to)"
_BE = r"( is| are| was| were| has been)?"
_FORMAT = r"(format|type|extension|encoding|language)"
_SYNTAXES = (
    r"(json|yaml|xml|toml|csv|html|pdf|zip|syntax|regex|regular expression|xpath|jsonpath|base64|utf-?8)"
)
_LOGIN = r"(access token|token|credential|password|\w*api[ _-]?key|\w+_token)s?"

# Phrases are tried from the top.
VOCABULARY = (
    Said(
        FaultKind.UNKNOWN_TOOL,
        surely=(
            r"(^\W*|: )(unknown|no such|unrecogni[sz]ed|undefined|nonexistent) tool\b",
            r"(^\W*|: )invalid tool name\b",
            r"\b(no|unknown|find( the| a)?) tool (named|called|with( the)? (name|id))\b",
            rf"\btool( name)? {_NAME} (was |is |does )?{_ABSENT}{_NOT_INSTALLED}",
            rf"\btool (was |is )?not (found|registered|recogni[sz]ed)\b{_NOT_INSTALLED}",
            rf"\b{_FAILED_TO} find (the )?tool {_NAME}{_NOT_INSTALLED}",
        ),
        names="tool_not_found no_such_tool unknown_tool_name",
        phrases=(rf"^\W*(mcp error -\d+: )?(method|function|command|action) {_NAME} {_ABSENT}\W*$",),
    ),
    Said(
        FaultKind.INVALID_PARAMS,
        names=(
            "invalid_argument invalid_arguments invalid_parameter invalid_input bad_request "
            "bad_input missing_parameter missing_argument missing_field unprocessable_entity "
            "schema_validation einval eisdir enotdir"
        ),
        numbers="-32602 422 -32020",
        phrases=(
            r"\bvalidation errors? for\b|\binput validation\b",
            r"\binvalid (param|argument|input|value)",
            r"\bmissing (a )?required\b|\brequired (argument|parameter|property|field)",
            r"\b(invalid_type|invalid_enum_value|unrecognized_keys)\b",
        ),
        loosely=(
            r"\b(is|are) required\b|\w required\b|\bplease (specify|provide|supply)\b",
            r"\bmust (not )?(be|have|contain|point|start|end|match|specify|provide|include|use)\b",
            r"\b(cannot|can.t|must not|should not|may not) (be|start|end) ",
            r"\bno (\S+ ){1,4}(provided|specified|given|supplied|set|selected)\b",
            r"\binvalid \w|\b(is|are) invalid\b|\bnot (a )?valid\b|\bmutually exclusive\b",
            r"(?<!index )\bout of (range|bounds)\b",
            r"\bambiguous\b|\bmore specific\b|\bcould not convert\b|\bunrecogni[sz]ed \w",
            r"\b(empty|blank) (\w+ ){0,2}(query|command|string|input|name|value|path|argument|parameter)\b",
            r"\bcannot (specify|combine|use) .{0,60}\b(both|together|simultaneously|with)\b",
            r"\bexpected\b.{0,60}\b(got|received|but)\b|\bunexpected (argument|parameter|option|field)",
            r"\bunknown (?!error|reason|exception|failure|issue|cause)\w",
            r"\b(eisdir|enotdir|einval)\b|\b(is|not) a (directory|folder|file)\b",
        ),
        vaguely="value validation invalid_request type 400 -32600",
    ),
    Said(
        FaultKind.USAGE_ERROR,
        names="usage invalid_usage",
        phrases=(r"^usage:|\bunrecognized arguments\b",),
        loosely=(r"\b(call|run|use|open|create|start|load|connect) (\S+ ){0,4}first\b",),
    ),
    Said(
        FaultKind.APPROVAL_REQUIRED,
        names="confirmation_required needs_approval needs_confirmation pending_approval",
        phrases=(
            r"\b(requires?|needs?|awaiting|pending|without) (\w+ )?(approval|confirmation)\b",
            r"\b(approval|confirmation) (is )?required\b|\bmust be (approved|confirmed)\b",
            r"\b(set|pass|with) \W?confirm(ed|ation)?\W{1,3}true\b|\bconfirm must be set to true\b",
            r"\bconfirmation\b.{0,30}\b(does not match|mismatch|missing|failed)\b",
        ),
    ),
    Said(
        FaultKind.RATE_LIMITED,
        names=(
            "rate_limit rate_limit_exceeded user_rate_limit_exceeded ratelimited "
            "too_many_requests quota_exceeded resource_exhausted throttled throttling"
        ),
        numbers="429",
        phrases=(
            r"\brate.?limit|\btoo many requests\b|\bquota\b.*\bexceeded\b|\bslow down\b",
            r"\bthrottl",
        ),
    ),
    Said(
        FaultKind.AUTH_REQUIRED,
        names=(
            "unauthorized unauthenticated not_authenticated authentication "
            "authentication_required authentication_failed auth_failed auth login_required "
            "invalid_token invalid_grant token_expired expired_token invalid_credentials "
            "missing_credentials refresh"
        ),
        numbers="401 -32042",
        phrases=(
            r"\bunauthori[sz]ed\b|\bnot (authenticated|logged in)\b",
            r"\b(please|must) (be )?(log|sign|logged|signed) in\b|\bre-?auth",
            r"\bauthenticat\w+ (has |is )?(failed|required|error|expired)\b",
            r"\blogin (required|expired|failed)\b|\baccess denied for user\b",
            rf"\brequires? (an? )?(\w+ )?(authentication|login|{_LOGIN})\b",
            rf"\b{_FAILED_TO} \w+ (\w+ )?credentials\b",
            rf"\b(invalid|expired|missing|revoked|wrong|incorrect|no)( \w+){{0,2}} {_LOGIN}\b",
            rf"\b{_LOGIN}( \w+){{0,3}} (expired|revoked|invalid|missing|required|not (set|provided|found))\b",
        ),
    ),
    Said(
        FaultKind.PERMISSION_DENIED,
        names=(
            "forbidden access_denied permission insufficient_scope insufficient_permissions "
            "eacces eperm not_allowed blocked security security_violation path_traversal"
        ),
        phrases=(
            r"\b(permission|access)( is| was)? denied\b|\bforbidden\b|\bblocked\b|\bdenied by\b",
            r"\bonly (\S+ ){1,4}(is|are) (allowed|permitted)\b|\brefus(ed|es|ing) to (?!connect)",
            r"\bnot (in|on) (the |your )?(allow|white|safe)[ -]?list\b|\b(path|directory) traversal\b",
            r"\bread-?only\b",
            r"\bnot (allowed|permitted|authori[sz]ed)\b",
            r"\b(no|lacks?|without|insufficient|missing|not have)( \w+){0,2} (scope|permission|privilege)",
            r"\b(dangerous|unsafe|malicious)\b.{0,40}\b(detected|rejected|refused)\b|\b(is|are) disabled\b",
            r"\boutside (of )?(the |its )?(\w+ )?(allowed|root|vault|workspace|sandbox|director)",
            r"\bdisallow(ed|s)?\b|\bprohibit(ed|s)\b|\bviolat(es|ed|ing|ion)\b.{0,40}\bpolic(y|ies)\b",
            r"\bpolic(y|ies)\b.{0,60}\b(forbids?|den(y|ies|ied)|blocks?|refus(es|ed)|does not allow)\b",
        ),
        vaguely="403",
    ),
    Said(
        FaultKind.TIMEOUT,
        names="timed_out deadline_exceeded etimedout request_timeout gateway_timeout",
        numbers="408 504",
        phrases=(r"\btimed?[ -]?out\b(?!=)|\bdeadline (exceeded|passed)\b|\btook too long\b",),
        vaguely="-32001",
    ),
    Said(
        FaultKind.CRASH,
        names="crashed killed segfault oom_killed out_of_memory",
        phrases=(
            r"\bsegmentation fault\b|\bcore dumped\b|\bkilled by\b|\bcrashed\b",
            r"\bout of memory\b",
            r"\bterminated (by|with) signal\b|\bsig(kill|segv|abrt|bus)\b",
        ),
    ),
    Said(
        FaultKind.UNAVAILABLE,
        surely=(
            r"\bexecutable (doesn.t|does not) exist\b|\bspawn \S+ (enoent|eacces)\b|\bcommand not found\b",
            rf"\b{_PROGRAM}( distribution| executable| {_QUOTED}){{0,3}} (is |was )?not (found|installed)\b",
            rf"\b{_FAILED_TO} (find|locate|launch|start)( the| a| any| installed)* {_PROGRAM}\b",
            r"\bplaywright install\b",
            rf"\btool {_NAME} (was |is )?not found\b.{{0,40}}\binstall",
            r"\b(is|are) not installed\b|\bnot (found )?(in|on) (the |your |\$)?(system )?path\b",
            r"\binstalled and (in|on) (the |your )?path\b|\bconnection refused\b|\beconnrefused\b",
            r"\b(not|no \w+)( was| is)? found\b.{0,40}\b(please|either|must|to) install\b",
            r"\b\w*sh: (line )?(\d+: )?\S+: not found\b|\binternal or external command\b",
        ),
        names=(
            "service_unavailable econnrefused econnreset enotfound connection "
            "connection_refused connection_closed connect host_unreachable offline import "
            "module_not_found"
        ),
        numbers="503",
        phrases=(
            r"\bconnection (was |is )?(refused|reset|closed|lost|failed|error|issue|problem|aborted)\b",
            rf"\b{_FAILED_TO} (connect|reach|establish)\b",
            r"\bunavailable\b|\bnot available\b|\bunreachable\b|\becon(nreset|naborted)\b",
            r"\benotfound\b|\beai_again\b|\bgetaddrinfo\b|\bname or service not known\b",
            r"\b(connect|connection)error\b|\bconnection attempts? failed\b|\bmax retries exceeded\b",
            r"\bfetch failed\b|\bsocket hang up\b|\bno route to host\b|\bnetwork ?error\b",
            r"\bnetwork is down\b|\bnot connected\b|\bno (active |open )?connection\b|\bneed to connect\b",
            r"\b(is|are) not running\b|\bis the .{1,40}\brunning\b|\bnot (been )?configured\b",
            r"\b(environment|env) (variable|var)s?\b|\bconnection to .{1,60} (failed|lost|closed)\b",
            r"\berr_(name_not_resolved|connection_\w+|internet_disconnected|address_unreachable)\b",
            rf"\b{_FAILED_TO} resolve (the )?host",
            r"\bfailed to (spawn|start)\b|\bno module named\b|\bname resolution\b",
        ),
    ),
    Said(
        FaultKind.TOO_LARGE,
        names=(
            "payload_too_large content_too_large request_entity_too_large e2big "
            "size_limit_exceeded message_too_large context_length_exceeded response_too_large"
        ),
        numbers="413 414 431",
        phrases=(r"\btoo (large|big|long)\b|\bexceeds? (the |a )?(max|size|length|token|limit)",),
    ),
    Said(
        FaultKind.UNSUPPORTED,
        names="not_implemented not_supported unimplemented method_not_found method_not_allowed",
        numbers="405 501 -32601 -32021 -32022",
        phrases=(
            r"\bnot (yet |currently )?(implemented|supported)\b|\bunsupported\b",
            r"\bmethod not found\b|\bdoes(n.t| not) support\b|\bonly (\S+ ){1,4}(is|are) supported\b",
            rf"\b(unknown|unrecogni[sz]ed) (file )?{_FORMAT}\b",
        ),
        loosely=(r"\bsupported (formats|types|extensions|languages)\b",),
    ),
    Said(
        FaultKind.NOT_FOUND,
        names="file_not_found resource_not_found enoent no_such_file no_such_entity gone",
        numbers="404 410",
        phrases=(
            r"\bnot found\b|\bno such\b|\bdoes(n.t| not) exist\b",
            rf"\b{_FAILED_TO} (find|locate)\b|\bnonexistent\b|\b(cannot|could not) be (found|located)\b",
            rf"\bno (\S+ ){{1,4}}{_BE}(found|matched)\b|\bno (\S+ ){{1,3}}match(es|ing)?\b",
            r"\bno (\S+ ){1,6}exists?\b",
            r"\bunknown (column|table|database|collection|index|resource|key|id|user|project|branch|file)\b",
            r"\bnot a git repository\b",
            r"\bdid not (match any|resolve)\b|\b(unknown|bad|ambiguous argument|invalid) revision\b",
        ),
        vaguely="missing key lookup -32002",
    ),
    Said(
        FaultKind.CONFLICT,
        names=(
            "already_exists eexist file_exists precondition_failed etag_mismatch stale "
            "version_mismatch failed_precondition"
        ),
        numbers="409 412",
        phrases=(
            r"\balready (exists?|in use|taken|registered|defined|present|running)\b|\bconflict",
            r"\b(changed|modified) since\b|\bstale\b|\bduplicate (key|entry|value|name|id)\b",
            r"\bunique (constraint|violation)\b|\b(directory|folder) (is )?not empty\b|\bhash mismatch\b",
            r"\bwould be overwritten\b|\bout of date\b|\bfile exists\b",
        ),
    ),
    Said(
        FaultKind.PARSE_ERROR,
        names="syntax invalid_json json_decode yaml malformed decode bad_syntax indentation",
        numbers="-32700",
        phrases=(
            r"\b(syntax|parser?|parsing|decode|decoding) ?error\b|\b(error|while|failed) parsing\b",
            rf"\b{_FAILED_TO} (parse|decode)\b|\b(invalid|not (a )?valid) {_SYNTAXES}\b|\bmalformed\b",
            r"\bunexpected (token|character|end of|eof)\b|\bunterminated\b|\bexpecting value\b",
            r"\bcorrupt(ed)?\b|\bnot a (zip file|database)\b|\bno closing quot",
        ),
    ),
    Said(
        FaultKind.COLLECTION_ERROR,
        names="collection_failed",
        phrases=(r"\berrors? (during|while) collect(ion|ing)\b",),
    ),
    Said(
        FaultKind.INTERRUPTED,
        names="cancelled canceled aborted keyboard_interrupt request_cancelled",
        numbers="499 -32800",
        phrases=(r"\binterrupted\b|\bcancell?ed\b|\baborted\b",),
    ),
    Said(
        FaultKind.OUTCOME_UNKNOWN,
        names="unknown_outcome indeterminate maybe_sent",
        phrases=(r"\bmay or may not have\b|\boutcome (is )?unknown\b|\bunknown whether\b",),
    ),
    Said(
        FaultKind.ENGINE_ERROR,
        names="engine_failure solver",
        phrases=(r"\binternalerror>",),
    ),
    Said(
        FaultKind.INTERNAL,
        names="internal_server internal_failure unhandled_exception",
        phrases=(r"\binternal (server )?error\b|\bunhandled exception\b",),
        vaguely="-32603",
    ),
    Said(
        FaultKind.TOOL_FAILED,
        # The tool ran, and its answer broke the schema; the SDK that says so calls that a parameter.
        surely=(r"\boutput validation error\b|\bvalidation errors? for \w*output\b",),
        names="tool_execution tool_failure execution command_failed execution_failed",
        # Whatever a program of somebody else printed after these, it is not this tool's reason.
        phrases=(r"\bexit(ed)?( with)?( a)? (code|status)\W{0,2}-?[1-9]|\bcommand failed\b",),
        vaguely="-32000 0 tool runtime",
    ),
    Said(
        FaultKind.UPSTREAM_ERROR,
        names="bad_gateway upstream_failure api upstream external_service http",
        numbers="502",
        phrases=(r"\bbad gateway\b|\bupstream\b|\bfailed to send\b",),
        vaguely="500",
    ),
)


_CLEAR = {word: said.kind for said in VOCABULARY for word in f"{said.numbers} {said.names}".split()}
# Not `status`, which has one name for several kinds.
for _dialect in (Dialect.JSONRPC, Dialect.ERROR_KEY, Dialect.SPLIT):
    _CLEAR |= {name: kind for kind, name in NAMES[_dialect].items() if name}
_VAGUE = {word: said.kind for said in VOCABULARY for word in said.vaguely.split()}
# JSON-RPC's own: nothing was called.
_REFUSALS = frozenset({"-32601", "-32602"})
# Patterns are compiled on first use, so that a server that only writes starts without them.
_SURE_PHRASES = [(phrase, said.kind) for said in VOCABULARY for phrase in said.surely]
_PHRASES = [(phrase, said.kind) for said in VOCABULARY for phrase in said.phrases]
_LOOSE_PHRASES = [(phrase, said.kind) for said in VOCABULARY for phrase in said.loosely]


def name_kind(
    names: Iterable[str], numbers: Iterable[int], prose: str, numbers_in_prose: Iterable[int] = ()
) -> tuple[FaultKind, KindBasis]:
    """The kind that fits best what a stranger said, and why; total, because something did fail."""
    given, codes = list(names), _write_out(numbers)
    spelt = [spelling for name in given if _is_code(name) for spelling in _spell(name)]
    words = [spelling for name in given for spelling in _spell(name)] + codes + _write_out(numbers_in_prose)
    found = chain(
        _search(_SURE_PHRASES, prose),
        (_CLEAR[word] for word in words if word in _CLEAR),
        _search(_PHRASES, prose),
        _search(_LOOSE_PHRASES, prose[:_OPENING]),
        (_VAGUE[word] for word in words if word in _VAGUE),
    )
    kind = next(found, _FALLBACK)
    names_it = any(_CLEAR.get(name) is kind for name in spelt)
    counts_it = any(kind in {_CLEAR.get(code), _VAGUE.get(code)} for code in codes)
    is_refused = kind is FaultKind.UNKNOWN_TOOL and not _REFUSALS.isdisjoint(codes)
    return kind, KindBasis.CODE if names_it or counts_it or is_refused else KindBasis.PROSE


def _write_out(numbers: Iterable[int]) -> list[str]:
    return [str(number) for number in numbers if abs(number) <= _LARGEST_NUMBER]


def _is_code(name: str) -> bool:
    """A code is one word; several are a sentence in the place of one."""
    return len(name.split()) == 1


def _spell(name: str) -> Iterator[str]:
    if len(name) > _LONGEST_NAME:
        return
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name.rsplit("/", 1)[-1])
    snake = re.sub(r"\W+", "_", words).strip("_").lower()
    yield snake
    yield re.sub(r"_(error|exception|err)$", "", snake)


def _search(phrases: Iterable[tuple[str, FaultKind]], prose: str) -> Iterator[FaultKind]:
    return (kind for phrase, kind in phrases if re.search(phrase, prose, re.IGNORECASE))
