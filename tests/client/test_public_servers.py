"""Five public servers, as they are: a good call, a bad argument, an unknown tool, a kill, a restart."""

import pytest

from bench.client_servers import SERVERS, PublicServer, examine

REPLY = None
LOST = {"crash", "outcome_unknown"}


@pytest.mark.heavy
@pytest.mark.anyio
@pytest.mark.parametrize("server", SERVERS, ids=lambda server: server.name)
async def test_a_public_server_is_understood_killed_and_started_again(server: PublicServer) -> None:
    findings = await examine(server)
    kinds = {row.case: row.kind for row in findings.rows}
    assert kinds["good call"] is REPLY
    assert kinds["bad argument"] == kinds["the same, unchecked"] == "invalid_params"
    # One server answers an unknown tool with a success; that is suspected, not raised.
    assert kinds["unknown tool"] in {"unknown_tool", REPLY}
    assert kinds["killed in a call"] in LOST
    assert kinds["the call after it"] is REPLY
    assert findings.starts == 2
