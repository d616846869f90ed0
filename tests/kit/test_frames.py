"""Properties of parsing frames that no list of cases can show."""

import json

import mcp_types as types
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultless.kit.frames import RejectedFrameError, parse_frame, recover_id
from faultless.process.lines import Line

LIMIT = 1000


def parsed_or_refused(line: bytes) -> types.JSONRPCMessage | RejectedFrameError | None:
    try:
        return parse_frame(Line(line, len(line)), LIMIT)
    except RejectedFrameError as rejected:
        return rejected


@given(st.binary(max_size=300))
def test_whatever_the_bytes_a_frame_is_a_message_blank_or_refused_with_a_code(line: bytes) -> None:
    outcome = parsed_or_refused(line)
    if isinstance(outcome, RejectedFrameError):
        assert outcome.code in {types.PARSE_ERROR, types.INVALID_REQUEST}
        assert outcome.data["hint"]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
members = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | json_values,
        "id": st.integers() | json_values,
        "method": st.just("ping") | json_values,
        "params": st.just({}) | json_values,
        "result": json_values,
        "error": st.just({"code": 1, "message": "no"}) | json_values,
    },
)


@given(members)
def test_whatever_the_members_a_message_keeps_its_id_or_is_refused(value: dict[str, object]) -> None:
    outcome = parsed_or_refused(json.dumps(value).encode())
    if isinstance(outcome, RejectedFrameError) and outcome.message_id is not None:
        assert outcome.message_id == value["id"]
    if isinstance(outcome, types.JSONRPCRequest):
        assert (outcome.id, type(outcome.id)) == (value["id"], type(value["id"]))


@pytest.mark.parametrize(
    ("line", "recovered"),
    [
        (b'{"id": 7, "x":', 7),
        (b'{"id":"a\\"b",', 'a"b'),
        (b'{"id": 7.5,', None),
        (b'{"id": -0,', 0),
        (b'{"id": 1, "params": {"id": 2}', None),
        (b'{"method": "x"', None),
        (b'{"id": 7', None),
    ],
)
def test_an_id_is_recovered_only_when_it_is_beyond_doubt(line: bytes, recovered: object) -> None:
    assert recover_id(line) == recovered
