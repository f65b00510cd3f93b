"""The LiteLLM proxy: the suite of all families runs through it, to three kinds of APIs behind it.

The adapter talks to the proxy, and the proxy to the scripted server of the test.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from discord_stage.model_servers import AnthropicWire, ModelServer, OpenAIWire
from discord_stage.model_servers.google_wire import GoogleWire
from discord_stage.model_servers.scripts import Call, Count, Refuse, Say, Stall, Status, Step
from oshaberi.chunks import Chunk, ErrorType
from oshaberi.providers.base import Adapter
from oshaberi.providers.registry import connect
from oshaberi.providers.request.model_request import ToolResult, ToolRound
from tests.providers import test_families
from tests.providers.adapter_runs import ASK, chunks, error, read, run, text
from tests.providers.provider_families import Family

from .server_processes import LITELLM_KEY, litellm_proxy


@dataclass(frozen=True)
class ProxiedFamily(Family):
    """A family behind the proxy. `like` is its name without the proxy; LiteLLM
    wants `path` at the end of an address."""

    like: str = ""
    model: str = ""
    path: str = ""

    def connect(self, server: ModelServer, **settings: Any) -> Adapter:
        given: dict[str, Any] = {
            "api_key": LITELLM_KEY,
            "base_url": f"{litellm_proxy().url}/v1",
            "quirks": {"body": {"api_base": server.url + self.path}},
            **settings,
        }
        return connect(self.preset, self.model, **given)


def _proxied(name: str, like: str, wire: Any, model: str, path: str = "") -> ProxiedFamily:
    return ProxiedFamily(
        name, wire, "openai", keeps_connections=True, like=like, model=model, path=path
    )


BEHIND = (
    _proxied("openai", "openai", OpenAIWire, "openai/gpt-4.1"),
    _proxied("anthropic", "anthropic", AnthropicWire, "anthropic/claude-sonnet-4-5"),
    _proxied("gemini", "google", GoogleWire, "gemini/gemini-3-flash-preview", "/v1beta"),
)
every_family = pytest.mark.parametrize("family", BEHIND, ids=str)


NOT_THROUGH: dict[str, str] = {
    "test_a_consumer_that_does_not_wait_for_an_answer_closes_the_connection": "LiteLLM waits for "
    "the first byte of an answer that nobody wants",
    "test_a_page_instead_of_a_stream": "LiteLLM makes an empty answer of a web page",
    "test_a_redirect_is_named_and_not_followed": "LiteLLM follows it, and nobody is there",
    "test_a_wrong_address_is_said_to_be_wrong": "the address is that of the proxy",
    "test_keep_alives_are_swallowed-gemini": "LiteLLM makes an empty event of a keep-alive",
    "test_nobody_there": "the proxy is there, and says so: see test_nobody_behind_the_proxy",
    "test_signatures_go_back_with_the_results-gemini": "LiteLLM keeps the signatures of calls, not "
    "of thoughts: see test_the_signature_of_a_call_is_hidden_in_its_id",
    "test_signatures_go_back_with_the_results-openai": "LiteLLM drops a signature that comes alone",
    "test_silence_ends_with_a_timeout": "a proxy on a busy machine is silent for so long by itself",
    "test_text-anthropic": "LiteLLM loses an event that contains U+2028: see test_text",
}
"""What LiteLLM itself does differently, whoever asks."""
ASKED_ELSEWHERE = {
    ("openai", "content_blocked"),
    ("anthropic", "model_error"),
    ("gemini", "model_error"),
}
"""Refusals after which LiteLLM asks the address of its own settings; nobody is there."""
SMOKE = frozenset(
    {
        "test_one_call",
        "test_parallel_calls_keep_their_order",
        "test_signatures_go_back_with_the_results",
        "test_thoughts",
    }
)
"""Run with every `make test`; the rest is slow."""


def _rows() -> Iterator[Any]:
    """The tests of `test_families` that need nothing but a family, for each that is able."""
    for name, test in vars(test_families).items():
        if not name.startswith("test_") or [*inspect.signature(test).parameters] != ["family"]:
            continue
        able = {str(family) for mark in test.pytestmark for family in mark.args[1]}
        for family in BEHIND:
            if family.like in able and not {name, f"{name}-{family}"} & NOT_THROUGH.keys():
                marks = [] if name in SMOKE else [pytest.mark.slow]
                yield pytest.param(name, family, id=f"{name}-{family}", marks=marks)


@pytest.mark.parametrize(("name", "family"), list(_rows()))
def test_the_suite_of_all_families(name: str, family: Family) -> None:
    getattr(test_families, name)(family)


@every_family
def test_text(family: Family) -> None:
    found = chunks(family, Say("Hel", "lo, ", "wörld 👨‍👩‍👧!"))
    assert text(found) == "Hello, wörld 👨‍👩‍👧!"
    assert (found[-1].type, found[-1].finish_reason) == ("done", "stop")


def test_the_signature_of_a_call_is_hidden_in_its_id() -> None:
    """So the id goes back as it came, however long it is."""
    gemini, signature = BEHIND[2], "U0lHTkVE" * 30

    async def scenario(adapter: Adapter, server: ModelServer) -> None:
        first = await read(adapter)
        (call,) = first[-1].calls
        done = ToolRound((call,), (ToolResult("7"),), "", (), adapter.name, adapter.model)
        await read(adapter, replace(ASK, items=(*ASK.items, done)))
        assert signature.encode() in server.requests[1].body

    run(gemini, scenario, (Call("roll", "{}", signature=signature),))


@every_family
@pytest.mark.parametrize("reading", [False, True], ids=["closed", "cancelled"])
def test_a_stop_reaches_the_server_behind_the_proxy(family: Family, reading: bool) -> None:
    test_families.test_a_consumer_that_goes_away_closes_the_connection(family, reading)


@pytest.mark.parametrize(
    ("family", "kind"),
    [
        (family, kind)
        for family in BEHIND
        for kind in sorted(family.kinds)
        if (str(family), kind) not in ASKED_ELSEWHERE
    ],
    ids=str,
)
def test_each_class_of_error(family: Family, kind: ErrorType) -> None:
    found, requests = _asked(family, Refuse(kind))
    assert (error(found).type, requests) == (kind, 1)


@every_family
def test_the_wait_that_a_server_asks_for(family: Family) -> None:
    refusal = Status(429, '{"error": {"message": "Rate limit reached"}}', {"retry-after": "17"})
    raw = error(chunks(family, refusal)).raw
    assert isinstance(raw, dict)
    assert raw["retry_after_s"] == 17


@every_family
def test_a_server_that_is_killed_in_mid_sentence(family: Family) -> None:
    async def scenario(adapter: Adapter, server: ModelServer) -> list[Chunk]:
        found: list[Chunk] = []
        async for raw in adapter.open(ASK):
            if raw.chunk is not None:
                found.append(raw.chunk)
                if raw.chunk.content:
                    await server.shut()
        return found

    found = run(family, scenario, (Say("Half an ans"), Stall()))
    assert text(found) == "Half an ans"
    assert error(found).retryable


@every_family
def test_nobody_behind_the_proxy(family: Family) -> None:
    async def main() -> list[Chunk]:
        async with ModelServer(family.wire()) as server:
            adapter = family.connect(server)
        found = await read(adapter)
        await adapter.aclose()
        return found

    assert error(asyncio.run(main())).retryable


@every_family
def test_eight_at_once(family: Family) -> None:
    async def scenario(adapter: Adapter, _server: ModelServer) -> list[str]:
        return sorted(map(text, await asyncio.gather(*(read(adapter) for _ in range(8)))))

    scripts = [(Say("answer ", str(n)),) for n in range(8)]
    assert run(family, scenario, *scripts) == [f"answer {n}" for n in range(8)]


def test_a_wrong_key() -> None:
    found, requests = _asked(BEHIND[0], Say("Hi"), api_key="sk-of-somebody-else")
    assert (error(found).type, requests) == ("auth", 0)


def test_a_model_that_the_proxy_does_not_have() -> None:
    async def scenario(_adapter: Adapter, server: ModelServer) -> list[Chunk]:
        other = replace(BEHIND[0], model="nonsense").connect(server)
        found = await read(other)
        await other.aclose()
        assert server.requests == []
        return found

    assert error(run(BEHIND[0], scenario)).type == "model_error"


def _asked(family: Family, *script: Step, **settings: Any) -> tuple[list[Chunk], int]:
    """Return the answer, and how many requests it took."""

    async def scenario(adapter: Adapter, server: ModelServer) -> tuple[list[Chunk], int]:
        return await read(adapter), len(server.requests)

    return run(family, scenario, *[script] * 5, **settings)


def test_it_says_what_an_answer_cost() -> None:
    found = chunks(BEHIND[0], Say("Hi"), Count(1000, 100))
    usage = found[-1].usage
    assert usage is not None
    assert usage.cost_dollars is not None
    assert 0 < usage.cost_dollars < 1
