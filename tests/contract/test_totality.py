"""Every kind has its facts and its names; a table with a hole turns the check red."""

from collections.abc import Mapping

import pytest

from faultless import contract
from faultless.contract import FACTS, Dialect, FaultKind, KindBasis, KindFacts, Retry
from faultless.contract.dialects import FORMS, NAMES
from faultless.contract.fault import INTERNAL_ERROR_CODE, INVALID_PARAMS_CODE, SERVER_ERROR_CODE
from faultless.contract.vocabulary import VOCABULARY, Said, name_kind

Names = Mapping[Dialect, Mapping[FaultKind, str | None]]

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


def find_clashes(vocabulary: tuple[Said, ...]) -> set[str]:
    """Words that mean two kinds by the same evidence."""
    clashes: set[str] = set()
    for evidence in ("surely", "names", "numbers", "phrases", "vaguely"):
        listed = [getattr(said, evidence) for said in vocabulary]
        words = [word for said in listed for word in (said.split() if isinstance(said, str) else said)]
        clashes |= {word for word in words if words.count(word) > 1}
    return clashes


def test_every_kind_has_its_facts() -> None:
    assert find_facts_gaps(FACTS) == []
    assert list(FACTS) == list(FaultKind)
    assert {facts.retry for facts in FACTS.values()} == set(Retry)


def test_every_kind_has_a_name_in_every_dialect() -> None:
    assert find_name_gaps(NAMES) == []
    assert set(FORMS) == set(Dialect)


@pytest.mark.parametrize("kind", FaultKind)
def test_a_row_taken_out_of_a_table_is_noticed(kind: FaultKind) -> None:
    facts = {other: told for other, told in FACTS.items() if other is not kind}
    fewer_names = {
        dialect: {other: name for other, name in names.items() if other is not kind}
        for dialect, names in NAMES.items()
    }

    assert find_facts_gaps(facts) == [kind]
    expected = [(dialect, kind) for dialect in Dialect if (dialect, kind) not in NAMELESS]
    assert find_name_gaps(fewer_names) == expected


def test_a_cell_taken_out_of_the_names_is_noticed() -> None:
    torn = NAMES | {Dialect.ERROR_KEY: NAMES[Dialect.ERROR_KEY] | {FaultKind.UNAVAILABLE: None}}

    assert find_name_gaps(torn) == [(Dialect.ERROR_KEY, FaultKind.UNAVAILABLE)]


def test_a_kind_the_list_does_not_have_is_refused() -> None:
    with pytest.raises(ValueError, match="melted"):
        FaultKind("melted")


def test_a_kind_cannot_be_listed_without_its_facts() -> None:
    with pytest.raises(TypeError, match="when"):
        KindFacts(Retry.NEVER)  # type: ignore[call-arg]  # the point


@pytest.mark.parametrize("kind", FaultKind)
def test_strangers_can_say_every_kind_by_name_and_in_words(kind: FaultKind) -> None:
    assert name_kind([kind], [], "") == (kind, KindBasis.CODE)
    assert kind in {said.kind for said in VOCABULARY}


def test_no_name_or_number_means_two_kinds() -> None:
    assert len({said.kind for said in VOCABULARY}) == len(VOCABULARY)
    assert find_clashes(VOCABULARY) == set()


def test_a_name_given_to_two_kinds_is_noticed() -> None:
    assert find_clashes(
        (Said(FaultKind.CONFLICT, names="gone"), Said(FaultKind.NOT_FOUND, names="a gone"))
    ) == {"gone"}


def test_the_public_names_exist() -> None:
    assert all(hasattr(contract, name) for name in contract.__all__)
    assert contract.__all__ == sorted(contract.__all__, key=lambda name: (not name.isupper(), name))
