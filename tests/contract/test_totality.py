"""Every kind has its facts and its names; a table with a hole turns the check red."""

import re
from collections.abc import Mapping

import pytest

from faultless import contract
from faultless.contract import FACTS, Dialect, FaultKind, KindFacts, Retry, kinds
from faultless.contract.dialects import FORMS, NAMES, names
from faultless.contract.dialects.names import Names
from faultless.contract.foreign import TABLE, name_kind, read_table
from faultless.contract.kinds import INTERNAL_ERROR_CODE, INVALID_PARAMS_CODE, SERVER_ERROR_CODE

# A dash in the design's table: the source document gives a validation failure no error_type.
NAMELESS = {(Dialect.JSONRPC, FaultKind.INVALID_PARAMS)}


def find_facts_gaps(facts: Mapping[FaultKind, KindFacts]) -> list[str]:
    codes = {INVALID_PARAMS_CODE, SERVER_ERROR_CODE, INTERNAL_ERROR_CODE}
    return [
        kind
        for kind in FaultKind
        if kind not in facts or facts[kind].code not in codes or not facts[kind].when
    ]


def find_name_gaps(table: Names) -> list[tuple[Dialect, FaultKind]]:
    pairs = [(dialect, kind) for dialect in Dialect for kind in FaultKind]
    return [
        (dialect, kind)
        for dialect, kind in pairs
        if (dialect, kind) not in NAMELESS and not table.get(dialect, {}).get(kind)
    ]


def without_row(text: str, kind: FaultKind) -> str:
    fewer, count = re.subn(rf"(?m)^{kind} .*\n", "", text)
    assert count >= 1
    return fewer


def test_every_kind_has_its_facts() -> None:
    assert find_facts_gaps(FACTS) == []
    assert list(FACTS) == list(FaultKind)
    assert {facts.retry for facts in FACTS.values()} == set(Retry)


def test_every_kind_has_a_name_in_every_dialect() -> None:
    assert find_name_gaps(NAMES) == []
    assert set(FORMS) == set(Dialect)


@pytest.mark.parametrize("kind", FaultKind)
def test_a_row_taken_out_of_a_table_is_noticed(kind: FaultKind) -> None:
    facts = kinds._read_table(without_row(kinds.__doc__ or "", kind))
    fewer_names = names.read_table(without_row(names.__doc__ or "", kind))

    assert find_facts_gaps(facts) == [kind]
    expected = [(dialect, kind) for dialect in Dialect if (dialect, kind) not in NAMELESS]
    assert find_name_gaps(fewer_names) == expected


def test_a_cell_taken_out_of_the_names_is_noticed() -> None:
    torn = (names.__doc__ or "").replace("mcp_unavailable    unavailable", "-                  unavailable")

    assert find_name_gaps(names.read_table(torn)) == [(Dialect.ERROR_KEY, FaultKind.UNAVAILABLE)]


def test_a_kind_the_list_does_not_have_is_refused() -> None:
    with pytest.raises(ValueError, match="melted"):
        names.read_table((names.__doc__ or "") + "melted melted melted melted melted\n")


@pytest.mark.parametrize("kind", FaultKind)
def test_strangers_can_say_every_kind_by_name_and_in_words(kind: FaultKind) -> None:
    assert name_kind([kind], [], "") is kind
    assert kind in {named for rows in TABLE.values() for _, named in rows}


def test_no_name_or_number_means_two_kinds() -> None:
    for by, rows in TABLE.items():
        said = [item for item, _ in rows]
        assert len(said) == len(set(said)), by


def test_a_name_given_to_two_kinds_is_noticed() -> None:
    table = read_table("kind by what\nconflict name gone\nnot_found name gone")
    said = [item for rows in table.values() for item, _ in rows]

    assert len(said) != len(set(said))


def test_the_public_names_exist() -> None:
    assert all(hasattr(contract, name) for name in contract.__all__)
    assert contract.__all__ == sorted(contract.__all__, key=lambda name: (not name.isupper(), name))
