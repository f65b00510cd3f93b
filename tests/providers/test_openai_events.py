"""What single events of OpenAI-compatible servers say, odd ones included."""

from __future__ import annotations

from typing import Any

import pytest

from oshaberi.chunks import Chunk, ThoughtPart
from oshaberi.providers.error_classification import error_type, provider_error
from oshaberi.providers.openai_chat.events import read
from oshaberi.providers.wire.errors import StreamError
from oshaberi.providers.wire.sse_decoder import DONE
from oshaberi.providers.wire.steps import (
    CallPiece,
    FinishStep,
    SignedBlock,
    Step,
    TokenCount,
)


def _delta(delta: Any, finish: str | None = None, **fields: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **fields}


def _thought(text: str, kind: Any = "raw") -> Chunk:
    return Chunk("text", thoughts=(ThoughtPart(text, kind),))


TEXT = Chunk("text", "Hi")
CASES: dict[str, tuple[dict[str, Any], list[Step]]] = {
    "text": (_delta({"content": "Hi"}), [TEXT]),
    "text and role": (_delta({"role": "assistant", "content": "Hi"}), [TEXT]),
    "role alone": (_delta({"role": "assistant", "content": ""}), []),
    "nothing": (_delta({}), []),
    "null": (_delta(None), []),
    "no choices": ({"choices": []}, []),
    "no choices at all": ({"id": "x"}, []),
    "done": (dict(DONE), []),
    "text with nulls": (_delta({"content": "Hi", "reasoning": None, "tool_calls": None}), [TEXT]),
    "text and end": (_delta({"content": "Hi"}, "stop"), [TEXT, FinishStep("stop")]),
    "refusal": (_delta({"content": None, "refusal": "Hi"}), [TEXT]),
    "whole message": (
        {"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]},
        [TEXT, FinishStep("stop")],
    ),
    "reasoning_content": (_delta({"reasoning_content": "hm", "content": None}), [_thought("hm")]),
    "reasoning before text": (_delta({"content": "Hi", "reasoning": "hm"}), [_thought("hm"), TEXT]),
    "summary": (
        _delta({"reasoning_details": [{"type": "reasoning.summary", "summary": "hm", "index": 2}]}),
        [
            _thought("hm", "summary"),
            SignedBlock(
                "reasoning.summary 2",
                {"type": "reasoning.summary", "index": 2},
                {"summary": "hm"},
            ),
        ],
    ),
    "blocks (Mistral)": (
        _delta(
            {
                "content": [
                    {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
                    {"type": "text", "text": "Hi"},
                ]
            }
        ),
        [_thought("hm"), TEXT],
    ),
    "text before calls": (
        _delta({"tool_calls": [{"function": {"name": "f", "arguments": "{}"}}], "content": "Hi"}),
        [TEXT, CallPiece(None, "f", "{}")],
    ),
    "calls without numbers": (
        _delta({"tool_calls": [{"id": "a", "function": {"name": "f"}}, {"id": "b"}]}),
        [CallPiece(None, "f", "", "a"), CallPiece(None, "", "", "b")],
    ),
    "arguments as an object": (
        _delta({"tool_calls": [{"index": 1, "function": {"name": "f", "arguments": {"a": 1}}}]}),
        [CallPiece(1, "f", '{"a": 1}')],
    ),
    "null arguments": (
        _delta({"tool_calls": [{"index": 1, "function": {"name": "f", "arguments": None}}]}),
        [CallPiece(1, "f")],
    ),
    "a second answer": ({"choices": [{"index": 1, "delta": {"content": "No"}}]}, []),
    "the end of a second answer": (
        {
            "choices": [{"index": 1, "delta": {}, "finish_reason": "length"}],
            "usage": {"prompt_tokens": 3, "completion_tokens": 4},
        },
        [TokenCount(3, 4)],
    ),
    "two answers": (
        {
            "choices": [
                {"index": 1, "delta": {"content": "No"}},
                {"index": 0, "delta": {"content": "Hi"}, "finish_reason": None},
            ]
        },
        [TEXT],
    ),
    "usage": (
        {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 4}},
        [TokenCount(3, 4)],
    ),
    "usage (Groq)": (
        _delta({}, "stop", x_groq={"usage": {"prompt_tokens": 3, "completion_tokens": 4}}),
        [FinishStep("stop"), TokenCount(3, 4)],
    ),
    "reason of Z.ai": (_delta({}, "sensitive"), [FinishStep("content_filter")]),
    "old reason": (_delta({}, "function_call"), [FinishStep("tool_calls")]),
    "unknown reason": (_delta({}, "tired"), [FinishStep("tired")]),
}


@pytest.mark.parametrize("case", CASES)
def test_events(case: str) -> None:
    event, steps = CASES[case]
    assert list(read(event)) == steps


def test_the_end_is_an_end() -> None:
    assert list(read(DONE)) == [FinishStep()]


def test_reasoning_is_kept_where_it_is_wanted_back() -> None:
    event = _delta({"reasoning_content": "hm"})
    kept = SignedBlock("reasoning_content", {}, {"reasoning_content": "hm"})
    assert list(read(event, keeps_reasoning=True)) == [_thought("hm"), kept]


@pytest.mark.parametrize(
    ("event", "kind"),
    [
        ({"error": {"message": "slow down", "code": 429}}, "rate_limit"),
        ({"error": {"message": "x", "code": 502}, "choices": []}, "provider_overloaded"),
        (
            _delta({"content": ""}, "error", error={"code": 402, "message": "x"}),
            "balance_exhausted",
        ),
        ({"error": "Insufficient balance"}, "balance_exhausted"),
        ({"error": {"code": 400, "metadata": {"raw": "prompt is too long"}}}, "context_length"),
        ({"error": ["odd"]}, "api_error"),
        (_delta({"content": ""}, "error"), "api_error"),
        (_delta({}, "insufficient_system_resource"), "provider_overloaded"),
        (
            {
                "choices": [
                    {
                        "delta": {"content": ""},
                        "finish_reason": "error",
                        "error": {"code": 429, "message": "x"},
                    }
                ]
            },
            "rate_limit",
        ),
    ],
)
def test_error_events(event: dict[str, Any], kind: str) -> None:
    with pytest.raises(StreamError) as caught:
        read(event)
    assert error_type(caught.value.failure) == kind


@pytest.mark.parametrize("finish", ["error", "insufficient_system_resource"])
def test_an_answer_that_failed_may_succeed_later(finish: str) -> None:
    with pytest.raises(StreamError) as caught:
        read(_delta({"content": ""}, finish))
    assert provider_error(caught.value.failure, "p", str).retryable
