"""What a server says about its tools, and what happens when it says something else later."""

import pytest

from faultless.client import Client, RetryPolicy
from faultless.client.listing import ListedTool, find_drift, read_listing, simplify_listing
from faultless.contract import Fault
from tests.client.hostile import command

ERAS = ["handshake", "modern"]


@pytest.mark.anyio
@pytest.mark.parametrize("era", ERAS)
async def test_a_schema_that_changed_since_it_was_listed_is_a_conflict_told_once(era: str) -> None:
    async with Client(command(era)) as client:
        await client.call("drift")
        with pytest.raises(Fault) as caught:
            await client.call("drifting", {"old": "x"})
        fault = caught.value
        assert (fault.kind, fault.origin, fault.layer, fault.outcome) == (
            "conflict",
            "local",
            "protocol",
            "not_done",
        )
        assert fault.details["changed"] == ["input_schema"]
        assert fault.details["input_schema"] == {
            "type": "object",
            "properties": {"new": {"type": "string"}},
        }
        assert (await client.call("drifting", {"new": "x"})).value == "called with ['new']"


@pytest.mark.anyio
async def test_a_caller_who_listed_again_is_told_nothing() -> None:
    async with Client(command()) as client:
        await client.call("drift")
        assert "drifting" in [tool.name for tool in await client.tools()]
        await client.call("drifting", {"new": "x"})


@pytest.mark.anyio
@pytest.mark.parametrize("era", ERAS)
async def test_a_drift_nobody_announced_is_found_when_good_arguments_are_refused(era: str) -> None:
    async with Client(command(era)) as client:
        with pytest.raises(Fault) as caught:
            await client.call("drifts_unannounced", {"old": "x"})
        assert caught.value.kind == "conflict"
        assert isinstance(caught.value.__cause__, Fault)
        assert caught.value.__cause__.kind == "invalid_params"


def test_only_what_binds_the_caller_counts_as_drift() -> None:
    known = ListedTool("t", "old words", {"type": "object"})
    assert find_drift(known, ListedTool("t", "new words", {"type": "object"})) is None
    flipped = find_drift(known, ListedTool("t", "", {"type": "object"}, None, {"readOnlyHint": True}))
    assert flipped is not None
    assert flipped.details["changed"] == ["annotations"]


def test_a_listing_is_read_as_far_as_it_makes_sense() -> None:
    listing = read_listing(
        [
            None,
            {"name": 5},
            {"name": "a", "inputSchema": "no", "annotations": []},
            {"name": "a", "description": "second"},
        ]
    )
    assert listing == {"a": ListedTool("a")}


def test_the_sdk_gets_a_listing_it_can_read() -> None:
    simplified = simplify_listing(
        {"tools": [None, {"name": "a", "inputSchema": 5, "outputSchema": {}}], "nextCursor": "x"}
    )
    assert simplified == {"tools": [{"name": "a", "inputSchema": {"type": "object"}}], "nextCursor": "x"}
    assert simplify_listing({"tools": "none"}) == {"tools": "none"}


@pytest.mark.parametrize(
    "schema", [{"type": "strin"}, {"$ref": "http://127.0.0.1:9/x"}, {"pattern": "["}, {"$ref": "#/nowhere"}]
)
def test_a_broken_schema_checks_nothing(schema: dict[str, object]) -> None:
    ListedTool("t", input_schema=schema).check_arguments({"a": 1})


UNUSABLE = ["lists_no_tools", "listing_fails", "lists_null", "lists_text", "lists_nothing", "odd_cursor"]


@pytest.mark.anyio
@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("start", UNUSABLE)
async def test_a_listing_that_cannot_be_read_costs_no_answer(era: str, start: str) -> None:
    async with Client(command(era, start=start)) as client:
        assert (await client.call("echo", {"text": "x"})).value == {"text": "x"}


@pytest.mark.anyio
@pytest.mark.parametrize("start", ["lists_null", "lists_text", "lists_nothing"])
async def test_a_listing_that_is_none_is_a_fault_and_not_an_empty_one(start: str) -> None:
    async with Client(command(start=start), retry=RetryPolicy(attempts=1)) as client:
        with pytest.raises(Fault) as caught:
            await client.tools()
        assert (caught.value.kind, caught.value.origin, caught.value.layer) == (
            "upstream_error",
            "peer",
            "protocol",
        )
        assert caught.value.message == "the answer breaks the protocol: tools is not a list"
        if start != "lists_text":
            for listing in (client.resources, client.prompts):
                with pytest.raises(Fault, match="is not a list"):
                    await listing()
