"""The laws of the contract, for every fault there can be."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from faultless.contract import (
    Certainty,
    Dialect,
    ErrorReply,
    Fault,
    FaultKind,
    Json,
    ResultReply,
    read,
    write,
)
from faultless.contract.dialects import REFUSAL_FIELDS, RUN_FIELDS, TAKEN
from faultless.contract.portable import make_portable
from tests.contract.responses import to_response

# The machine may be busy: no deadline for an example.
per_form = settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])
at_large = settings(per_form, max_examples=200)

KINDS = pytest.mark.parametrize("kind", FaultKind)
FORMS = pytest.mark.parametrize(
    ("dialect", "as_result"), [(dialect, as_result) for dialect in Dialect for as_result in (False, True)]
)

characters = st.characters(exclude_categories=["Cs"])
texts = st.text(characters, max_size=30)
endings = st.sampled_from(
    ["", ".", "?", ". Hint: ", " Hint: do otherwise", "do otherwise", "Internal error: "]
)
sentences = st.builds(
    lambda start, times, end: start * times + end,
    texts | endings | st.just("Internal server error: it broke"),
    st.sampled_from([1, 1, 100]),
    endings,
)
numbers = st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
# Names that mean something to a dialect or to the reader are the ones that could go wrong.
telling_names = st.sampled_from(
    [
        *TAKEN,
        *RUN_FIELDS,
        *REFUSAL_FIELDS,
        "collection_errors",
        "module",
        "code",
        "isError",
        "content",
        "result",
    ]
)
fault_parts = st.fixed_dictionaries(
    {
        "message": sentences,
        "hint": st.none() | sentences | st.just("do otherwise"),
        "details": st.dictionaries(telling_names | texts, json_values, max_size=5),
        "retry_after_seconds": st.none() | st.integers(0, 10**6) | st.floats(0, 1e6),
    }
)
empties = st.dictionaries(telling_names | texts, json_values, max_size=3)


def same(value: object) -> str:
    """Compare by JSON, where 1 and true differ."""
    return json.dumps(value, sort_keys=True)


def assert_same_fault(found: Fault | None, fault: Fault) -> None:
    assert found is not None
    assert found.kind is fault.kind
    assert (found.message, found.hint) == (fault.message, fault.hint)
    assert same(found.details) == same(fault.details)
    assert found.retry_after_seconds == fault.retry_after_seconds
    assert found.origin == "peer"


def write_any(fault: Fault, dialect: Dialect, empty: dict[str, Json], *, as_result: bool) -> dict[str, Any]:
    response = to_response(write(fault, dialect, empty=empty, as_result=as_result))
    wire: dict[str, Any] = json.loads(json.dumps({"jsonrpc": "2.0", "id": 1, **response}).encode())
    return wire


@FORMS
@per_form
@given(parts=fault_parts, empty=empties)
def test_what_is_written_is_read_back_exactly(
    dialect: Dialect, as_result: bool, parts: dict[str, Any], empty: dict[str, Json]
) -> None:
    for kind in FaultKind:
        assert_reads_back(
            Fault(kind, **parts), write_any(Fault(kind, **parts), dialect, empty, as_result=as_result)
        )


def assert_reads_back(fault: Fault, response: dict[str, Any]) -> None:
    reading = read(response)

    assert reading.certainty is Certainty.DECLARED
    assert_same_fault(reading.fault, fault)
    if "result" in response and "_meta" not in response["result"]:  # one text block says it all
        (block,) = response["result"]["content"]
        assert_same_fault(read({"result": {"content": [block]}}).fault, fault)
        structured = {"content": [], "structuredContent": json.loads(block["text"])}
        assert_same_fault(read({"result": structured}).fault, fault)  # where others put it


@FORMS
@per_form
@given(parts=fault_parts, empty=empties)
def test_a_fault_in_a_result_is_flagged_and_has_no_structured_half(
    dialect: Dialect, as_result: bool, parts: dict[str, Any], empty: dict[str, Json]
) -> None:
    for kind in FaultKind:
        result = write_any(Fault(kind, **parts), dialect, empty, as_result=as_result).get("result")
        assert result is None or (result["isError"] is True and "structuredContent" not in result)


@FORMS
@per_form
@given(parts=fault_parts)
def test_the_message_of_an_error_ends_with_the_hint_and_fits_where_the_hint_does(
    dialect: Dialect, as_result: bool, parts: dict[str, Any]
) -> None:
    fault = Fault(FaultKind.CRASH, **parts)
    reply = write(fault, dialect, as_result=as_result)
    if isinstance(reply, ErrorReply):
        said = reply.message
    elif reply.texts:
        said = reply.texts[-1]
    else:
        return

    assert said.endswith(fault.hint or "")
    assert len(said) <= max(600, 100 + len(fault.hint or ""))


@pytest.mark.parametrize("name", ["kind", "message", "hint", "details", "retry_after_seconds"])
def test_a_field_lost_on_the_way_is_noticed(name: str) -> None:
    fault = Fault(FaultKind.CRASH, "m", hint="h", details={"a": 1}, retry_after_seconds=2)
    reply = write(fault, Dialect.ERROR_KEY)
    assert isinstance(reply, ResultReply)
    torn = ResultReply({**reply.payload, name: {} if name == "details" else None})

    with pytest.raises(AssertionError):
        assert_reads_back(fault, to_response(torn))


@KINDS
@FORMS
def test_the_form_is_what_the_dialect_promises(kind: FaultKind, dialect: Dialect, as_result: bool) -> None:
    reply = write(Fault(kind, "m"), dialect, as_result=as_result)

    is_error = dialect in {Dialect.JSONRPC, Dialect.SPLIT} and not as_result
    expected = ErrorReply if is_error or kind is FaultKind.UNKNOWN_TOOL else ResultReply
    assert type(reply) is expected


junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.builds(object),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text() | st.integers() | st.none(), inner, max_size=3)
    ),
    max_leaves=8,
)
wild_parts = st.fixed_dictionaries(
    {
        "message": st.text(),
        "hint": st.text(),
        "details": st.dictionaries(st.text(), junk, max_size=3),
        "retry_after_seconds": st.floats(),
    }
)
members = [
    *(
        "error",
        "result",
        "content",
        "structuredContent",
        "isError",
        "jsonrpc",
        "text",
        "type",
        "message",
        "code",
    ),
    *("status", "success", "data", "kind", "hint", "retry_after_seconds", "retry_after", "errors", "results"),
    *("error_type", "details", "fault", "output", "rate_limited", "status_code", "items", "failed", "detail"),
]
words = [
    "error",
    "Error: no",
    "timeout",
    "crash",
    "text",
    "{",
    '{"error":"not_found"}',
    "❌",
    "429",
    True,
    False,
]
lookalikes = st.recursive(
    st.sampled_from([*words, None, -32602, 404, 10**400, float("nan")]) | junk,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(members) | texts, inner, max_size=6)
    ),
    max_leaves=25,
)


@at_large
@given(response=json_values | junk | lookalikes)
def test_the_reader_never_raises(response: object) -> None:
    reading = read(response)

    assert (reading.fault is None) or (reading.suspicion is None)
    assert (reading.certainty is None) == (reading.fault is None and reading.suspicion is None)
    assert (reading.certainty is Certainty.SUSPECTED) == (reading.suspicion is not None)
    for fault in (reading.fault, reading.suspicion):
        assert fault is None or isinstance(fault.message, str)


def without(value: object, names: set[str]) -> object:
    if isinstance(value, dict):
        return {name: without(item, names) for name, item in value.items() if name not in names}
    return [without(item, names) for item in value] if isinstance(value, list) else value


@at_large
@given(result=lookalikes, text=texts | st.sampled_from([str(word) for word in words]))
def test_a_response_without_an_error_mark_is_never_a_declared_fault(result: object, text: str) -> None:
    unmarked = without(result, {"isError", "is_error", "kind", "error"})
    response = {
        "jsonrpc": "2.0",
        "id": 1,
        "result": {"content": [{"type": "text", "text": text}], "x": unmarked},
    }

    assert read(response).certainty is not Certainty.DECLARED
    assert read({"jsonrpc": "2.0", "id": 1, "result": unmarked}).certainty is not Certainty.DECLARED


@FORMS
@per_form
@given(parts=wild_parts)
def test_writing_is_total_and_always_encodes(
    dialect: Dialect, as_result: bool, parts: dict[str, Any]
) -> None:
    for kind in FaultKind:
        response = to_response(write(Fault(kind, **parts), dialect, as_result=as_result))

        json.dumps(response, ensure_ascii=False, allow_nan=False).encode()
        assert read(response).fault is not None


def test_an_absurd_integer_does_not_stop_the_reader() -> None:
    error = {"code": 10**5000, "message": "no", "data": {"status_code": 10**5000, "retry_after": 10**5000}}

    assert read({"error": error}).certainty is Certainty.DECLARED


def test_values_json_cannot_carry_leave_a_note_in_their_place() -> None:
    cycle: list[object] = []
    cycle.append(cycle)
    deep: list[object] = []
    for _ in range(5000):
        deep = [deep]

    assert make_portable({"a": cycle, "b": {1}, "c": (1, 2), 3: float("inf"), "d": 10**5000}) == {
        "a": ["<contains itself>"],
        "b": "<set>",
        "c": [1, 2],
        "3": None,
        "d": "<integer of 16610 bits>",
    }
    assert "nested too deeply" in json.dumps(make_portable(deep))
