"""Another model takes over in mid-loop: what the first one did, as the next one's API takes it."""

from __future__ import annotations

import asyncio
import base64
import re
from typing import Any

import pytest

from discord_stage.model_servers import ModelServer
from discord_stage.model_servers.google_wire import GoogleWire
from oshaberi.chunks import ThoughtPart, ToolCall
from oshaberi.providers.anthropic import request as anthropic
from oshaberi.providers.capabilities import capabilities_of
from oshaberi.providers.openai_chat import request as openai
from oshaberi.providers.presets import PRESETS
from oshaberi.providers.registry import connect
from oshaberi.providers.request.dialogue import for_model
from oshaberi.providers.request.model_request import (
    Endpoint,
    Request,
    ToolDeclaration,
    ToolResult,
    ToolRound,
    said,
)
from tests.providers.adapter_runs import read
from tests.providers.provider_families import KEY

HI = said("user", "hi", "current")
TOOLS = (ToolDeclaration("look"),)
LONG = "call_" + "x" * 60
ODD = "functions.look:0"
THINKING = '[{"type":"thinking","thinking":"private","signature":"s"}]'
GEMINI = '[{"kind":"call","signature":"U0lHTkVE"}]'


def done(provider: str, model: str, signature: str, *ids: str | None) -> ToolRound:
    calls = tuple(ToolCall("look", {"n": n}, id_) for n, id_ in enumerate(ids))
    results = tuple(ToolResult(f"seen {n}") for n in range(len(ids)))
    thoughts = (ThoughtPart("private"), ThoughtPart("", signature=signature))
    return ToolRound(calls, results, "Let me see.", thoughts, provider, model)


def chat(request: Request, preset: str, model: str) -> list[dict[str, Any]]:
    quirks = PRESETS[preset].quirks
    made: list[dict[str, Any]] = openai.body(request, Endpoint(preset, model, quirks=quirks))[
        "messages"
    ]
    return made


def claude(request: Request, model: str) -> dict[str, Any]:
    return anthropic.body(request, Endpoint("anthropic", model))


def gemini(request: Request, model: str) -> list[dict[str, Any]]:
    async def main() -> list[dict[str, Any]]:
        async with ModelServer(GoogleWire()) as server:
            adapter = connect("google", model, api_key=KEY, base_url=server.url)
            await read(adapter, request)
            await adapter.aclose()
            contents: list[dict[str, Any]] = server.requests[0].json["contents"]
            return contents

    return asyncio.run(main())


# -- ids -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("preset", "model", "shape"),
    [
        ("mistral", "mistral-large-latest", "[A-Za-z0-9]{9}"),
        ("ollama", "devstral:24b", "[A-Za-z0-9]{9}"),
        ("openai", "gpt-5.2", ".{1,40}"),
    ],
)
def test_chat_ids_have_the_shape_that_is_wanted(preset: str, model: str, shape: str) -> None:
    rounds = (
        done("anthropic", "claude-opus-4-7", THINKING, LONG, ODD, None),
        done("google", "gemini-3-flash", GEMINI, ODD, "abcDEF123"),
    )
    messages = chat(Request((HI, *rounds), tools=TOOLS), preset, model)
    asked = [call["id"] for m in messages if "tool_calls" in m for call in m["tool_calls"]]
    answered = [m["tool_call_id"] for m in messages if m["role"] == "tool"]
    assert asked == answered
    assert len(set(asked)) == 5
    assert all(re.fullmatch(shape, id_) for id_ in asked)
    assert asked[-1] == "abcDEF123"


def test_the_same_history_has_the_same_ids() -> None:
    request = Request((HI, done("openai", "gpt-5.2", "", LONG, None)), tools=TOOLS)
    assert chat(request, "mistral", "mistral-small") == chat(request, "mistral", "mistral-small")


def test_anthropic_takes_words_alone() -> None:
    rounds = (done("groq", "kimi", "", ODD, LONG), done("groq", "kimi", "", ODD))
    messages = claude(Request((HI, *rounds), tools=TOOLS), "claude-opus-4-7")["messages"]
    blocks = [block for message in messages for block in message["content"]]
    asked = [block["id"] for block in blocks if block["type"] == "tool_use"]
    answered = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
    assert asked == answered
    assert len(set(asked)) == 3
    assert all(re.fullmatch("[A-Za-z0-9_-]{1,64}", id_) for id_ in asked)


