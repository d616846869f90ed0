r"""What strangers call each kind.

Names are compared in snake case, without a closing `_error` or `_exception`; numbers are HTTP statuses and
JSON-RPC codes; phrases are regular expressions over the message, tried from the top. `surely` is a phrase
that outweighs names and numbers. `vaguely` holds names and numbers used for anything: they count only where
no phrase fits. Each kind is also known by its own name and by its names in our dialects.

kind              by       what they say
unknown_tool      surely   (^\W*|: )(unknown|no such) tool\b
unknown_tool      surely   \btool ["'`]?[\w.:/-]{1,80}["'`]? (was )?not found
unknown_tool      name     tool_not_found no_such_tool
invalid_params    name     invalid_argument invalid_arguments invalid_parameter invalid_input bad_request
invalid_params    name     bad_input missing_parameter missing_argument missing_field unprocessable_entity
invalid_params    name     schema_validation
invalid_params    number   -32602 422 -32020
invalid_params    phrase   \bvalidation errors? for\b|\binput validation\b
invalid_params    phrase   \binvalid (param|argument|input|value)
invalid_params    phrase   \bmissing (a )?required\b|\brequired (argument|parameter|property|field)
invalid_params    vaguely  value validation invalid_request type 400 -32600
usage_error       name     usage invalid_usage
usage_error       phrase   ^usage:|\bunrecognized arguments\b
approval_required name     confirmation_required needs_approval needs_confirmation pending_approval
approval_required phrase   \b(requires?|needs?|awaiting|pending|without) (\w+ )?(approval|confirmation)\b
approval_required phrase   \b(approval|confirmation) (is )?required\b|\bmust be approved\b
rate_limited      name     rate_limit rate_limit_exceeded user_rate_limit_exceeded ratelimited
rate_limited      name     too_many_requests quota_exceeded resource_exhausted throttled throttling
rate_limited      number   429
rate_limited      phrase   \brate.?limit|\btoo many requests\b|\bquota\b.*\bexceeded\b|\bslow down\b
rate_limited      phrase   \bthrottl
auth_required     name     unauthorized unauthenticated not_authenticated authentication
auth_required     name     authentication_required authentication_failed auth_failed auth login_required
auth_required     name     invalid_token invalid_grant token_expired expired_token invalid_credentials
auth_required     name     missing_credentials refresh
auth_required     number   401 -32042
auth_required     phrase   \bunauthori[sz]ed\b|\bnot (authenticated|logged in)\b
auth_required     phrase   \b(please|must) (log|sign) in\b|\bre-?auth
auth_required     phrase   \bauthenticat\w+ (has )?(failed|required|error|expired)\b
auth_required     phrase   \blogin (required|expired)\b
auth_required     phrase   \b(invalid|expired|missing|revoked|no)( \w+){0,2} (token|credential|api key)s?\b
auth_required     phrase   \b(token|credential|api key)s?( \w+){0,3} (expired|revoked|invalid|missing)\b
permission_denied name     forbidden access_denied permission insufficient_scope insufficient_permissions
permission_denied name     eacces eperm not_allowed blocked security security_violation path_traversal
permission_denied phrase   \b(permission|access)( is| was)? denied\b|\bforbidden\b|\bblocked\b
permission_denied phrase   \bread-?only\b
permission_denied phrase   \bnot (allowed|permitted|authori[sz]ed)\b
permission_denied phrase   \binsufficient (scope|permission|privilege)
permission_denied phrase   \boutside (of )?(the |its )?(\w+ )?(allowed|root|vault|workspace|sandbox|director)
permission_denied vaguely  403
timeout           name     timed_out deadline_exceeded etimedout request_timeout gateway_timeout
timeout           number   408 504
timeout           phrase   \btime[d]?[ -]?out\b|\bdeadline (exceeded|passed)\b|\btook too long\b
timeout           vaguely  -32001
crash             name     crashed killed segfault oom_killed out_of_memory
crash             phrase   \bsegmentation fault\b|\bcore dumped\b|\bkilled by\b|\bcrashed\b
crash             phrase   \bout of memory\b
crash             phrase   \bterminated (by|with) signal\b|\bsig(kill|segv|abrt|bus)\b
unavailable       name     service_unavailable econnrefused econnreset enotfound connection
unavailable       name     connection_refused connection_closed connect host_unreachable offline import
unavailable       name     module_not_found
unavailable       number   503
unavailable       phrase   \bconnection (was )?(refused|reset|closed|lost|failed|error)\b
unavailable       phrase   \bcould not connect\b
unavailable       phrase   \bunavailable\b|\bnot available\b|\bunreachable\b|\becon(nrefused|nreset)\b
unavailable       phrase   \benotfound\b
unavailable       phrase   \bfailed to (spawn|start|connect)\b|\bno module named\b|\bname resolution\b
too_large         name     payload_too_large content_too_large request_entity_too_large e2big
too_large         name     size_limit_exceeded message_too_large context_length_exceeded response_too_large
too_large         number   413 414 431
too_large         phrase   \btoo (large|big|long)\b|\bexceeds? (the |a )?(max|size|length|token|limit)
unsupported       name     not_implemented not_supported unimplemented method_not_found method_not_allowed
unsupported       number   405 501 -32601 -32021 -32022
unsupported       phrase   \bnot (yet |currently )?(implemented|supported)\b|\bunsupported\b
unsupported       phrase   \bmethod not found\b
not_found         name     file_not_found resource_not_found enoent no_such_file no_such_entity gone
not_found         number   404 410
not_found         phrase   \bnot found\b|\bno such\b|\bdoes(n.t| not) exist\b
not_found         phrase   \b(could not|cannot|can.t) find\b
not_found         vaguely  missing key lookup -32002
conflict          name     already_exists eexist file_exists precondition_failed etag_mismatch stale
conflict          name     version_mismatch failed_precondition
conflict          number   409 412
conflict          phrase   \balready exists\b|\bconflict|\b(changed|modified) since\b|\bstale\b
conflict          phrase   \bout of date\b
parse_error       name     syntax invalid_json json_decode yaml malformed decode bad_syntax indentation
parse_error       number   -32700
parse_error       phrase   \b(syntax|parse|parsing|decode) ?error\b
parse_error       phrase   \b(could not|cannot|failed to|unable to) parse\b
parse_error       phrase   \binvalid (json|yaml|xml|syntax)\b|\bmalformed\b|\bunexpected token\b
collection_error  name     collection_failed
collection_error  phrase   \berrors? (during|while) collect(ion|ing)\b
interrupted       name     cancelled canceled aborted keyboard_interrupt request_cancelled
interrupted       number   499 -32800
interrupted       phrase   \binterrupted\b|\bcancell?ed\b|\baborted\b
outcome_unknown   name     unknown_outcome indeterminate maybe_sent
outcome_unknown   phrase   \bmay or may not have\b|\boutcome (is )?unknown\b|\bunknown whether\b
engine_error      name     engine_failure solver
engine_error      phrase   \binternalerror>
internal          name     internal_server internal_failure unhandled_exception
internal          phrase   \binternal (server )?error\b|\bunhandled exception\b
internal          vaguely  -32603
upstream_error    name     bad_gateway upstream_failure api upstream external_service http
upstream_error    number   502
upstream_error    phrase   \bbad gateway\b|\bupstream\b|\bfailed to send\b
upstream_error    vaguely  500 -32000 0
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from enum import StrEnum
from itertools import chain

from faultless.contract.dialects.names import NAMES, Dialect
from faultless.contract.kinds import FaultKind

FALLBACK = FaultKind.UPSTREAM_ERROR
LONGEST_NAME = 60
LONGEST_PROSE = 2000  # a reason stands at the beginning, and searching costs time
LARGEST_NUMBER = 99_999


class Evidence(StrEnum):
    SURELY = "surely"
    NAME = "name"
    NUMBER = "number"
    PHRASE = "phrase"
    VAGUELY = "vaguely"


Table = dict[Evidence, list[tuple[str, FaultKind]]]

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SUFFIX = re.compile(r"_(error|exception|err)$")


def read_table(text: str) -> Table:
    table: Table = defaultdict(list)
    lines = iter(text.splitlines())
    next(line for line in lines if line.startswith("kind "))
    for line in lines:
        kind, by, said = line.split(maxsplit=2)
        found = [said] if by in {Evidence.SURELY, Evidence.PHRASE} else said.split()
        table[Evidence(by)].extend((item, FaultKind(kind)) for item in found)
    return table


def _own_names() -> Iterator[tuple[str, FaultKind]]:
    """The kinds' names in the dialects that give each kind its own; `status` has one name for several."""
    for dialect in (Dialect.JSONRPC, Dialect.ERROR_KEY, Dialect.SPLIT):
        yield from ((name, kind) for kind, name in NAMES[dialect].items() if name)


