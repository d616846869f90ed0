"""Lines of any kind read as frames, and what an exchange keeps of a request."""

import anyio
import pytest

from faultless.client.frames import Exchange, read_line
from faultless.contract import Fault
from faultless.process.lines import Line, LineSplitter


def whole(data: bytes) -> Line:
    return Line(data, len(data))


@pytest.mark.parametrize(
    "data",
    [b"", b"Loading...", b"5", b"[5]", b"{}", b'{"id": 1}', b'{"id": true, "result": {}}', b'{"method": 5}'],
)
def test_a_line_that_is_not_a_message_is_noise(data: bytes) -> None:
    assert read_line(whole(data)) == []


def test_a_batch_is_as_many_frames_as_it_holds_messages() -> None:
    frames = read_line(whole(b'[{"id": 1, "result": {}}, 5, {"id": "a", "error": "no"}]'))
    assert [frame.raw for frame in frames] == [{"result": {}}, {"jsonrpc": "2.0", "error": "no"}]


@pytest.mark.parametrize("data", [b'{"id": 7, "result": {', b'{"result": {, "id": 7}'])
def test_an_answer_that_cannot_be_read_is_told_to_the_call_it_was_meant_for(data: bytes) -> None:
    (frame,) = read_line(whole(data))
    assert frame.raw is None
    assert frame.fault is not None
    assert (frame.fault.kind, frame.fault.origin, frame.fault.outcome) == ("upstream_error", "peer", None)


def test_a_line_over_the_limit_is_told_to_its_call_and_ends_the_connection_where_it_names_none() -> None:
    named, nameless = LineSplitter(10_000).feed(
        b'{"id": 7, "result": "%s"}\n%s\n' % (b"x" * 20_000, b"x" * 20_000)
    )
    (frame,) = read_line(named)
    assert frame.fault is not None
    assert (frame.fault.kind, frame.fault.details["frame_bytes"]) == ("too_large", named.size)
    with pytest.raises(Fault, match="20000 bytes"):
        read_line(nameless)


def test_an_exchange_keeps_what_was_raised_and_stands_for_nothing_afterwards() -> None:
    with Exchange("outer") as outer:
        with Exchange("inner") as inner:
            assert Exchange.current() is inner
            raise RuntimeError("planted")
        assert Exchange.current() is outer
    assert Exchange.current() is None
    assert (type(inner.raised), outer.raised) == (RuntimeError, None)


@pytest.mark.anyio
async def test_an_exchange_does_not_keep_a_cancellation() -> None:
    with anyio.CancelScope() as scope, Exchange("cancelled") as exchange:
        scope.cancel()
        await anyio.sleep_forever()
    assert scope.cancelled_caught
    assert exchange.raised is None
