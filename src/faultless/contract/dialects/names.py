"""What each dialect calls each kind. A dash: the dialect gives it no name.

kind               jsonrpc            status               error_key          split
invalid_params     -                  ValueError           invalid_params     invalid_params
unknown_tool       unknown_tool       unknown_tool         unknown_tool       unknown_tool
usage_error        usage_error        RuntimeError         usage_error        usage_error
parse_error        parse_error        SyntaxError          parse_error        parse_error
permission_denied  permission_denied  ValidationError      permission_denied  permission_denied
approval_required  approval_required  approval_required    approval_required  approval_required
auth_required      auth_required      auth_required        auth_required      auth_required
not_found          not_found          ValueError           not_found          not_found
conflict           conflict           conflict             conflict           conflict
rate_limited       rate_limited       rate_limited         rate_limited       rate_limited
too_large          too_large          too_large            too_large          too_large
unsupported        unsupported        NotImplementedError  unsupported        unsupported
collection_error   collection_error   collection_error     collection_error   collection_error
timeout            timeout            TimeoutError         timeout            timeout
interrupted        interrupted        RuntimeError         interrupted        interrupted
crash              crash              RuntimeError         crash              crash
engine_error       pytest_internal    RuntimeError         engine_error       engine_error
upstream_error     upstream_error     RuntimeError         send_failed        upstream_error
outcome_unknown    outcome_unknown    outcome_unknown      outcome_unknown    outcome_unknown
unavailable        unavailable        RuntimeError         mcp_unavailable    unavailable
internal           internal           RuntimeError         internal_error     internal
"""

from enum import StrEnum

from faultless.contract.kinds import FaultKind


class Dialect(StrEnum):
    JSONRPC = "jsonrpc"
    STATUS = "status"
    ERROR_KEY = "error_key"
    SPLIT = "split"


Names = dict[Dialect, dict[FaultKind, str | None]]


def read_table(text: str) -> Names:
    """Read the table above, or one like it."""
    _, header, *rows = (line.split() for line in text.strip().splitlines() if line)
    return {
        dialect: {
            FaultKind(row[0]): None if row[column] == "-" else row[column]
            for row in rows
            if len(row) > column
        }
        for column, dialect in enumerate((Dialect(name) for name in header[1:]), start=1)
    }


NAMES = read_table(__doc__)
