"""The pack in spec/: what every vector reads as, and that schema and kinds say what the code says."""

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from faultless.contract import Reading, read

SPEC = Path(__file__).parents[2] / "spec"
VECTORS: list[dict[str, Any]] = [
    json.loads(line)
    for path in sorted((SPEC / "vectors").glob("*.jsonl"))
    for line in path.read_text(encoding="utf-8").splitlines()
]


def put_as_expected(reading: Reading, names: list[str]) -> dict[str, object]:
    """The fields a vector speaks of, of the fault or of the suspicion."""
    found = reading.fault or reading.suspicion
    certainty = {"certainty": reading.certainty and reading.certainty.value}
    return {name: certainty[name] if name in certainty else getattr(found, name, None) for name in names}


def list_acceptable(vector: dict[str, Any]) -> list[dict[str, object]]:
    """What may come out: as the vector says, or with another kind that a person would give as well."""
    reads: dict[str, object] = vector["reads"]
    return [reads, *(reads | {"kind": kind} for kind in vector.get("also", []))]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["id"])
def test_a_vector_reads_as_it_says(vector: dict[str, Any]) -> None:
    reading = read(vector["wire"])
    if vector["reads"] == "verdict":
        assert (reading.fault, reading.suspicion) == (None, None)
    elif "gap" in vector:  # said, so that nobody takes it for right, and so that closing it is noticed
        assert put_as_expected(reading, ["kind"]) == {"kind": vector["gap"]}
    else:
        assert put_as_expected(reading, list(vector["reads"])) in list_acceptable(vector)


def test_the_pack_is_large_and_a_third_of_it_was_written_without_knowing_the_reader() -> None:
    written = [vector for vector in VECTORS if "server" not in vector]
    blind = [vector for vector in written if vector["author"] == "blind"]
    assert len({vector["id"] for vector in VECTORS}) == len(VECTORS)
    assert len(written) >= 200
    assert len(blind) * 3 >= len(written)


def test_the_corpus_is_large_and_nearly_all_of_it_is_read_right() -> None:
    corpus = [vector for vector in VECTORS if "server" in vector]
    assert len(corpus) >= 150
    assert len({vector["server"] for vector in corpus}) >= 20
    assert sum("gap" in vector for vector in corpus) <= 0.05 * len(corpus)


def test_the_schema_takes_what_a_new_server_writes_and_refuses_what_it_does_not() -> None:
    schema = jsonschema_rs.validator_for(json.loads((SPEC / "fault.schema.json").read_text()))
    written = [
        json.loads(vector["wire"]["result"]["content"][0]["text"])
        for vector in VECTORS
        if vector["id"].startswith("error-key-") and vector["wire"]["result"]["content"]
    ]
    assert len(written) > 20
    assert [fault for fault in written if not schema.is_valid(fault)] == []
    whole = written[0]
    spoilt = [whole | {"kind": "oops"}, whole | {"message": ""}, whole | {"retry_after_seconds": -1}]
    spoilt += [{name: value for name, value in whole.items() if name != left_out} for left_out in whole]
    assert [fault for fault in spoilt if schema.is_valid(fault)] == []
