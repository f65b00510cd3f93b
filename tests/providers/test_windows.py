"""How large a window is: said, asked from a local server, known, usual; and how tokens count."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

import pytest
from aiohttp import web

from discord_stage.model_servers import ModelServer, OpenAIWire
from discord_stage.model_servers.scripts import Count, Say, Step
from oshaberi.providers import PRESETS, Request, connect, said
from oshaberi.providers.base import Adapter
from oshaberi.providers.capabilities import LearnedLimits, ModelPlace
from oshaberi.providers.local_context_windows import LocalWindow
from oshaberi.providers.request.model_request import Endpoint, ToolDeclaration
from oshaberi.providers.request.preparation import counter_of, known_window
from oshaberi.providers.request.token_estimate import text_tokens
from tests.providers.adapter_runs import read

T = TypeVar("T")
Answers = Mapping[str, Any]


def served(answers: Answers, scenario: Callable[[str, list[str]], Awaitable[T]]) -> T:
    """A server that answers some paths with JSON; the others it does not have."""

    async def main() -> T:
        asked: list[str] = []

        async def handle(request: web.Request) -> web.Response:
            asked.append(request.path)
            if request.path not in answers:
                return web.Response(status=404)
            told = answers[request.path]
            return web.Response(text=told if isinstance(told, str) else json.dumps(told))

        app = web.Application()
        app.router.add_route("*", "/{tail:.*}", handle)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        try:
            port = runner.addresses[0][1]
            return await scenario(f"http://127.0.0.1:{port}/v1", asked)
        finally:
            await runner.cleanup()

    return asyncio.run(main())


@pytest.mark.parametrize(
    ("server", "answers", "tokens"),
    [
        ("llamacpp", {"/props": {"default_generation_settings": {"n_ctx": 16_384}}}, 16_384),
        ("ollama", {"/api/ps": {"models": [{"name": "m:latest", "context_length": 8192}]}}, 8192),
        (
            "ollama",
            {"/api/ps": {"models": []}, "/api/show": {"parameters": "stop x\nnum_ctx    2048\n"}},
            2048,
        ),
        ("ollama", {"/api/ps": {"models": [{"name": "other", "context_length": 8192}]}}, None),
        ("ollama", {"/api/ps": {"models": 3}}, None),
        (
            "ollama",
            {"/api/ps": {}, "/api/show": {"model_info": {"qwen3.context_length": 40_960}}},
            40_960,
        ),
        ("vllm", {"/v1/models": {"data": [{"id": "m", "max_model_len": 32_000}]}}, 32_000),
        (
            "lmstudio",
            {"/api/v0/models": {"data": [{"id": "m", "loaded_context_length": 4096}]}},
            4096,
        ),
        (
            "lmstudio",
            {"/api/v0/models": {"data": [{"id": "m", "max_context_length": 9000}]}},
            9000,
        ),
        ("llamacpp", {"/props": "not JSON"}, None),
        ("llamacpp", {"/props": {"default_generation_settings": {"n_ctx": "x"}}}, None),
        ("llamacpp", {}, None),
    ],
)
def test_a_local_server_is_asked(server: str, answers: Answers, tokens: int | None) -> None:
    async def scenario(url: str, _asked: list[str]) -> int | None:
        return await LocalWindow(server, url, "m")()

    assert served(answers, scenario) == tokens


def test_it_is_asked_once_for_many_requests() -> None:
    async def scenario(url: str, asked: list[str]) -> list[str]:
        window = LocalWindow("llamacpp", url, "m")
        assert list(await asyncio.gather(window(), window(), window())) == [512] * 3
        return asked

    assert served({"/props": {"default_generation_settings": {"n_ctx": 512}}}, scenario) == [
        "/props"
    ]


def test_what_a_model_could_read_holds_until_it_is_loaded() -> None:
    told: dict[str, Any] = {"/api/show": {"model_info": {"qwen3.context_length": 40_960}}}

    async def scenario(url: str, _asked: list[str]) -> list[int | None]:
        window = LocalWindow("ollama", url, "m")
        first = await window()
        told["/api/ps"] = {"models": [{"name": "m", "context_length": 8192}]}
        return [first, await window()]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("oshaberi.providers.local_context_windows.UNSURE_FOR_S", 0.0)
        assert served(told, scenario) == [40_960, 8192]


def test_it_is_not_asked_for_a_short_request() -> None:
    async def scenario(url: str, asked: list[str]) -> list[list[str]]:
        seen = []
        for words in ("hi", LONG * 3):
            adapter = connect("llamacpp", "m", base_url=url)
            await adapter.left_out(Request((said("user", words), said("user", "hi", "current"))))
            seen.append(list(asked))
            await adapter.aclose()
        return seen

    assert served({}, scenario) == [[], ["/props"]]


def test_a_server_that_is_away_tells_nothing() -> None:
    assert asyncio.run(LocalWindow("ollama", "http://127.0.0.1:9/v1", "m")()) is None


def window_of(adapter: Adapter) -> int | None:
    assert adapter.endpoint is not None
    return asyncio.run(known_window(adapter.endpoint, adapter.capabilities()))


def test_every_preset_has_a_window() -> None:
    without = {name for name, preset in PRESETS.items() if preset.window is None}
    assert without == {"replay"}


def test_what_the_settings_say_counts_most_then_the_table_then_what_is_usual() -> None:
    key = {"api_key": "k"}
    assert window_of(connect("anthropic", "claude-opus-4-7", **key, window=5000)) == 5000
    assert window_of(connect("anthropic", "claude-opus-4-7", **key)) == 1_000_000
    assert window_of(connect("groq", "somebodys-model", **key)) == 128_000
    assert window_of(connect("novelai", "kayra-v1", **key)) == 8192


def test_what_a_local_server_gives_counts_not_what_the_model_could_read() -> None:
    away = {"base_url": "http://127.0.0.1:9/v1"}
    assert window_of(connect("ollama", "gpt-oss:20b", **away)) == 4096

    async def scenario(url: str, _asked: list[str]) -> int | None:
        adapter = connect("llamacpp", "gpt-oss", base_url=url)
        assert adapter.endpoint is not None
        return await known_window(adapter.endpoint, adapter.capabilities())

    assert (
        served({"/props": {"default_generation_settings": {"n_ctx": 20_000}}}, scenario) == 20_000
    )


# -- counting ------------------------------------------------------------------------------------

LONG = "a word or two " * 200


def test_usage_corrects_the_estimate() -> None:
    learned = LearnedLimits()

    async def main() -> list[int]:
        script: list[Step] = [Say("Hm."), Count(text_tokens(LONG) // 2, 3)]
        async with ModelServer(OpenAIWire(), script, script) as server:
            adapter = connect("groq", "m", api_key="k", base_url=server.url, learned=learned)
            counts = []
            for _ in range(2):
                assert adapter.endpoint is not None
                counts.append(counter_of(adapter.endpoint)(LONG))
                await read(adapter, Request((said("user", LONG, "current"),)))
            await adapter.aclose()
            return counts

    first, second = asyncio.run(main())
    assert first == text_tokens(LONG)
    assert 0.5 * first <= second <= 0.56 * first


def test_tools_without_parameters_do_not_spoil_the_correction() -> None:
    """The API counts their names and descriptions, and so does the estimate."""
    learned = LearnedLimits()
    tools = tuple(ToolDeclaration(f"look_{n}", "Look at the sea. " * 12) for n in range(20))
    request = Request((said("user", "a word or two " * 60, "current"),), tools)
    described = sum(text_tokens(tool.name + tool.description) for tool in tools)

    async def main() -> float:
        script: list[Step] = [Say("Hm."), Count(text_tokens("a word or two " * 60) + described, 3)]
        async with ModelServer(OpenAIWire(), script) as server:
            adapter = connect("groq", "m", api_key="k", base_url=server.url, learned=learned)
            await read(adapter, request)
            await adapter.aclose()
            assert adapter.endpoint is not None
            return learned.tokens.ratio(adapter.endpoint.place)

    assert 0.7 <= asyncio.run(main()) <= 1.1


@pytest.mark.parametrize(("estimated", "counted"), [(50, 500), (0, 900), (900, 0)])
def test_what_says_nothing_is_not_learnt(estimated: int, counted: int) -> None:
    tokens, place = LearnedLimits().tokens, ModelPlace("p", None, "m")
    tokens.note(place, estimated, counted)
    assert tokens.ratio(place) == 1.0
    assert tokens.corrected(place, text_tokens) is text_tokens


def test_a_strange_usage_does_not_lead_astray() -> None:
    tokens, place = LearnedLimits().tokens, ModelPlace("p", None, "m")
    tokens.note(place, 1000, 10**9)
    assert tokens.ratio(place) < 3.2
    assert tokens.ratio(ModelPlace("p", None, "other")) == 1.0


def test_a_tokenizer_counts_most() -> None:
    endpoint = Endpoint("p", "m", count_tokens=len)
    assert counter_of(endpoint)("four") == 4
    assert counter_of(replace(endpoint, count_tokens=None))("four") == 2
