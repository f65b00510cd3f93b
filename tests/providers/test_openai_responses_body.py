"""Requests as the Responses API takes them; the installed SDK's types are the judge."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from openai.types.responses import ResponseInputItemParam, ToolParam
from pydantic import TypeAdapter

from oshaberi.chunks import ThoughtPart, ToolCall
from oshaberi.providers.openai_responses.request import (
    body,
    without_reasoning_items,
    without_summary,
)
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

ASK = Request((said("system", "Be brief."), said("user", "hi", "current")))
REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"}


def _body(request: Request = ASK, model: str = "gpt-5.1", **settings: Any) -> dict[str, Any]:
    made = body(request, Endpoint("openai", model, **settings))
    items = TypeAdapter[Any](list[ResponseInputItemParam]).validate_python(made["input"])
    assert len(list(items)) == len(made["input"])
    return made


def test_a_plain_request() -> None:
    assert _body() == {
        "model": "gpt-5.1",
        "input": [
            {"type": "message", "role": "system", "content": "Be brief."},
            {"type": "message", "role": "user", "content": "hi"},
        ],
        "stream": True,
        "store": False,
        "include": ["reasoning.encrypted_content"],
    }


@pytest.mark.parametrize(
    ("model", "wanted"),
    [
        ("gpt-5", True),
        ("gpt-5.6-sol", True),
        ("openai/gpt-5-mini", True),
        ("o4-mini", True),
        ("openai.gpt-oss-20b", True),
        ("gpt-5.3-codex", True),
        ("gpt-5-chat-latest", False),
        ("gpt-4o", False),
        ("gpt-4.1-mini", False),
        ("chatgpt-4o-latest", False),
        ("my-deployment", False),
    ],
)
def test_only_models_that_reason_are_asked_for_it(model: str, wanted: bool) -> None:
    assert ("include" in _body(model=model)) is wanted


def test_a_server_may_be_asked_for_it_always() -> None:
    assert "include" in _body(model="grok-4", quirks={"encrypted_reasoning": True})
    assert "include" not in _body(quirks={"encrypted_reasoning": False})


@pytest.mark.parametrize(
    ("model", "thinking", "reasoning"),
    [
        ("gpt-5.1", None, None),
        ("gpt-5.1", "low", {"effort": "low", "summary": "auto"}),
        ("gpt-5.1", 8_000, {"effort": "medium", "summary": "auto"}),
        ("gpt-5.1", "off", {"effort": "none"}),
        ("gpt-5", "off", {"effort": "minimal"}),
        ("gpt-5-mini", 0, {"effort": "minimal"}),
        ("o3", "off", {"effort": "low"}),
    ],
)
def test_thinking(model: str, thinking: Thinking, reasoning: dict[str, str] | None) -> None:
    assert _body(replace(ASK, thinking=thinking), model).get("reasoning") == reasoning


def test_sampling_is_for_answers_without_reasoning() -> None:
    request = replace(ASK, temperature=0.5, top_p=0.9, max_output_tokens=300)
    plain = _body(request, "gpt-4.1")
    assert (plain["temperature"], plain["top_p"], plain["max_output_tokens"]) == (0.5, 0.9, 300)
    both = {"temperature", "top_p"}
    assert both <= _body(request, "gpt-5.1").keys()
    assert not both & _body(replace(request, thinking="low"), "gpt-5.1").keys()
    assert not both & _body(request, "gpt-5").keys()


def test_tools_are_not_strict() -> None:
    tool = ToolDeclaration("look", "Looks.", {"type": "object", "properties": {"at": {}}})
    (made,) = _body(replace(ASK, tools=(tool,)))["tools"]
    TypeAdapter[Any](ToolParam).validate_python(made)
    assert made == {
        "type": "function",
        "name": "look",
        "description": "Looks.",
        "parameters": {"type": "object", "properties": {"at": {}}},
        "strict": False,
    }


def test_there_are_no_stop_strings_and_no_stream_options() -> None:
    request = replace(ASK, stop_strings=("###",), speaker_guard=True, speakers=("Mika",))
    assert not {"stop", "stream_options"} & _body(request).keys()


def test_pictures_and_files() -> None:
    parts = (
        TextPart("See:"),
        ImagePart(data=b"png", mime="image/png"),
        FilePart("a.pdf", data=b"pdf", mime="application/pdf"),
        FilePart("a.txt", text="words"),
    )
    item = ContextItem("user", parts, "current")
    (message,) = _body(Request((item,)))["input"]
    assert message["content"] == [
        {"type": "input_text", "text": "See:"},
        {
            "type": "input_image",
            "image_url": "data:image/png;base64,cG5n",
            "detail": "auto",
        },
        {
            "type": "input_file",
            "filename": "a.pdf",
            "file_data": "data:application/pdf;base64,cGRm",
        },
        {"type": "input_text", "text": "[file a.txt]\nwords\n[end of a.txt]"},
    ]


def _signed(*blocks: dict[str, Any]) -> tuple[ThoughtPart, ...]:
    return (ThoughtPart("", "summary", json.dumps(blocks)),)


def _round(**fields: Any) -> ToolRound:
    calls = (ToolCall("weather", {"city": "Kyōto"}, "c_1"), ToolCall("now", {}))
    results = (ToolResult("rain"), ToolResult("late", is_error=True))
    return ToolRound(calls, results, **{"text": "Let me see.", "provider": "openai", **fields})


CALLS = [
    {
        "type": "function_call",
        "call_id": "c_1",
        "name": "weather",
        "arguments": '{"city": "Kyōto"}',
    },
    {"type": "function_call", "call_id": "e12a7e051", "name": "now", "arguments": "{}"},
]
RESULTS = [
    {"type": "function_call_output", "call_id": "c_1", "output": "rain"},
    {"type": "function_call_output", "call_id": "e12a7e051", "output": "late"},
]
TEXT = {"type": "message", "role": "assistant", "content": "Let me see."}


def test_a_round_without_reasoning() -> None:
    assert _body(Request((_round(),)))["input"] == [TEXT, *CALLS, *RESULTS]


def test_reasoning_goes_back_where_it_was() -> None:
    second = {**REASONING, "id": "rs_2"}
    blocks = (
        REASONING,
        {"type": "message", "phase": "commentary"},
        {"type": "function_call"},
        second,
        {"type": "function_call"},
    )
    done = _round(thoughts=_signed(*blocks))
    assert _body(Request((done,)))["input"] == [
        REASONING,
        {**TEXT, "phase": "commentary"},
        CALLS[0],
        second,
        CALLS[1],
        *RESULTS,
    ]


def test_reasoning_of_another_provider_stays_away() -> None:
    done = _round(thoughts=_signed(REASONING), provider="xai-responses")
    assert _body(Request((done,)))["input"] == [TEXT, *CALLS, *RESULTS]


def test_blocks_of_another_api_under_the_same_name_stay_away() -> None:
    foreign = {"type": "reasoning.text", "text": "hm", "signature": "s"}
    done = _round(thoughts=_signed(foreign, {"reasoning_content": "hm"}))
    assert _body(Request((done,)))["input"] == [TEXT, *CALLS, *RESULTS]


def test_no_message_without_text() -> None:
    done = _round(text="", thoughts=_signed(REASONING, {"type": "message"}))
    assert _body(Request((done,)))["input"] == [REASONING, *CALLS, *RESULTS]


def test_what_a_refusal_takes_away() -> None:
    asked = _body(replace(ASK, items=(_round(thoughts=_signed(REASONING)),), thinking="high"))
    bare = without_reasoning_items(asked)
    assert bare is not None
    assert bare["input"] == [TEXT, *CALLS, *RESULTS]
    assert without_reasoning_items(bare) is None
    silent = without_summary(asked)
    assert silent is not None
    assert silent["reasoning"] == {"effort": "high"}
    assert without_summary(silent) is None


def test_extra_keys_win() -> None:
    made = _body(replace(ASK, extra={"store": True}), quirks={"body": {"user": "u"}})
    assert (made["store"], made["user"]) == (True, "u")
