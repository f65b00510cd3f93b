"""Requests as OpenAI-compatible servers take them."""

from __future__ import annotations

from typing import Any

import pytest

from oshaberi.chunks import ThoughtPart, ToolCall
from oshaberi.errors import ConfigError
from oshaberi.providers.openai_chat.request import body
from oshaberi.providers.presets import PRESETS
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


def _body(request: Request, preset: str = "openai", **settings: Any) -> dict[str, Any]:
    known = PRESETS[preset]
    given = {"max_stop_strings": known.max_stop_strings, "quirks": known.quirks, **settings}
    return body(request, Endpoint(preset, "m", **given))


def test_system_items_become_one_text_at_the_beginning() -> None:
    items = (said("system", "A", "persona"), HI, said("system", "B", "memory"))
    assert _body(Request(items))["messages"] == [
        {"role": "system", "content": "A\n\nB"},
        {"role": "user", "content": "hi"},
    ]


def test_neighbours_of_one_role_are_joined() -> None:
    items = (said("user", "a"), said("user", "b"), said("assistant", "  "), said("user", "c"))
    assert _body(Request(items))["messages"] == [{"role": "user", "content": "a\nb\nc"}]


@pytest.mark.parametrize(("preset", "first"), [("openai", "assistant"), ("mistral", "user")])
def test_a_user_begins_where_the_server_demands_it(preset: str, first: str) -> None:
    asked = _body(Request((said("assistant", "hello"), HI)), preset)
    assert asked["messages"][0]["role"] == first
    assert [message["role"] for message in asked["messages"]][-2:] == ["assistant", "user"]


def test_parts() -> None:
    parts = (
        TextPart("look:"),
        ImagePart(data=b"\x01\x02", mime="image/webp"),
        FilePart("a.txt", text="inside"),
        FilePart("b.bin", data=b"x"),
    )
    (message,) = _body(Request((ContextItem("user", parts),)))["messages"]
    assert message["content"] == [
        {"type": "text", "text": "look:"},
        {"type": "image_url", "image_url": {"url": "data:image/webp;base64,AQI="}},
        {"type": "text", "text": "[file a.txt]\ninside\n[end of a.txt]"},
        {"type": "text", "text": "[file b.bin (application/octet-stream), not shown]"},
    ]


def test_tools_and_their_history() -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    calls = (ToolCall("weather", {"city": "京都"}, "id-1"), ToolCall("now", {}))
    done = ToolRound(calls, (ToolResult("rain"), ToolResult("six")), "One moment.")
    asked = _body(Request((HI, done), tools=(ToolDeclaration("weather", "How it is", schema),)))
    function = {"name": "weather", "description": "How it is", "parameters": schema}
    assert asked["tools"] == [{"type": "function", "function": function}]
    call, first, second = asked["messages"][1:]
    assert call["content"] == "One moment."
    assert call["tool_calls"][0]["function"] == {
        "name": "weather",
        "arguments": '{"city": "京都"}',
    }
    ids = [call["id"] for call in call["tool_calls"]]
    assert ids[0] == "id-1"
    assert len(set(ids)) == 2
    assert [first["tool_call_id"], second["tool_call_id"]] == ids
    assert [first["content"], second["content"]] == ["rain", "six"]


def test_signatures_are_messages_fields_again() -> None:
    packed = '[{"reasoning_content":"I see"},{"type":"reasoning.encrypted","index":0,"data":"xyz"}]'
    thoughts = (ThoughtPart("I see"), ThoughtPart("", signature=packed))
    done = ToolRound((ToolCall("now"),), (ToolResult("six"),), "", thoughts, "deepseek")
    call = _body(Request((HI, done)), "deepseek")["messages"][1]
    assert call["reasoning_content"] == "I see"
    assert call["reasoning_details"] == [{"type": "reasoning.encrypted", "index": 0, "data": "xyz"}]
    assert "reasoning_content" not in _body(Request((HI, done)), "openai")["messages"][1]


@pytest.mark.parametrize("signature", ["not ours", "{}", "[1, 2]", ""])
def test_a_foreign_signature_is_no_accident(signature: str) -> None:
    thoughts = (ThoughtPart("", signature=signature),)
    done = ToolRound((ToolCall("now"),), (ToolResult("six"),), "", thoughts, "openai")
    call = _body(Request((HI, done)))["messages"][1]
    assert set(call) == {"role", "content", "tool_calls"}


def test_stop_strings_are_cut_to_what_is_allowed() -> None:
    request = Request(
        (HI,), stop_strings=("###", "###", " \n"), speaker_guard=True, speakers=("Mika", "Ren")
    )
    assert _body(request)["stop"] == ["###", "\nMika:", "\nRen:", "\nAssistant:"]
    assert _body(request, "zai")["stop"] == ["###"]
    assert len(_body(request, "ollama")["stop"]) == 7
    assert "stop" not in _body(Request((HI,)))


@pytest.mark.parametrize(
    ("preset", "wanted", "expected"),
    [
        ("openai", "off", {"reasoning_effort": "none"}),
        ("openai", "medium", {"reasoning_effort": "medium"}),
        ("openai", 3000, {"reasoning_effort": "medium"}),
        ("openai", 90_000, {"reasoning_effort": "high"}),
        ("openai", None, {}),
        ("openrouter", "high", {"reasoning": {"effort": "high"}}),
        ("openrouter", 3000, {"reasoning": {"max_tokens": 3000}}),
        ("openrouter", 0, {"reasoning": {"enabled": False}}),
        ("deepseek", "low", {"thinking": {"type": "enabled"}}),
        ("zai", "off", {"thinking": {"type": "disabled"}}),
        ("vllm", "off", {"chat_template_kwargs": {"enable_thinking": False}}),
        ("nvidia", 1, {"chat_template_kwargs": {"thinking": True, "enable_thinking": True}}),
    ],
)
def test_thinking(preset: str, wanted: Thinking, expected: dict[str, Any]) -> None:
    asked = _body(Request((HI,), thinking=wanted), preset)
    names = {"reasoning_effort", "reasoning", "thinking", "chat_template_kwargs"}
    assert {key: value for key, value in asked.items() if key in names} == expected


@pytest.mark.parametrize("wrong", ["much", -1, True, 1.5])
def test_thinking_is_checked(wrong: Any) -> None:
    with pytest.raises(ConfigError, match=r"thinking: .* is not one of off, low, medium, high"):
        Request((HI,), thinking=wrong)


def test_what_is_extra_goes_as_it_is() -> None:
    asked = _body(Request((HI,), max_output_tokens=5, extra={"seed": 7, "top_k": 3}), "groq")
    assert (asked["max_tokens"], asked["seed"], asked["top_k"]) == (5, 7, 3)
    assert _body(Request((HI,), max_output_tokens=5))["max_completion_tokens"] == 5


def test_prefill_where_it_is_known_to_work() -> None:
    request = Request((HI,), prefill="Well,")
    prefix = {"role": "assistant", "content": "Well,", "prefix": True}
    assert _body(request, "mistral")["messages"][-1] == prefix
    assert _body(request, "openai")["messages"][-1]["role"] == "user"
