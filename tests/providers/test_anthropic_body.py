"""Requests as Anthropic takes them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from oshaberi.chunks import ThoughtPart, ToolCall
from oshaberi.providers.anthropic.request import DEFAULT_OUTPUT, body
from oshaberi.providers.request.model_request import (
    ContextItem,
    Endpoint,
    FilePart,
    ImagePart,
    Request,
    TextPart,
    Thinking,
    ToolDeclaration,
    ToolResult,
    ToolRound,
    said,
)

HI = said("user", "hi", "current")
ADAPTIVE = {"type": "adaptive", "display": "summarized"}


def _body(request: Request, model: str = "m") -> dict[str, Any]:
    return body(replace(request, cache="off"), Endpoint("anthropic", model))


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


def test_system_and_dialogue() -> None:
    asked = _body(Request((said("system", "A"), said("assistant", "hello"), HI)))
    assert asked["system"] == "A"
    assert asked["messages"] == [
        {"role": "user", "content": [_text("…")]},
        {"role": "assistant", "content": [_text("hello")]},
        {"role": "user", "content": [_text("hi")]},
    ]


def test_roles_alternate_around_tool_rounds() -> None:
    done = ToolRound((ToolCall("now"),), (ToolResult("six"),), "A moment.")
    items = (HI, said("assistant", "Sure."), done, done, said("user", "and?"))
    roles = [message["role"] for message in _body(Request(items))["messages"]]
    assert roles == ["user", "assistant", "user", "assistant", "user"]


def test_tools_and_results() -> None:
    calls = (ToolCall("weather", {"city": "Kyoto"}, "id-1"), ToolCall("now", {}, "id-2"))
    results = (ToolResult("rain"), ToolResult("no clock", is_error=True))
    asked = _body(Request((HI, ToolRound(calls, results)), tools=(ToolDeclaration("now", "Time"),)))
    schema = {"type": "object", "properties": {}}
    assert asked["tools"] == [{"name": "now", "description": "Time", "input_schema": schema}]
    assert asked["messages"][1]["content"] == [
        {"type": "tool_use", "id": "id-1", "name": "weather", "input": {"city": "Kyoto"}},
        {"type": "tool_use", "id": "id-2", "name": "now", "input": {}},
    ]
    assert asked["messages"][2]["content"] == [
        {"type": "tool_result", "tool_use_id": "id-1", "content": "rain"},
        {"type": "tool_result", "tool_use_id": "id-2", "content": "no clock", "is_error": True},
    ]


def test_signed_thoughts_go_back_in_their_places() -> None:
    packed = (
        '[{"type":"thinking","thinking":"one","signature":"s1"},{"type":"text"},'
        '{"type":"redacted_thinking","data":"d"},{"type":"text"}]'
    )
    thoughts = (ThoughtPart("", signature=packed),)
    done = ToolRound((ToolCall("now"),), (ToolResult("6"),), "Look:", thoughts, "anthropic")
    content = _body(Request((HI, done)))["messages"][1]["content"]
    assert content[:3] == [
        {"type": "thinking", "thinking": "one", "signature": "s1"},
        _text("Look:"),
        {"type": "redacted_thinking", "data": "d"},
    ]
    assert [block["type"] for block in content[3:]] == ["tool_use"]


def test_a_signed_round_without_text() -> None:
    thoughts = (ThoughtPart("", signature='[{"type":"thinking","thinking":"","signature":"s"}]'),)
    done = ToolRound((ToolCall("now"),), (ToolResult("6"),), "", thoughts, "anthropic")
    content = _body(Request((HI, done)))["messages"][1]["content"]
    assert [block["type"] for block in content] == ["thinking", "tool_use"]


def test_parts() -> None:
    parts = (
        TextPart("look:"),
        ImagePart(data=b"\x01\x02", mime="image/webp"),
        FilePart("a.pdf", data=b"\x03", mime="application/pdf"),
        FilePart("b.txt", text="inside"),
    )
    (message,) = _body(Request((ContextItem("user", parts),)))["messages"]
    image = {"type": "base64", "media_type": "image/webp", "data": "AQI="}
    paper = {"type": "base64", "media_type": "application/pdf", "data": "Aw=="}
    assert message["content"] == [
        _text("look:"),
        {"type": "image", "source": image},
        {"type": "document", "title": "a.pdf", "source": paper},
        _text("[file b.txt]\ninside\n[end of b.txt]"),
    ]


@pytest.mark.parametrize(
    ("wanted", "thinking", "effort", "longest"),
    [
        (None, None, None, DEFAULT_OUTPUT),
        ("off", {"type": "disabled"}, None, DEFAULT_OUTPUT),
        (0, {"type": "disabled"}, None, DEFAULT_OUTPUT),
        ("low", {"type": "enabled", "budget_tokens": 2048}, None, DEFAULT_OUTPUT + 2048),
        (4000, {"type": "enabled", "budget_tokens": 4000}, None, DEFAULT_OUTPUT + 4000),
        (10, {"type": "enabled", "budget_tokens": 1024}, None, DEFAULT_OUTPUT + 1024),
    ],
)
def test_thinking(wanted: Thinking, thinking: Any, effort: str | None, longest: int) -> None:
    asked = _body(Request((HI,), thinking=wanted))
    assert asked.get("thinking") == thinking
    assert asked.get("output_config", {}).get("effort") == effort
    assert asked["max_tokens"] == longest


@pytest.mark.parametrize(
    ("model", "wanted", "thinking", "effort", "longest"),
    [
        ("claude-haiku-4-5", "high", {"type": "enabled", "budget_tokens": 24_576}, None, 32_768),
        ("claude-opus-4-7", "high", ADAPTIVE, "high", DEFAULT_OUTPUT + 24_576),
        ("claude-opus-4-7", 3000, ADAPTIVE, "medium", DEFAULT_OUTPUT + 3000),
        ("claude-opus-4-7", "off", {"type": "disabled"}, None, DEFAULT_OUTPUT),
        ("claude-opus-4-7", None, None, None, DEFAULT_OUTPUT),
        ("claude-sonnet-5", None, None, None, DEFAULT_OUTPUT + 8192),
        ("claude-sonnet-5-5", "off", {"type": "between_tools"}, None, DEFAULT_OUTPUT),
        ("claude-opus-5-5", "off", None, "low", DEFAULT_OUTPUT + 2048),
        ("claude-fable-5", "low", ADAPTIVE, "low", DEFAULT_OUTPUT + 2048),
        ("claude-3-5-haiku-latest", "high", None, None, 8192),
    ],
)
def test_thinking_of_a_known_model(
    model: str, wanted: Thinking, thinking: Any, effort: str | None, longest: int
) -> None:
    asked = _body(Request((HI,), thinking=wanted, temperature=0.5), model)
    assert asked.get("thinking") == thinking
    assert asked.get("output_config", {}).get("effort") == effort
    assert asked["max_tokens"] == longest


def test_a_budget_fits_into_the_longest_output() -> None:
    asked = _body(Request((HI,), thinking=90_000), "claude-opus-4-1")
    assert asked["max_tokens"] == 32_000
    assert asked["thinking"] == {"type": "enabled", "budget_tokens": 31_999}


@pytest.mark.parametrize(
    ("model", "kept"),
    [
        ("claude-3-5-sonnet-latest", {"temperature", "top_p"}),
        ("claude-sonnet-4-5", {"temperature"}),
        ("claude-sonnet-4-6", {"temperature", "top_p"}),
        ("claude-opus-4-7", set()),
        ("claude-something-new", set()),
    ],
)
def test_sampling_of_a_known_model(model: str, kept: set[str]) -> None:
    asked = _body(Request((HI,), temperature=0.5, top_p=0.9), model)
    assert {"temperature", "top_p"} & set(asked) == kept


def test_options() -> None:
    asked = _body(Request((HI,), stop_strings=("###",), temperature=0.5, top_p=0.9))
    assert (asked["stop_sequences"], asked["temperature"], asked["top_p"]) == (["###"], 0.5, 0.9)
    thinks = _body(Request((HI,), thinking="low", temperature=0.5))
    assert "temperature" not in thinks
    assert not {"stop_sequences", "temperature", "tools", "system"} & set(_body(Request((HI,))))


def test_prefill() -> None:
    last = _body(Request((HI,), prefill="Well, "))["messages"][-1]
    assert last == {"role": "assistant", "content": [_text("Well,")]}
    thinks = _body(Request((HI,), prefill="Well, ", thinking="low"))["messages"][-1]
    assert thinks["role"] == "user"
    refuses = _body(Request((HI,), prefill="Well, "), "claude-opus-4-6")["messages"][-1]
    assert refuses["role"] == "user"
