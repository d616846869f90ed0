"""Properties of cutting and parsing frames that no list of cases can show."""

import json

import mcp_types as types
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultless.kit.frames import Frame, FrameSplitter, RejectedFrameError, parse_frame, recover_id

LIMIT = 1000


def whole(line: bytes) -> Frame:
    return Frame(line, len(line), is_whole=True)


def parsed_or_refused(line: bytes) -> types.JSONRPCMessage | RejectedFrameError | None:
    try:
        return parse_frame(whole(line), LIMIT)
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


@given(st.lists(st.binary(max_size=40), max_size=20), st.data())
def test_frames_do_not_depend_on_how_the_bytes_arrive(lines: list[bytes], data: st.DataObject) -> None:
    stream = b"\n".join(line.replace(b"\n", b"") for line in lines)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=10)))
    pieces = [stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    splitter = FrameSplitter(LIMIT)
    frames = [frame for piece in pieces for frame in splitter.feed(piece)] + splitter.finish()
    expected = stream.split(b"\n")
    assert [frame.line for frame in frames] == (expected if expected[-1] else expected[:-1])


def test_an_endless_line_is_not_kept() -> None:
    splitter = FrameSplitter(LIMIT)
    for _ in range(1000):
        assert splitter.feed(b"x" * 10_000) == []
    (frame,) = splitter.feed(b"\n")
    assert (len(frame.line), frame.size, frame.is_whole) == (LIMIT, 10_000_000, False)


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
