"""The scripted models: each wire format says what the script says, and fails as it says."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import aiohttp
import pytest

from discord_stage.model_servers import (
    AnthropicWire,
    GoogleWire,
    ModelServer,
    NovelAIWire,
    OpenAIResponsesWire,
    OpenAIWire,
    WireFormat,
)
from discord_stage.model_servers.scripts import Cut, Refuse, Say, Stall, Status

Json = Any
FAMILIES: dict[str, tuple[WireFormat, str, Callable[[Json], str]]] = {
    "openai": (
        OpenAIWire(),
        "/chat/completions",
        lambda event: "".join(c["delta"].get("content") or "" for c in event.get("choices", ())),
    ),
    "responses": (
        OpenAIResponsesWire(),
        "/responses",
        lambda event: event["delta"] if event["type"] == "response.output_text.delta" else "",
    ),
    "anthropic": (
        AnthropicWire(),
        "/v1/messages",
        lambda event: event.get("delta", {}).get("text", ""),
    ),
    "google": (
        GoogleWire(),
        "/v1beta/models/any:streamGenerateContent?alt=sse",
        lambda event: "".join(
            part.get("text", "")
            for one in event["candidates"]
            for part in one.get("content", {}).get("parts", ())
        ),
    ),
    "novelai": (
        NovelAIWire(),
        "/ai/generate-stream",
        lambda event: event.get("token", ""),
    ),
}
QUESTION = {"model": "any", "stream": True, "messages": [], "parameters": {"max_length": 9}}


def test_each_says_what_the_script_says(family: str) -> None:
    wire, path, text_of = FAMILIES[family]

    async def main() -> None:
        async with ModelServer(wire, [Say("Hel", "lo.")], slice_bytes=7) as model:
            async with (
                aiohttp.ClientSession() as session,
                session.post(model.url + path, json=QUESTION) as answer,
            ):
                assert answer.status == 200
                lines = (await answer.text()).splitlines()
            assert [request.json for request in model.requests] == [QUESTION]
        data = [line.removeprefix("data:").strip() for line in lines if line.startswith("data:")]
        events = [json.loads(one) for one in data if one != "[DONE]"]
        assert "".join(map(text_of, events)) == "Hello."

    asyncio.run(main())


def test_each_refuses_in_its_own_way(family: str) -> None:
    wire, path, _ = FAMILIES[family]

    async def main() -> None:
        async with (
            ModelServer(wire, [Refuse("rate_limit")], [Refuse("auth")]) as model,
            aiohttp.ClientSession() as session,
        ):
            for status in (429, 401):
                async with session.post(model.url + path, json=QUESTION) as answer:
                    # Google says of a wrong key that the request is invalid.
                    assert answer.status in (status, 400 if family == "google" else status)
                    assert await answer.json()

    asyncio.run(main())


@pytest.fixture(params=FAMILIES)
def family(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_a_connection_is_cut_and_another_stalls_until_the_client_leaves() -> None:
    async def main() -> None:
        async with (
            ModelServer(OpenAIWire(), [Say("Hel"), Cut()], [Say("Hel"), Stall()]) as model,
            aiohttp.ClientSession() as session,
        ):
            url = f"{model.url}/chat/completions"
            async with session.post(url, json=QUESTION) as answer:
                with pytest.raises(aiohttp.ClientPayloadError):
                    await answer.read()
            async with session.post(url, json=QUESTION) as answer:
                assert b"Hel" in await answer.content.readuntil(b"Hel")
                assert not model.connections[-1].closed.is_set()
                answer.close()
            await model.all_closed()

    asyncio.run(main())


def test_without_a_script_it_says_hello_and_elsewhere_there_is_nothing() -> None:
    async def main() -> None:
        async with ModelServer(OpenAIWire()) as model, aiohttp.ClientSession() as session:
            async with session.post(f"{model.url}/chat/completions", json=QUESTION) as answer:
                assert "Hello!" in await answer.text()
            async with session.post(f"{model.url}/embeddings", json={}) as answer:
                assert answer.status == 404
            model.play(Status(503, "<html>", {"content-type": "text/html"}))
            async with session.post(f"{model.url}/chat/completions", json=QUESTION) as answer:
                assert (answer.status, await answer.text()) == (503, "<html>")

    asyncio.run(main())
