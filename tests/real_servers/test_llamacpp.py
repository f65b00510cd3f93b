"""llama.cpp's own server, over each of the three APIs that it offers, and behind LiteLLM."""

from __future__ import annotations

import asyncio
import json
import urllib.request
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace
from typing import Any, TypeVar

import pytest

from oshaberi.chunks import Chunk
from oshaberi.providers.base import Adapter
from oshaberi.providers.capabilities import LearnedLimits, ModelPlace
from oshaberi.providers.registry import connect
from oshaberi.providers.request.model_request import (
    Request,
    ToolDeclaration,
    ToolResult,
    ToolRound,
    said,
)
from tests.providers.adapter_runs import error, read, text, thoughts

from .server_processes import (
    LITELLM_KEY,
    LLAMA_KEY,
    ServerProcess,
    begin_litellm_proxy,
    litellm_proxy,
    llama_server,
    llama_server_without_jinja,
    new_llama_server,
)

T = TypeVar("T")

DICE = ToolDeclaration(
    "roll_dice",
    "Rolls dice.",
    {"type": "object", "properties": {"notation": {"type": "string"}, "n": {"type": "integer"}}},
)
BROKEN = ToolDeclaration(
    "ask_oracle", "Asks.", {"type": "object", "properties": {"a": {"type": "banana"}}}
)
"""A tool whose schema llama.cpp cannot compile into a grammar."""
APIS = {"llamacpp": "/v1", "openai-responses": "/v1", "anthropic": ""}
PROXIED = "litellm"
"""Chat completions through the real proxy: what the server says comes back in LiteLLM's words."""
every_api = pytest.mark.parametrize("preset", APIS)
every_way = pytest.mark.parametrize("preset", [*APIS, PROXIED])


@pytest.fixture(scope="module", autouse=True)
def _proxy_loads_meanwhile() -> None:
    begin_litellm_proxy()


def asking(words: str, *tools: ToolDeclaration, **more: Any) -> Request:
    items = (said("system", "Be brief."), said("user", words, "current"))
    return Request(items, tools=tools, **more)


def adapter_for(preset: str, server: ServerProcess, **settings: Any) -> Adapter:
    if preset == PROXIED:
        behind = {"api_base": f"{server.url}/v1", "api_key": LLAMA_KEY}
        given = {"api_key": LITELLM_KEY, "quirks": {"body": behind}, **settings}
        base_url = f"{litellm_proxy().url}/v1"
        return connect("openai", "openai/scripted", base_url=base_url, **given)
    given = {"api_key": LLAMA_KEY, "base_url": server.url + APIS[preset], **settings}
    return connect(preset, "scripted", **given)


def run(
    preset: str,
    scenario: Callable[[Adapter], Awaitable[T]],
    server: ServerProcess | None = None,
    **settings: Any,
) -> T:
    async def main() -> T:
        adapter = adapter_for(preset, server or llama_server(), **settings)
        try:
            return await scenario(adapter)
        finally:
            await adapter.aclose()

    return asyncio.run(main())


def answer(preset: str, request: Request, **settings: Any) -> list[Chunk]:
    return run(preset, lambda adapter: read(adapter, request), **settings)


@every_way
def test_text(preset: str) -> None:
    found = answer(preset, asking("PLAIN"))
    assert text(found) == "Hello there, friend. It is a fine day."
    assert (found[-1].type, found[-1].finish_reason) == ("done", "stop")
    assert len(found) > 4, "it is a stream, not one piece"


@every_way
def test_a_conversation(preset: str) -> None:
    items = (
        said("system", "Be brief."),
        said("user", "PLAIN"),
        said("assistant", "Hello there."),
        said("user", "EMOJI", "current"),
    )
    assert text(answer(preset, Request(items))) == "Smile 😀 please."


@every_way
def test_an_emoji_that_is_four_tokens(preset: str) -> None:
    assert text(answer(preset, asking("EMOJI"))) == "Smile 😀 please."


@every_way
def test_reasoning(preset: str) -> None:
    found = answer(preset, asking("REASON"))
    assert thoughts(found).strip() == "I wonder what they mean."
    assert text(found).strip() == "Forty-two."


@every_way
@pytest.mark.parametrize("words", ["TOOL", "TALK"])
def test_a_tool_and_the_second_round(preset: str, words: str) -> None:
    request = asking(words, DICE)

    async def scenario(adapter: Adapter) -> list[Chunk]:
        first = await read(adapter, request)
        (call,) = first[-1].calls
        assert (call.name, call.error) == ("roll_dice", None)
        assert call.args == ({"notation": "2d6"} if words == "TOOL" else {"n": 1})
        signed = tuple(part for chunk in first for part in chunk.thoughts)
        done = ToolRound(
            first[-1].calls, (ToolResult("7"),), text(first), signed, adapter.name, adapter.model
        )
        return await read(adapter, replace(request, items=(*request.items, done)))

    assert text(run(preset, scenario)) == "The dice came out well."


@every_way
def test_tokens_are_counted_and_come_from_the_cache(preset: str) -> None:
    request = asking("PLAIN, as I asked before: " + "the same words again " * 10)

    async def scenario(adapter: Adapter) -> Chunk:
        await read(adapter, request)
        return (await read(adapter, request))[-1]

    usage = run(preset, scenario).usage
    assert usage is not None
    assert usage.output_tokens == 7
    assert usage.cached_tokens > 200
    assert usage.input_tokens > usage.cached_tokens


@every_way
def test_a_stop_reaches_the_server(preset: str) -> None:
    async def scenario(adapter: Adapter) -> None:
        stream: Any = adapter.open(asking("LONG"))
        async with aclosing(stream):
            async for raw in stream:
                if raw.chunk is not None and raw.chunk.content:
                    assert any(slot["is_processing"] for slot in await slots(llama_server()))
                    break
        await idle(llama_server())

    run(preset, scenario)


