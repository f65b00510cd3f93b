"""An Anthropic answer that pauses for the API's own tools goes on as one answer."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from oshaberi.chunks import Chunk, Usage
from oshaberi.providers.anthropic.adapter import (
    MOST_KEPT_BYTES,
    MOST_PAUSES,
    AnthropicAdapter,
    KeptBody,
)
from oshaberi.providers.request.model_request import Endpoint
from tests.providers.adapter_runs import error, read, text
from tests.providers.recorded_bodies import PlayedBody

Event = dict[str, Any]


class _Answers(AnthropicAdapter):
    """Answers with one body after the other, and keeps what it was asked."""

    def __init__(self, *bodies: bytes) -> None:
        super().__init__(Endpoint("anthropic", "m", "http://127.0.0.1:9"))
        self.asked: list[Event] = []
        self._bodies = iter(bodies)

    def _creating(self, wanted: Event) -> Any:
        self.asked.append(wanted)
        return PlayedBody([next(self._bodies)])


def _body(*events: Event) -> bytes:
    frames = (f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
    return "".join(frames).encode()


def _answer(reason: str | None, *blocks: list[Event], output: int = 3) -> bytes:
    usage = {"input_tokens": 10, "cache_read_input_tokens": 5, "output_tokens": 1}
    events: list[Event] = [{"type": "message_start", "message": {"content": [], "usage": usage}}]
    for index, (begun, *deltas) in enumerate(blocks):
        events.append({"type": "content_block_start", "index": index, "content_block": begun})
        events += [{"type": "content_block_delta", "index": index, "delta": d} for d in deltas]
        events.append({"type": "content_block_stop", "index": index})
    if reason is not None:
        delta = {"stop_reason": reason}
        events.append({"type": "message_delta", "delta": delta, "usage": {"output_tokens": output}})
        events.append({"type": "message_stop"})
    return _body(*events)


def _text(*pieces: str) -> list[Event]:
    return [{"type": "text", "text": ""}, *({"type": "text_delta", "text": p} for p in pieces)]


SEARCH: list[Event] = [
    {"type": "server_tool_use", "id": "s_1", "name": "web_search", "input": {}},
    {"type": "input_json_delta", "partial_json": '{"query"'},
    {"type": "input_json_delta", "partial_json": ': "x"}'},
]
FOUND: list[Event] = [
    {"type": "web_search_tool_result", "tool_use_id": "s_1", "content": [{"url": "u"}]}
]
THOUGHT: list[Event] = [
    {"type": "thinking", "thinking": "", "signature": ""},
    {"type": "thinking_delta", "thinking": "Hm."},
    {"type": "signature_delta", "signature": "SIG"},
]
CITED: list[Event] = [
    {"type": "text", "text": "", "citations": []},
    {"type": "text_delta", "text": "It is so."},
    {"type": "citations_delta", "citation": {"url": "https://a.test/x y", "title": "An [x]"}},
    {"type": "citations_delta", "citation": {"url": "https://a.test/x y", "title": "Again"}},
]
CALL: list[Event] = [
    {"type": "tool_use", "id": "t_1", "name": "look", "input": {}},
    {"type": "input_json_delta", "partial_json": '{"at": 1}'},
]


def _played(*bodies: bytes) -> tuple[_Answers, list[Chunk]]:
    async def main() -> tuple[_Answers, list[Chunk]]:
        adapter = _Answers(*bodies)
        return adapter, await read(adapter)

    return asyncio.run(main())


def test_it_goes_on() -> None:
    paused = _answer("pause_turn", THOUGHT, _text("Let me ", "look. "), SEARCH, output=7)
    adapter, found = _played(paused, _answer("end_turn", FOUND, CITED))
    assert text(found) == "Let me look. It is so."
    assert found[-1].finish_reason == "stop"
    assert found[-1].links == "\n\n-# [An x](<https://a.test/x%20y>)"
    assert found[-1].usage == Usage(30, 10, 10)
    assert found[-1].calls == ()
    first, second = adapter.asked
    assert second["messages"] == [
        *first["messages"],
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": "SIG"},
                {"type": "text", "text": "Let me look. "},
                {
                    "type": "server_tool_use",
                    "id": "s_1",
                    "name": "web_search",
                    "input": {"query": "x"},
                },
            ],
        },
    ]


def test_it_goes_on_more_than_once_and_calls_a_tool() -> None:
    adapter, found = _played(
        _answer("pause_turn", SEARCH),
        _answer("pause_turn", FOUND, _text("So. ")),
        _answer("tool_use", _text("Now."), CALL),
    )
    assert text(found) == "So. Now."
    assert [(call.name, call.args) for call in found[-1].calls] == [("look", {"at": 1})]
    assert [block["type"] for block in adapter.asked[2]["messages"][-1]["content"]] == [
        "server_tool_use",
        "web_search_tool_result",
        "text",
    ]


def test_it_does_not_go_on_for_ever() -> None:
    adapter, found = _played(*[_answer("pause_turn", _text("On "))] * (MOST_PAUSES + 2))
    assert len(adapter.asked) == MOST_PAUSES + 1
    assert text(found) == "On " * (MOST_PAUSES + 1)
    assert found[-1].finish_reason == "stop"


def test_a_pause_is_no_end() -> None:
    _adapter, found = _played(_answer("pause_turn", _text("On ")), _answer(None, _text("and")))
    assert text(found) == "On and"
    assert error(found).type == "network"


def test_of_a_very_long_answer_only_the_end_is_kept() -> None:
    kept = KeptBody()
    for _ in range(2 * MOST_KEPT_BYTES // 65_536):
        kept.add(b"x" * 65_536)
        assert len(kept.read()) <= MOST_KEPT_BYTES
    kept.add(b"pause_turn")
    assert not kept.is_whole
    assert kept.read().endswith(b"pause_turn")


def test_a_very_long_answer_that_pauses_ends_there() -> None:
    page = {"url": "u", "encrypted_content": "x" * (MOST_KEPT_BYTES // 4)}
    results: list[list[Event]] = [
        [{"type": "web_search_tool_result", "tool_use_id": f"s_{n}", "content": [page]}]
        for n in range(5)
    ]
    adapter, found = _played(_answer("pause_turn", _text("words"), *results))
    assert len(adapter.asked) == 1
    assert found[-1].finish_reason == "stop"
    assert text(found) == "words"
