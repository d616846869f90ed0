"""key=value words become what the tool's schema says they are."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultless.cli.arguments import parse
from faultless.contract import Fault, FaultKind, Json

SCHEMA: dict[str, Any] = {
    "properties": {
        "count": {"type": "integer"},
        "ratio": {"type": "number"},
        "loud": {"type": "boolean"},
        "text": {"type": "string"},
        "maybe": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "either": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
        "names": {"type": "array", "items": {"type": "string"}},
        "numbers": {"anyOf": [{"type": "array", "items": {"$ref": "#/$defs/Number"}}, {"type": "null"}]},
        "shape": {"type": "object"},
        "choice": {"enum": ["a", "b"]},
        "level": {"$ref": "#/$defs/Level"},
        "self": {"$ref": "#/$defs/Self"},
        "anything": {},
    },
    "additionalProperties": False,
    "$defs": {
        "Number": {"type": "integer"},
        "Level": {"enum": [0, 1, 2], "type": "integer"},
        "Self": {"anyOf": [{"$ref": "#/$defs/Self"}, {"type": "string"}]},
    },
}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["count=3"], {"count": 3}),
        (["count=-3"], {"count": -3}),
        (["ratio=1.5"], {"ratio": 1.5}),
        (["ratio=2"], {"ratio": 2}),
        (["loud=true"], {"loud": True}),
        (["loud=No"], {"loud": False}),
        (["loud=1"], {"loud": True}),
        (["text=3"], {"text": "3"}),
        (["text="], {"text": ""}),
        (["text=a=b"], {"text": "a=b"}),
        (["text=true"], {"text": "true"}),
        (['text="x"'], {"text": '"x"'}),
        (["maybe=null"], {"maybe": None}),
        (["maybe=x"], {"maybe": "x"}),
        (["either=3"], {"either": 3}),
        (["either=3a"], {"either": "3a"}),
        (["names=a"], {"names": ["a"]}),
        (["names=a,b"], {"names": ["a", "b"]}),
        (["names="], {"names": []}),
        (["names=a,b", "names=c"], {"names": ["a,b", "c"]}),
        (["names=t.py::t[1,2],u.py"], {"names": ["t.py::t[1,2]", "u.py"]}),
        (['names=["a,b"]'], {"names": ["a,b"]}),
        (["numbers=1,2"], {"numbers": [1, 2]}),
        (["numbers=null"], {"numbers": None}),
        (['shape={"a": [1]}'], {"shape": {"a": [1]}}),
        (["choice=a"], {"choice": "a"}),
        (["level=2"], {"level": 2}),
        (["self=x"], {"self": "x"}),
        (["anything=[1]"], {"anything": [1]}),
        (["anything=plain"], {"anything": "plain"}),
        (["anything=NaN"], {"anything": "NaN"}),
    ],
)
def test_a_word_is_typed_by_the_schema(words: list[str], expected: dict[str, Json]) -> None:
    assert parse(words, None, SCHEMA) == expected


@pytest.mark.parametrize(
    ("words", "says", "hint"),
    [
        (["cuont=3"], "cuont is no parameter", "did you mean count?"),
        (["zzzzz=3"], "zzzzz is no parameter", "parameters: count"),
        (["count=three"], "count must be integer, not 'three'", "tools"),
        (["count=1.5"], "count must be integer", "tools"),
        (["loud=maybe"], "loud must be boolean", "tools"),
        (["numbers=1,x"], "numbers must be integer", "tools"),
        (["shape=[1]"], "shape must be object", "tools"),
        (["count=1", "count=2"], "count is given more than once", "once"),
        (["count"], "count is not of the form key=value", "key=value"),
        (["=3"], "=3 is not of the form", "key=value"),
    ],
)
def test_a_word_that_does_not_fit_is_refused_with_what_to_do(words: list[str], says: str, hint: str) -> None:
    with pytest.raises(Fault) as raised:
        parse(words, None, SCHEMA)
    assert raised.value.kind is FaultKind.INVALID_PARAMS
    assert says in raised.value.message
    assert hint in (raised.value.hint or "")


def test_words_go_over_the_json_object() -> None:
    assert parse(["count=3"], '{"count": 1, "text": "t"}', SCHEMA) == {"count": 3, "text": "t"}


@pytest.mark.parametrize("literal", ["{", "[1]", "3", "", "[" * 100_000])
def test_json_that_is_no_object_is_refused(literal: str) -> None:
    with pytest.raises(Fault) as raised:
        parse([], literal, SCHEMA)
    assert raised.value.kind is FaultKind.INVALID_PARAMS


def test_without_a_schema_literals_are_literals_and_the_rest_is_text() -> None:
    assert parse(["a=3", "b=x"], None, None) == {"a": 3, "b": "x"}


@given(key=st.sampled_from(sorted(SCHEMA["properties"])), text=st.text())
def test_whatever_is_written_it_is_typed_or_refused(key: str, text: str) -> None:
    try:
        parsed = parse([f"{key}={text}"], None, SCHEMA)
    except Fault:
        return
    assert list(parsed) == [key]
