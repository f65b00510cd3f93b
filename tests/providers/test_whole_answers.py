"""A server that does not stream answers with one JSON document: that is the whole answer."""

from __future__ import annotations

import json
from typing import Any

import pytest

from discord_stage.model_servers.scripts import Status
from oshaberi.chunks import ToolCall, Usage
from tests.providers.adapter_runs import chunks, error, text, thoughts
from tests.providers.provider_families import FAMILIES

CHAT = {
    "object": "chat.completion",
    "choices": [
        {
            "index": 0,
            "message": {
                "role": "assistant",
                "reasoning_content": "Hm.",
                "content": "Hello.",
                "tool_calls": [
                    {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}},
                    {"id": "b", "type": "function", "function": {"name": "f", "arguments": "null"}},
                ],
            },
            "finish_reason": "tool_calls",
        }
    ],
    "usage": {"prompt_tokens": 5, "completion_tokens": 7},
}
RESPONSE = {
    "object": "response",
    "status": "completed",
    "error": None,
    "output": [
        {"id": "rs", "type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]},
        {"id": "m", "type": "message", "content": [{"type": "output_text", "text": "Hello."}]},
        {"id": "1", "type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"},
        {"id": "2", "type": "function_call", "call_id": "b", "name": "f", "arguments": ""},
    ],
    "usage": {"input_tokens": 5, "output_tokens": 7},
}
MESSAGE = {
    "type": "message",
    "role": "assistant",
    "content": [
        {"type": "thinking", "thinking": "Hm.", "signature": "s"},
        {"type": "text", "text": "Hello."},
        {"type": "tool_use", "id": "a", "name": "f", "input": {}},
        {"type": "tool_use", "id": "b", "name": "f", "input": {}},
    ],
    "stop_reason": "tool_use",
    "usage": {"input_tokens": 5, "output_tokens": 7},
}
GEMINI = [
    {"candidates": [{"content": {"parts": [{"text": "Hm.", "thought": True}]}}]},
    {
        "candidates": [
            {
                "content": {
                    "parts": [
                        {"text": "Hello."},
                        {"functionCall": {"name": "f", "id": "a"}},
                        {"functionCall": {"name": "f", "id": "b", "args": {}}},
                    ]
                },
                "finishReason": "STOP",
            }
        ],
        "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 7},
    },
]
WHOLE = {
    "openai": CHAT,
    "openai-responses": RESPONSE,
    "anthropic": MESSAGE,
    "google": GEMINI,
}


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("name", WHOLE)
def test_it_is_read(name: str, indent: int | None) -> None:
    family = next(family for family in FAMILIES if family.name == name)
    found = chunks(family, Status(200, json.dumps(WHOLE[name], indent=indent)))
    assert (text(found), thoughts(found)) == ("Hello.", "Hm.")
    assert found[-1].calls == (ToolCall("f", {}, "a"), ToolCall("f", {}, "b"))
    assert (found[-1].finish_reason, found[-1].usage) == ("tool_calls", Usage(5, 7))


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize(
    "said", [{"error": {"message": "overloaded"}}, {"message": "overloaded"}, ["overloaded"]]
)
def test_anything_else_is_an_error(name: str, said: Any) -> None:
    family = next(family for family in FAMILIES if family.name == name)
    problem = error(chunks(family, Status(200, json.dumps(said))))
    assert (problem.type, problem.retryable) == ("provider_overloaded", True)