TABLE = read_table(__doc__)
_CLEAR = dict(chain(TABLE[Evidence.NUMBER], TABLE[Evidence.NAME], _own_names()))
_VAGUE = dict(TABLE[Evidence.VAGUELY])


def name_kind(names: Iterable[str], numbers: Iterable[int], prose: str) -> FaultKind:
    """The kind that fits best what a stranger said; total, because something did fail."""
    spellings = [spelling for name in names for spelling in _spell(name)]
    figures = [str(number) for number in numbers if abs(number) <= LARGEST_NUMBER]
    found = chain(
        _search(Evidence.SURELY, prose),
        _look_up(_CLEAR, [*spellings, *figures]),
        _search(Evidence.PHRASE, prose),
        _look_up(_VAGUE, [*spellings, *figures]),
    )
    return next(found, FALLBACK)


def _spell(name: str) -> Iterator[str]:
    if len(name) > LONGEST_NAME:
        return
    snake = re.sub(r"\W+", "_", _CAMEL.sub("_", name.rsplit("/", 1)[-1])).strip("_").lower()
    yield snake
    yield _SUFFIX.sub("", snake)


def _search(by: Evidence, prose: str) -> Iterator[FaultKind]:
    # Patterns are compiled on first use, so that a server that only writes starts without them.
    return (kind for phrase, kind in TABLE[by] if re.search(phrase, prose, re.IGNORECASE))


def _look_up(table: dict[str, FaultKind], items: Iterable[str]) -> Iterator[FaultKind]:
    return (table[item] for item in items if item in table)
