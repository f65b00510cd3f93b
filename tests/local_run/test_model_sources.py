"""Finding models: where they are looked for, what a server lists, and what is said if it fails."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from aiohttp import web

from discord_stage.errors import RefusedFieldError, StageError
from discord_stage.model_servers import ModelServer, OpenAIWire
from discord_stage.model_servers.scripts import Refuse, Say, Stall
from oshaberi.bot.local_run.demo_model import MODEL, DemoModel
from oshaberi.bot.local_run.model_choice import ModelChoice
from oshaberi.bot.local_run.model_sources import (
    ModelSource,
    called_model,
    found_servers,
    listed_models,
    model_sources,
    ollama_address,
    tried_connection,
)

NOWHERE = "http://127.0.0.1:9/v1"
ANY = ModelSource("openai-compatible", "Another address", "openai-chat")


def with_demo_model(scenario: Callable[[DemoModel], Awaitable[None]]) -> None:
    async def main() -> None:
        async with DemoModel(math.inf) as model:
            await scenario(model)

    asyncio.run(main())


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("", None),
        ("0.0.0.0", "http://127.0.0.1:11434/v1"),
        ("0.0.0.0:8888", "http://127.0.0.1:8888/v1"),
        (":8888", "http://127.0.0.1:8888/v1"),
        ("box", "http://box:11434/v1"),
        ("https://models.test", "https://models.test:443/v1"),
        ("http://models.test:80/ollama/", "http://models.test:80/ollama/v1"),
        ("[::1]:9000", "http://[::1]:9000/v1"),
        ("[::]", "http://127.0.0.1:11434/v1"),
        ("box:many", None),
    ],
)
def test_the_address_in_ollama_host(host: str, address: str | None) -> None:
    assert ollama_address(host) == address


def test_local_servers_are_found_where_ollama_host_says() -> None:
    async def scenario(model: DemoModel) -> None:
        host = model.url.removeprefix("http://").removesuffix("/v1")
        sources = model_sources({"OLLAMA_HOST": host})
        found = {one.source: one for one in await found_servers(sources)}
        assert found["ollama"].models == (MODEL,)
        assert found["ollama"].base_url == model.url

    with_demo_model(scenario)


def test_what_can_be_connected() -> None:
    names = [source.name for source in model_sources({})]
    assert names == [
        *("ollama", "llamacpp", "lmstudio", "anthropic", "google", "novelai", "openai"),
        *("openrouter", "openai-compatible", "responses"),
    ]


def answering(status: int, body: str) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def handler(_request: web.Request) -> web.Response:
        return web.Response(status=status, text=body)

    return handler


@pytest.mark.parametrize(
    ("status", "body", "field", "words"),
    [
        (401, "", "key", "refuses this key: paste a valid one"),
        (403, "", "key", "refuses this key: paste a valid one"),
        (404, "", "base_url", "has no list of models: correct the address"),
        (500, "", "base_url", "answered HTTP 500"),
        (302, "", "base_url", "answered HTTP 302"),
        (200, "<html>", "base_url", "answered HTTP 200 instead of its models"),
        (200, '{"data": 3}', "base_url", "answered HTTP 200 instead of its models"),
        (200, "[" * 100_000, "base_url", "answered HTTP 200 instead of its models"),
    ],
)
def test_a_list_that_fails_says_where(status: int, body: str, field: str, words: str) -> None:
    async def main() -> None:
        application = web.Application()
        application.router.add_get("/v1/models", answering(status, body))
        runner = web.AppRunner(application)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        try:
            with pytest.raises(RefusedFieldError, match=words) as refused:
                await listed_models(ANY, f"http://127.0.0.1:{runner.addresses[0][1]}/v1", "k")
            assert refused.value.field == field
        finally:
            await runner.cleanup()

    asyncio.run(main())


def test_nothing_answers() -> None:
    with pytest.raises(RefusedFieldError, match="nothing listens there") as refused:
        asyncio.run(listed_models(ANY, NOWHERE, None))
    assert refused.value.field == "base_url"


def answered_by(*script: Any, limit_s: float = 30.0) -> str:
    async def main() -> str:
        async with ModelServer(OpenAIWire(), script) as server:
            adapter = await tried_connection("openai", "m", server.url, "k")
            try:
                return (await called_model(adapter, limit_s)).text
            finally:
                await adapter.aclose()

    return asyncio.run(main())


def test_a_test_call_gives_the_beginning_of_the_answer() -> None:
    assert answered_by(Say("Hello", " there")) == "Hello there"


@pytest.mark.parametrize(
    ("script", "field", "words"),
    [
        (Refuse("auth"), "key", "Incorrect API key"),
        (Refuse("model_error"), "model", "model"),
        (Refuse("rate_limit"), None, "[Rr]ate limit"),
    ],
)
def test_a_test_call_that_fails_names_the_field(
    script: Refuse, field: str | None, words: str
) -> None:
    with pytest.raises(StageError, match=words) as refused:
        answered_by(script)
    assert getattr(refused.value, "field", None) == field


def test_a_test_call_has_an_end() -> None:
    with pytest.raises(RefusedFieldError, match="no answer within"):
        answered_by(Stall(), limit_s=0.05)


def test_a_key_is_kept_for_its_address_only() -> None:
    async def scenario(model: DemoModel) -> None:
        choice = ModelChoice(model)
        given = {"use": "openai-compatible", "base_url": model.url, "model": MODEL}
        assert await choice.models(given) == [MODEL]
        assert (await choice.test(given))["text"]
        state = await choice.act({**given, "key": "sk-secret"})
        assert state["keys_for"] == [model.url]
        assert "sk-secret" not in str(state)
        assert choice._key({}, model.url) == "sk-secret"
        assert choice._key({}, NOWHERE) is None

    with_demo_model(scenario)


def test_what_is_missing_is_said_at_its_field() -> None:
    async def scenario(model: DemoModel) -> None:
        choice = ModelChoice(model, environ={"OPENAI_API_KEY": "sk-env"})
        assert (await choice.read({}))["keys_for"] == ["https://api.openai.com/v1"]
        for said, field, told in (
            ({"use": "anthropic", "model": "x"}, "key", "Anthropic wants a key"),
            ({"use": "responses", "model": "x"}, "base_url", "an address is needed"),
            ({"use": "ollama", "model": " "}, "model", "the name of a model"),
        ):
            with pytest.raises(RefusedFieldError, match=told) as refused:
                await choice.test(said)
            assert refused.value.field == field
        with pytest.raises(RefusedFieldError, match="NovelAI lists no models"):
            await choice.models({"use": "novelai", "key": "k"})

    with_demo_model(scenario)


def test_an_address_is_completed_for_the_list_the_test_and_the_bot() -> None:
    async def scenario(model: DemoModel) -> None:
        choice = ModelChoice(model)
        short = model.url.removeprefix("http://").removesuffix("/v1")
        given = {"use": "openai-compatible", "base_url": short, "model": MODEL}
        assert await choice.models(given) == [MODEL]
        tested = await choice.test(given)
        assert tested["base_url"] == model.url
        assert (await choice.act(given))["base_url"] == model.url

    with_demo_model(scenario)


def test_a_test_is_cancelled() -> None:
    async def main() -> None:
        async with DemoModel(math.inf) as demo, ModelServer(OpenAIWire(), (Stall(),)) as server:
            choice = ModelChoice(demo)
            given = {"use": "openai-compatible", "base_url": server.url, "model": "m"}
            testing = asyncio.create_task(choice.test(given))
            while not server.requests:
                await asyncio.sleep(0)
            assert await choice.test({"cancel": True}) == {}
            with pytest.raises(StageError, match="the test was ended"):
                await testing

    asyncio.run(main())
