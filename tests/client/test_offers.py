"""Beside tools: resources, prompts, and the questions a server asks in the middle of a call."""

import json
from typing import Any

import pytest
from mcp import MCPError
from mcp.server.mcpserver import Context, MCPServer
from pydantic import BaseModel

from faultless import Client, Elicitation, Fault, Prompt, Resource, RetryPolicy
from tests.client.hostile import command

pytestmark = pytest.mark.anyio
MODES = pytest.mark.parametrize("mode", ["legacy", "auto"])
ONCE = RetryPolicy(attempts=1)


def library() -> MCPServer:
    server = MCPServer("library")

    @server.resource("book://one", description="a short one", mime_type="text/plain")
    def one() -> str:
        return "call me Ishmael"

    @server.resource("book://cover")
    def cover() -> bytes:
        return b"\x89PNG"

    @server.resource("book://{title}/page")
    def page(title: str) -> str:
        return f"a page of {title}"

    @server.prompt()
    def summarise(title: str, tone: str = "dry") -> str:
        return f"Summarise {title}, {tone}."

    return server


@MODES
async def test_resources_are_listed_with_their_templates_and_read_as_text_or_bytes(mode: str) -> None:
    async with Client(library(), mode=mode) as client:
        found = {resource.uri: resource for resource in await client.resources()}
        assert found["book://one"] == Resource("book://one", "one", "a short one", "text/plain")
        assert found["book://{title}/page"].is_template
        reply = await client.read_resource("book://one")
        assert (reply.value, reply.text, reply.via) == ("call me Ishmael", "call me Ishmael", "server")
        assert (await client.read_resource("book://cover")).value == b"\x89PNG"
        assert (await client.read_resource("book://emma/page")).value == "a page of emma"


@MODES
async def test_a_resource_that_is_not_there_is_a_fault(mode: str) -> None:
    async with Client(library(), mode=mode, retry=ONCE) as client:
        with pytest.raises(Fault) as caught:
            await client.read_resource("book://nope")
    assert (caught.value.origin, caught.value.outcome) == ("peer", "not_done")


@MODES
async def test_prompts_are_listed_and_filled_in(mode: str) -> None:
    async with Client(library(), mode=mode, retry=ONCE) as client:
        assert await client.prompts() == [Prompt("summarise", "", ("title",), ("tone",))]
        reply = await client.get_prompt("summarise", {"title": "Emma"})
        assert reply.text == "Summarise Emma, dry."
        assert reply.value[0]["role"] == "user"
        with pytest.raises(Fault):
            await client.get_prompt("nope")


async def test_a_server_without_them_has_none() -> None:
    async with Client(command()) as client:
        assert await client.resources() == []
        assert await client.prompts() == []


class Booking(BaseModel):
    seats: int
    window: bool = False


def cinema() -> MCPServer:
    server = MCPServer("cinema")

    @server.tool()
    async def book(context: Context[Any]) -> str:
        given = await context.elicit("How many seats?", Booking)
        return f"{given.action} {given.data if given.action == 'accept' else ''}".strip()

    return server


async def test_a_question_comes_with_the_types_of_its_answer() -> None:
    asked: list[Elicitation] = []

    def answer(question: Elicitation) -> Booking:
        asked.append(question)
        return Booking(seats=3)

    async with Client(cinema(), mode="legacy", on_elicitation=answer) as client:
        reply = await client.call("book")
    assert reply.text == "accept seats=3 window=False"
    (question,) = asked
    assert question.message == "How many seats?"
    assert [(field.name, field.type, field.is_required) for field in question.fields] == [
        ("seats", int, True),
        ("window", bool, False),
    ]


async def test_none_declines_and_a_dictionary_answers() -> None:
    async def answer(_: Elicitation) -> dict[str, Any] | None:
        return answers.pop()

    answers: list[dict[str, Any] | None] = [{"seats": 2}, None]
    async with Client(cinema(), mode="legacy", on_elicitation=answer) as client:
        assert (await client.call("book")).text == "decline"
        assert (await client.call("book")).text == "accept seats=2 window=False"


async def test_a_field_of_several_types_has_the_first_that_is_one() -> None:
    def answer(question: Elicitation) -> dict[str, Any]:
        assert [(field.name, field.type) for field in question.fields] == [("n", int)]
        return {"n": None}

    async with Client(command("handshake"), on_elicitation=answer) as client:
        assert json.loads((await client.call("asks_in_between")).text)["result"]["content"] == {"n": None}


def raise_secret(_: Elicitation) -> None:
    raise RuntimeError("hunter2")


WRONG_ANSWERS: dict[str, tuple[Any, str, str]] = {
    "a wrong type": (lambda _: {"n": "hunter2"}, "invalid_params", "n: "),
    "nothing needed": (lambda _: {}, "invalid_params", "required"),
    "not a number": (lambda _: {"n": float("nan")}, "invalid_params", "JSON"),
    "no JSON": (lambda _: {"n": object()}, "invalid_params", "JSON"),
    "text": (lambda _: "hunter2", "usage_error", "returned str"),
    "a list": (lambda _: ["hunter2"], "usage_error", "returned list"),
    "an exception": (raise_secret, "usage_error", "raised RuntimeError: hunter2"),
}


@pytest.mark.parametrize("wrong", WRONG_ANSWERS)
async def test_a_wrong_answer_is_the_fault_of_its_call_and_the_server_learns_nothing_of_it(
    wrong: str,
) -> None:
    answer, kind, words = WRONG_ANSWERS[wrong]
    heard: list[str] = []
    async with Client(command("handshake"), on_elicitation=answer, retry=ONCE) as client:
        with pytest.raises(Fault) as caught:
            await client.call("asks_in_between", on_response=lambda response: heard.append(str(response)))
        assert (await client.call("echo", {"text": "x"})).value == {"text": "x"}
    fault = caught.value
    assert (fault.kind, fault.origin, fault.layer, fault.outcome) == (kind, "local", "protocol", "unknown")
    assert words in fault.message
    assert "the client has no answer" in heard[0]
    assert "hunter2" not in heard[0]


async def test_a_tool_that_goes_on_without_an_answer_is_not_taken_for_one_that_had_it() -> None:
    server = MCPServer("cinema")

    @server.tool()
    async def book(context: Context[Any]) -> str:
        try:
            await context.elicit("How many seats?", Booking)
        except MCPError:
            return "two seats, as usual"
        return "as asked"

    async with Client(server, mode="legacy", on_elicitation=lambda _: {"seats": "x"}, retry=ONCE) as client:
        with pytest.raises(Fault) as caught:
            await client.call("book")
    assert (caught.value.kind, caught.value.origin) == ("invalid_params", "local")


async def test_in_the_newer_era_too_a_question_is_answered_and_a_wrong_answer_is_a_fault() -> None:
    answers: list[dict[str, Any]] = [{"n": "many"}, {"n": 4}]

    def answer(question: Elicitation) -> dict[str, Any]:
        assert [(field.name, field.type) for field in question.fields] == [("n", int)]
        return answers.pop()

    async with Client(command("modern"), on_elicitation=answer, retry=ONCE) as client:
        assert "'n': 4" in (await client.call("asks")).text
        with pytest.raises(Fault) as caught:
            await client.call("asks")
    assert (caught.value.kind, caught.value.origin, caught.value.outcome) == (
        "invalid_params",
        "local",
        "not_done",
    )
    async with Client(command("modern"), retry=ONCE) as client:
        with pytest.raises(Fault) as caught:
            await client.call("asks")
    assert caught.value.kind == "unsupported"
    assert "on_elicitation" in str(caught.value.hint)