@pytest.mark.parametrize("preset", sorted(APIS.keys() - {"openai-responses"}))
def test_the_answer_limit_is_said(preset: str) -> None:
    last = answer(preset, asking("LONG", max_output_tokens=20))[-1]
    assert (last.type, last.finish_reason) == ("done", "length")


@every_way
def test_a_context_that_is_too_long(preset: str) -> None:
    problem = error(answer(preset, asking("PLAIN " + "far too long " * 900), window=100_000))
    assert (problem.type, problem.retryable) == ("context_length", False)
    assert "4096" in problem.message


def test_the_window_of_the_server_is_asked_for() -> None:
    """The question stays; what was said before is left out. Here each character is a token."""
    items = (*(said("user", "far too long " * 90) for _ in range(9)), said("user", "PLAIN"))
    assert text(answer("llamacpp", Request(items), count_tokens=len)).startswith("Hello there")


@every_api
def test_any_name_of_a_model_will_do(preset: str) -> None:
    """The server has one model, and does not mind what it is called."""

    async def main() -> list[Chunk]:
        url = llama_server().url + APIS[preset]
        adapter = connect(preset, "gpt-6-luna", api_key=LLAMA_KEY, base_url=url)
        try:
            return await read(adapter, asking("PLAIN"))
        finally:
            await adapter.aclose()

    assert text(asyncio.run(main())).startswith("Hello there")


@every_way
def test_a_wrong_key(preset: str) -> None:
    problem = error(answer(preset, asking("PLAIN"), api_key="sk-of-somebody-else"))
    assert (problem.type, problem.retryable) == ("auth", False)


@every_way
def test_a_server_that_is_killed_in_mid_sentence(preset: str) -> None:
    victim = new_llama_server(n_parallel="1", api_keys=LLAMA_KEY)

    async def scenario(adapter: Adapter) -> list[Chunk]:
        found: list[Chunk] = []
        async for raw in adapter.open(asking("LONG")):
            if raw.chunk is not None:
                found.append(raw.chunk)
            if len(found) == 5:
                victim.kill()
        return found

    found = run(preset, scenario, victim)
    problem = error(found)
    kind = "api_error" if preset == PROXIED else "network"  # the proxy is still there
    assert (problem.type, problem.retryable) == (kind, True)
    assert text(found).startswith("word0 word1")


@every_way
def test_eight_at_once(preset: str) -> None:
    """The server has four places."""
    words = ["PLAIN", "EMOJI", "REASON", "PLAIN"] * 2

    async def scenario(adapter: Adapter) -> list[list[Chunk]]:
        return await asyncio.gather(*(read(adapter, asking(one)) for one in words))

    plain, emoji = "Hello there, friend. It is a fine day.", "Smile 😀 please."
    found = [text(one).strip() for one in run(preset, scenario)]
    assert found == [plain, emoji, "Forty-two.", plain] * 2


@every_way
def test_without_jinja_there_are_no_tools(preset: str) -> None:
    learned = LearnedLimits()
    server = llama_server_without_jinja()

    async def scenario(adapter: Adapter) -> list[Chunk]:
        await read(adapter, asking("TOOL", DICE))
        return await read(adapter, asking("TOOL", DICE))

    found = run(preset, scenario, server, learned=learned)
    assert (found[-1].type, found[-1].error) == ("done", None)
    assert learned.told(place_of(preset, server)) == ("it takes no tools",)


@every_way
def test_a_schema_that_the_server_cannot_compile_costs_only_its_tool(preset: str) -> None:
    learned = LearnedLimits()
    others = [replace(DICE, name=f"tool_{n}") for n in range(4)]
    tools = (others[0], BROKEN, *others[1:], DICE)

    async def scenario(adapter: Adapter) -> list[Chunk]:
        for _ in range(3):
            assert text(await read(adapter, asking("PLAIN", *tools))).startswith("Hello there")
        return await read(adapter, asking("TOOL", *tools))

    found = run(preset, scenario, learned=learned)
    assert [call.name for call in found[-1].calls] == ["roll_dice"]
    [told] = learned.told(place_of(preset, llama_server()))
    assert told.startswith("it is not sent tool ask_oracle (")
    assert "unrecognized type banana" in told


def test_tokens_are_counted_even_where_nobody_asks() -> None:
    last = answer("llamacpp", asking("PLAIN"), quirks={"no_stream_options": True})[-1]
    assert last.usage is not None
    assert last.usage.output_tokens == 7


def place_of(preset: str, server: ServerProcess) -> ModelPlace:
    """Return where lessons are kept."""
    if preset == PROXIED:
        return ModelPlace("openai", f"{litellm_proxy().url}/v1", "openai/scripted")
    return ModelPlace(preset, server.url + APIS[preset], "scripted")


async def slots(server: ServerProcess) -> list[dict[str, Any]]:
    """Return what each place of the server does."""
    asked = urllib.request.Request(
        f"{server.url}/slots", headers={"Authorization": f"Bearer {LLAMA_KEY}"}
    )
    body = await asyncio.to_thread(lambda: urllib.request.urlopen(asked, timeout=10).read())
    found: list[dict[str, Any]] = json.loads(body)
    return found


async def idle(server: ServerProcess) -> None:
    """Wait until the server writes nothing, long before the answer would have ended by itself."""
    while any(slot["is_processing"] for slot in await slots(server)):
        await asyncio.sleep(0)
    for slot in await slots(server):
        decoded = [token["n_decoded"] for token in slot.get("next_token") or ()]
        assert all(count < 3000 for count in decoded), "it was not stopped"
