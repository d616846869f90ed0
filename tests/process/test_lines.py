"""Cutting a stream of bytes into lines: nothing depends on how the bytes arrive, and no line is kept for ever."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultless.process.lines import EDGE_BYTES, Line, LineSplitter

LIMIT = 1000


def split(pieces: list[bytes], limit: int = LIMIT) -> list[Line]:
    splitter = LineSplitter(limit)
    lines = [line for piece in pieces for line in splitter.feed(piece)]
    last = splitter.finish()
    return [*lines, last] if last else lines


def cut_anywhere(data: st.DataObject, stream: bytes) -> list[bytes]:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=10)))
    return [stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]


@given(st.lists(st.binary(max_size=40), max_size=20), st.data())
def test_lines_do_not_depend_on_how_the_bytes_arrive(lines: list[bytes], data: st.DataObject) -> None:
    stream = b"\n".join(line.replace(b"\n", b"") for line in lines)

    found = split(cut_anywhere(data, stream))

    expected = stream.split(b"\n")
    assert found == [Line(line, len(line)) for line in (expected if expected[-1] else expected[:-1])]


@given(st.integers(0, 60), st.data())
def test_of_a_line_over_the_limit_both_ends_and_its_size_are_told(size: int, data: st.DataObject) -> None:
    line, limit = bytes(range(48, 48 + size)), 10

    (found, after) = split(cut_anywhere(data, line + b"\nafter"), limit)

    if size <= limit:
        assert found == Line(line, size)
    else:
        assert found == Line(line[:limit], size, line[-limit:])
        assert not found.is_whole
    assert after == Line(b"after", 5)


@pytest.mark.parametrize("limit", [LIMIT, 20 * EDGE_BYTES])
def test_an_endless_line_is_not_kept(limit: int) -> None:
    splitter = LineSplitter(limit)
    for _ in range(1000):
        assert splitter.feed(b"x" * 10_000) == []
    edge = min(EDGE_BYTES, limit)
    assert (splitter.is_over, len(splitter.unfinished)) == (True, edge)

    (line,) = splitter.feed(b"\n")

    assert (len(line.data), line.size, line.tail) == (edge, 10_000_000, b"x" * edge)
    assert not splitter.is_over


def test_what_a_killed_writer_left_is_unfinished_and_not_a_line() -> None:
    splitter = LineSplitter(LIMIT)

    assert splitter.feed(b"one\n\ntw") == [Line(b"one", 3), Line(b"", 0)]
    assert splitter.unfinished == b"tw"
    assert splitter.finish() == Line(b"tw", 2)
    assert splitter.finish() is None
