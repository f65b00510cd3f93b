"""What single events of Anthropic's stream say, odd ones included."""

from __future__ import annotations

from typing import Any

import pytest

from oshaberi.chunks import Chunk, ThoughtPart
from oshaberi.providers.anthropic.events import read
from oshaberi.providers.anthropic.request import INPUT_PIECES
from oshaberi.providers.error_classification import error_type
from oshaberi.providers.wire.errors import StreamError
from oshaberi.providers.wire.sse_decoder import DONE
from oshaberi.providers.wire.steps import (
    CallPiece,
    CitedPage,
    FinishStep,
    SignedBlock,
    Step,
    TokenCount,
)


def _delta(**delta: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": 2, "delta": delta}


def _start(**block: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": 2, "content_block": block}


def _own(**block: Any) -> SignedBlock:
    """What is kept of a tool that the API runs itself."""
    return SignedBlock("own 2", block, droppable=True)


THOUGHT = Chunk("text", thoughts=(ThoughtPart("hm", "summary"),))
CACHED = {
    "input_tokens": 5,
    "cache_read_input_tokens": 7,
    "cache_creation_input_tokens": None,
    "output_tokens": 1,
}
CASES: dict[str, tuple[dict[str, Any], list[Step]]] = {
    "text": (_delta(type="text_delta", text="Hi"), [Chunk("text", "Hi")]),
    "no text": (_delta(type="text_delta", text=""), []),
    "thought": (
        _delta(type="thinking_delta", thinking="hm"),
        [THOUGHT, SignedBlock(2, {}, {"thinking": "hm"})],
    ),
    "signature": (
        _delta(type="signature_delta", signature="s"),
        [SignedBlock(2, {}, {"signature": "s"})],
    ),
    "a piece of a call": (
        _delta(type="input_json_delta", partial_json='{"a'),
        [
            CallPiece(2, arguments='{"a', only_continues=True),
            SignedBlock("own 2", {}, {INPUT_PIECES: '{"a'}, only_continues=True, droppable=True),
        ],
    ),
    "a citation": (
        _delta(
            type="citations_delta",
            citation={
                "type": "web_search_result_location",
                "url": "https://a.test/x",
                "title": "X",
                "cited_text": "so",
            },
        ),
        [CitedPage("https://a.test/x", "X")],
    ),
    "a citation of a document": (
        _delta(type="citations_delta", citation={"type": "char_location", "document_index": 0}),
        [],
    ),
    "a tool of the API": (
        _start(type="server_tool_use", id="s", name="web_search", input={}),
        [_own(type="server_tool_use", id="s", name="web_search", input={})],
    ),
    "a tool of an MCP server": (
        _start(type="mcp_tool_use", id="m", name="look", server_name="x", input={}),
        [_own(type="mcp_tool_use", id="m", name="look", server_name="x", input={})],
    ),
    "what its tool found": (
        _start(type="web_search_tool_result", tool_use_id="s", content=[{"url": "https://a.test"}]),
        [_own(type="web_search_tool_result", tool_use_id="s", content=[{"url": "https://a.test"}])],
    ),
    "calls at the beginning": (
        {
            "type": "message_start",
            "message": {
                "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}}],
                "stop_reason": "tool_use",
                "usage": {"input_tokens": 5, "output_tokens": 0},
            },
        },
        [
            CallPiece("whole 0", "f", '{"a": 1}', "t"),
            SignedBlock("whole 0", {"type": "tool_use"}, optional=True),
            FinishStep("tool_calls"),
            TokenCount(5, 0),
        ],
    ),
    "a whole message": (
        {
            "type": "message",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {
                    "type": "text",
                    "text": "Hi",
                    "citations": [{"url": "https://a.test", "title": None}],
                },
            ],
            "stop_reason": "end_turn",
            "usage": {"input_tokens": 5, "output_tokens": 1},
        },
        [
            THOUGHT,
            SignedBlock("whole 0", {"type": "thinking"}, {"thinking": "hm", "signature": "s"}),
            SignedBlock("whole 1", {"type": "text"}, optional=True),
            Chunk("text", "Hi"),
            CitedPage("https://a.test"),
            FinishStep("stop"),
            TokenCount(5, 1),
        ],
    ),
    "something new": (_delta(type="smell_delta", smell="roses"), []),
    "text begins": (
        _start(type="text", text=""),
        [SignedBlock(2, {"type": "text"}, optional=True)],
    ),
    "text begins at once": (
        _start(type="text", text="Hi"),
        [SignedBlock(2, {"type": "text"}, optional=True), Chunk("text", "Hi")],
    ),
    "thinking begins": (
        _start(type="thinking", thinking="", signature=""),
        [SignedBlock(2, {"type": "thinking"}, {"thinking": "", "signature": ""})],
    ),
    "redacted": (
        _start(type="redacted_thinking", data="d"),
        [SignedBlock(2, {"type": "redacted_thinking", "data": "d"})],
    ),
    "a call begins": (
        _start(type="tool_use", id="t", name="f", input={}),
        [CallPiece(2, "f", "", "t"), SignedBlock(2, {"type": "tool_use"}, optional=True)],
    ),
    "a whole call": (
        _start(type="tool_use", id="t", name="f", input={"a": 1}, caller={"type": "direct"}),
        [CallPiece(2, "f", '{"a": 1}', "t"), SignedBlock(2, {"type": "tool_use"}, optional=True)],
    ),
    "a call by the API's own code": (
        _start(type="tool_use", id="t", name="f", input={}, caller={"type": "code", "id": "s"}),
        [
            CallPiece(2, "f", "", "t"),
            SignedBlock(2, {"type": "tool_use", "caller": {"type": "code", "id": "s"}}),
        ],
    ),
    "a new kind of block": (_start(type="song"), [_own(type="song")]),
    "stop": ({"type": "content_block_stop", "index": 2}, []),
    "ping": ({"type": "ping"}, []),
    "unheard of": ({"type": "news"}, []),
    "tokens": ({"type": "message_start", "message": {"usage": CACHED}}, [TokenCount(12, 1, 7)]),
    "end": (
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {}},
        [FinishStep("tool_calls")],
    ),
    "later tokens": (
        {"type": "message_delta", "delta": {}, "usage": {"output_tokens": 9}},
        [TokenCount(None, 9)],
    ),
    "a new reason": (
        {"type": "message_delta", "delta": {"stop_reason": "tired"}},
        [FinishStep("tired")],
    ),
    "message stop": ({"type": "message_stop"}, [FinishStep()]),
}


@pytest.mark.parametrize("case", CASES)
def test_events(case: str) -> None:
    event, steps = CASES[case]
    assert list(read(event)) == steps


def test_the_end_of_another_format_is_an_end() -> None:
    assert list(read(DONE)) == [FinishStep()]


def test_an_error_without_a_type() -> None:
    with pytest.raises(StreamError, match="too much"):
        read({"error": {"message": "too much"}})


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"type": "overloaded_error", "message": "Overloaded"}, "provider_overloaded"),
        ({"type": "rate_limit_error", "message": "slow"}, "rate_limit"),
        ({"type": "api_error", "message": "Internal server error"}, "api_error"),
    ],
)
def test_error_events(error: dict[str, str], kind: str) -> None:
    with pytest.raises(StreamError) as caught:
        read({"type": "error", "error": error})
    assert error_type(caught.value.failure) == kind