# -- signatures and thoughts ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("provider", "model", "kept"),
    [
        ("anthropic", "claude-opus-5-5", True),
        ("anthropic", "claude-sonnet-5", False),
        ("openrouter", "claude-opus-5-5", False),
    ],
)
def test_thinking_blocks_go_back_to_their_model_alone(
    provider: str, model: str, kept: bool
) -> None:
    request = Request((HI, done(provider, model, THINKING, "a")), tools=TOOLS, thinking="low")
    asked = claude(request, "claude-opus-5-5")
    kinds = [block["type"] for block in asked["messages"][1]["content"]]
    assert ("thinking" in kinds) == kept
    assert asked["thinking"]["type"] == "adaptive"
    assert kept or "private" not in str(asked)


@pytest.mark.parametrize(("model", "thinks"), [("claude-sonnet-4-5", True), ("gpt-5.2", False)])
def test_a_model_with_a_budget_does_not_think_in_anothers_loop(model: str, thinks: bool) -> None:
    """It would refuse calls that none of its own thoughts stand before."""
    provider = "anthropic" if thinks else "openai"
    request = Request((HI, done(provider, model, THINKING, "a")), tools=TOOLS, thinking="low")
    assert ("thinking" in claude(request, "claude-sonnet-4-5")) == thinks
    later = Request((HI, done(provider, model, THINKING, "a"), HI), tools=TOOLS, thinking="low")
    assert "thinking" in claude(later, "claude-sonnet-4-5")


@pytest.mark.parametrize(
    ("provider", "made_by", "model", "signatures"),
    [
        ("google", "gemini-3-flash", "gemini-3-flash", ["SIGNED", None]),
        ("google", "gemini-3-pro", "gemini-3-flash", ["skip_thought_signature_validator", None]),
        ("openai", "gpt-5.2", "gemini-3-flash", ["skip_thought_signature_validator", None]),
        ("openai", "gpt-5.2", "gemini-2.5-flash", [None, None]),
    ],
)
def test_gemini_gets_a_placeholder_for_foreign_calls(
    provider: str, made_by: str, model: str, signatures: list[str | None]
) -> None:
    request = Request((HI, done(provider, made_by, GEMINI, "a", "b")), tools=TOOLS)
    _user, asked, answered = gemini(request, model)
    calls = [part for part in asked["parts"] if "functionCall" in part]
    found = [part.get("thoughtSignature") for part in calls]
    assert [None if one is None else base64.b64decode(one).decode() for one in found] == signatures
    own = (provider, made_by) == ("google", model)
    assert all(("id" in part["functionCall"]) == own for part in calls)
    responses = [part["functionResponse"] for part in answered["parts"]]
    assert all(("id" in response) == own for response in responses)


@pytest.mark.parametrize(("preset", "reasoning"), [("deepseek", " "), ("groq", None)])
def test_reasoning_where_it_is_wanted(preset: str, reasoning: str | None) -> None:
    request = Request((HI, done("openai", "gpt-5.2", "", "a")), tools=TOOLS)
    [asked] = [m for m in chat(request, preset, "deepseek-v4-pro") if "tool_calls" in m]
    assert asked.get("reasoning_content") == reasoning


# -- models that lack something ------------------------------------------------------------------


def test_without_tools_the_rounds_are_told() -> None:
    async def main() -> list[dict[str, Any]]:
        from discord_stage.model_servers import OpenAIWire

        async with ModelServer(OpenAIWire()) as server:
            adapter = connect("openai", "gpt-6-astra", api_key=KEY, base_url=server.url)
            await read(adapter, Request((HI, done("google", "g", GEMINI, "a")), tools=TOOLS))
            await adapter.aclose()
            body = server.requests[0].json
            assert "tools" not in body
            messages: list[dict[str, Any]] = body["messages"]
            return messages

    assert asyncio.run(main()) == [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "Let me see."},
        {"role": "user", "content": "[look: seen 0]"},
    ]


def test_parallel_calls_one_after_the_other() -> None:
    """The template of Llama 3 knows no others."""
    request = Request((HI, done("google", "g", GEMINI, "a", "b")), tools=TOOLS)
    ready = for_model(request, capabilities_of("openai", "llama3.1:8b"))
    roles = [message["role"] for message in chat(ready, "ollama", "llama3.1:8b")]
    assert roles == ["user", "assistant", "tool", "assistant", "tool"]
    assert for_model(request, capabilities_of("openai", "qwen3")) == request
