"""What single events of a Responses stream say, and what a stream that repeats itself says once."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from oshaberi.chunks import Chunk, ThoughtPart, ToolCall, Usage
from oshaberi.providers.error_classification import error_type, provider_error
from oshaberi.providers.openai_responses.events import Repetitions, read
from oshaberi.providers.request.model_request import Request
from oshaberi.providers.wire.chunk_assembler import ChunkAssembler
from oshaberi.providers.wire.errors import StreamError
from oshaberi.providers.wire.sse_decoder import DONE
from oshaberi.providers.wire.steps import (
    CallPiece,
    FinishStep,
    SignedBlock,
    Step,
    TokenCount,
)

Event = dict[str, Any]


def _event(kind: str, **fields: Any) -> Event:
    return {"type": f"response.{kind}", "output_index": 1, "item_id": "x_1", **fields}


def _done(**item: Any) -> Event:
    return {"type": "response.output_item.done", "output_index": 1, "item": {"id": "x_1", **item}}


def _kept(**item: Any) -> SignedBlock:
    """What is kept of a tool that the API runs itself."""
    return SignedBlock("item 1", {"id": "x_1", **item}, optional=True)


def _end(status: str, **fields: Any) -> Event:
    return {"type": f"response.{status}", "response": {"status": status, "output": [], **fields}}


def _thought(text: str, kind: Any = "summary") -> Chunk:
    return Chunk("text", thoughts=(ThoughtPart(text, kind),))


TEXT = Chunk("text", "Hi")
MESSAGE = {"type": "message", "content": [{"type": "output_text", "text": "Hi"}]}
REASONING = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "hm"}],
    "encrypted_content": "gAAA",
    "status": None,
}
CALL = {"type": "function_call", "call_id": "c_1", "name": "f", "arguments": '{"a": 1}'}
USAGE = {
    "input_tokens": 30,
    "input_tokens_details": {"cached_tokens": 20},
    "output_tokens": 12,
    "output_tokens_details": {"reasoning_tokens": 10},
}

CASES: dict[str, tuple[Event, list[Step]]] = {
    "text": (_event("output_text.delta", delta="Hi"), [TEXT]),
    "no text": (_event("output_text.delta", delta=""), []),
    "refusal": (_event("refusal.delta", delta="Hi"), [TEXT]),
    "summary": (_event("reasoning_summary_text.delta", delta="hm"), [_thought("hm")]),
    "reasoning": (_event("reasoning_text.delta", delta="hm"), [_thought("hm", "raw")]),
    "the first part of a summary": (_event("reasoning_summary_part.added", summary_index=0), []),
    "another part of a summary": (
        _event("reasoning_summary_part.added", summary_index=1),
        [_thought("")],
    ),
    "a call begins": (
        {
            "type": "response.output_item.added",
            "output_index": 1,
            "item": {**CALL, "arguments": ""},
        },
        [CallPiece(1, "f", "", "c_1")],
    ),
    "a piece of a call": (
        _event("function_call_arguments.delta", delta='{"a'),
        [CallPiece(1, arguments='{"a', only_continues=True)],
    ),
    "all arguments": (
        _event("function_call_arguments.done", arguments="{}"),
        [CallPiece(1, "", "{}", None, True, True)],
    ),
    "a whole call": (
        _done(**CALL),
        [
            CallPiece(1, "f", '{"a": 1}', "c_1", is_whole=True),
            SignedBlock("item 1", {"type": "function_call"}, optional=True),
        ],
    ),
    "without numbers": (
        {"type": "response.function_call_arguments.delta", "item_id": "x_1", "delta": "{"},
        [CallPiece("x_1", arguments="{", only_continues=True)],
    ),
    "a message": (
        _done(**MESSAGE, phase="commentary"),
        [TEXT, SignedBlock("item 1", {"type": "message", "phase": "commentary"}, optional=True)],
    ),
    "encrypted reasoning": (
        _done(**REASONING),
        [
            _thought("hm"),
            SignedBlock(
                "item 1",
                {
                    "type": "reasoning",
                    "id": "rs_1",
                    "summary": REASONING["summary"],
                    "encrypted_content": "gAAA",
                },
            ),
        ],
    ),
    "reasoning that nobody could send back": (_done(type="reasoning", summary=[]), []),
    "search": (
        _done(type="web_search_call", status="completed", action={"query": "q"}),
        [_kept(type="web_search_call", status="completed", action={"query": "q"})],
    ),
    "a tool of theirs": (
        _done(type="mcp_call", name="f", arguments="{}", output="x"),
        [_kept(type="mcp_call", name="f", arguments="{}", output="x")],
    ),
    "arguments of theirs": (_event("mcp_call_arguments.delta", delta="{"), []),
    "code of theirs": (_event("code_interpreter_call_code.delta", delta="print"), []),
    "custom": (_event("custom_tool_call_input.delta", delta="x"), []),
    "created": ({"type": "response.created", "response": {"status": "in_progress"}}, []),
    "unheard of": ({"type": "response.news"}, []),
    "completed": (_end("completed"), [FinishStep("stop", "tool_calls")]),
    "with tokens": (
        _end("completed", usage=USAGE),
        [FinishStep("stop", "tool_calls"), TokenCount(30, 12, 20)],
    ),
    "too long": (
        _end("incomplete", incomplete_details={"reason": "max_output_tokens"}),
        [FinishStep("length")],
    ),
    "withheld": (
        _end("incomplete", incomplete_details={"reason": "content_filter"}),
        [FinishStep("content_filter")],
    ),
    "a new reason": (
        _end("incomplete", incomplete_details={"reason": "steered"}),
        [FinishStep("steered")],
    ),
    "for no reason": (_end("incomplete", incomplete_details=None), [FinishStep("length")]),
}


@pytest.mark.parametrize("case", CASES)
def test_events(case: str) -> None:
    event, steps = CASES[case]
    assert list(read(event)) == steps


def test_the_end_of_another_format_is_an_end() -> None:
    assert list(read(DONE)) == [FinishStep()]


@pytest.mark.parametrize(
    ("event", "kind", "retryable"),
    [
        (
            {"type": "error", "code": "rate_limit_exceeded", "message": "slow", "param": None},
            "rate_limit",
            True,
        ),
        ({"type": "error", "code": None, "message": "no"}, "api_error", False),
        (
            {"type": "error", "error": {"type": "server_error", "message": "Sorry"}},
            "api_error",
            True,
        ),
        ({"error": {"code": 402, "message": "x"}}, "balance_exhausted", False),
        (_end("failed", error={"code": "server_error", "message": "Sorry"}), "api_error", True),
        (
            _end("failed", error={"code": "invalid_prompt", "message": "It was flagged"}),
            "content_blocked",
            False,
        ),
        (_end("failed", error={"code": "bio_policy", "message": "No"}), "content_blocked", False),
        (_end("failed", error=None), "api_error", True),
        (_end("cancelled"), "api_error", True),
    ],
)
def test_error_events(event: Event, kind: str, retryable: bool) -> None:
    with pytest.raises(StreamError) as caught:
        list(read(event))
    failure = caught.value.failure
    assert error_type(failure) == kind
    assert provider_error(failure, "p", str).retryable is retryable
    assert failure.codes != ("error",)


# -- whole streams -------------------------------------------------------------------------------


def _made(events: Sequence[Event]) -> list[Chunk]:
    repetitions, assembler = Repetitions(), ChunkAssembler("p", Request(()))
    made: list[Chunk] = []
    for event in events:
        made += assembler.take(read(repetitions.read_event(json.dumps(event))))
    return [*made, *assembler.finish()]


def _heard(events: Sequence[Event]) -> tuple[str, str, tuple[ToolCall, ...], str | None]:
    made = _made(events)
    return (
        "".join(chunk.content for chunk in made),
        "".join(part.text for chunk in made for part in chunk.thoughts),
        made[-1].calls,
        made[-1].finish_reason,
    )


def _item(kind: str, name: str, index: int | None, *words: str) -> Iterator[Event]:
    """The events of one item: announced, in pieces, and whole."""
    place: Event = {"output_index": index} if index is not None else {}
    whole = "".join(words)
    in_parts = {
        "message": ("output_text", {"content_index": 0}),
        "reasoning": ("reasoning_summary_text", {"summary_index": 0}),
        "function_call": ("function_call_arguments", {}),
    }
    event, part = in_parts[kind]
    item: Event = {"id": name, "type": kind}
    if kind == "function_call":
        item |= {"name": f"tool-{name}", "call_id": f"call-{name}", "arguments": whole}
    elif kind == "message":
        item["content"] = [{"type": "output_text", "text": whole}]
    else:
        item |= {"summary": [{"type": "summary_text", "text": whole}], "encrypted_content": "E"}
    yield {"type": "response.output_item.added", "item": {"id": name, **_empty(item)}, **place}
    for word in words:
        yield {"type": f"response.{event}.delta", "item_id": name, "delta": word, **place, **part}
    said = {"arguments": whole} if kind == "function_call" else {"text": whole}
    yield {"type": f"response.{event}.done", "item_id": name, **said, **place, **part}
    yield {"type": "response.output_item.done", "item": item, **place}


def _empty(item: Event) -> Event:
    if item["type"] == "function_call":
        return {**item, "arguments": ""}
    return {**item, "content": [], "summary": []}


def _stream(numbered: bool = True) -> list[Event]:
    index = iter(range(10)) if numbered else iter([None] * 10)
    events = [
        *_item("reasoning", "rs_1", next(index), "I ", "think."),
        *_item("message", "msg_1", next(index), "One ", "moment."),
        *_item("function_call", "fc_1", next(index), '{"a"', ": 1}"),
        *_item("function_call", "fc_2", next(index), "{}"),
    ]
    output = [e["item"] for e in events if e["type"] == "response.output_item.done"]
    return [*events, _end("completed", output=output, usage=USAGE)]


EXPECTED = (
    "One moment.",
    "I think.",
    (ToolCall("tool-fc_1", {"a": 1}, "call-fc_1"), ToolCall("tool-fc_2", {}, "call-fc_2")),
    "tool_calls",
)


def _kinds(events: Sequence[Event], *without: str) -> list[Event]:
    return [event for event in events if not event["type"].endswith(without)]


STREAMS: dict[str, list[Event]] = {
    "all of it": _stream(),
    "items without numbers": _stream(numbered=False),
    "only items": [e for e in _stream() if e["type"] == "response.output_item.done"]
    + [_end("completed")],
    "only the end": _stream()[-1:],
    "no pieces": _kinds(_stream(), "delta"),
    "no pieces and no items": [
        event
        for event in _stream()
        if not event["type"].endswith("delta") and "item.done" not in event["type"]
    ],
    "no announcement": _kinds(_stream(), "output_item.added"),
    "an end without output": [*_stream()[:-1], _end("completed", usage=USAGE)],
    "a name of its own in every event": [
        {**event, "item_id": f"{number}"} if "item_id" in event else event
        for number, event in enumerate(_stream())
    ],
    "one number for all calls": [
        {**event, "output_index": 2} if event.get("output_index") == 3 else event
        for event in _stream()
    ],
    "one number for all items": [
        {**event, "output_index": 0} if "output_index" in event else event for event in _stream()
    ],
    "other numbers of parts": [
        {**event, "content_index": 7} if event["type"].endswith("text.done") else event
        for event in _stream()
    ],
}


@pytest.mark.parametrize("stream", STREAMS)
def test_everything_is_said_once(stream: str) -> None:
    assert _heard(STREAMS[stream]) == EXPECTED


def test_a_whole_response_instead_of_a_stream() -> None:
    whole = {"object": "response", **_stream()[-1]["response"]}
    assert _heard([whole]) == EXPECTED
    assert _made([whole])[-1].usage == Usage(30, 12, 20)


def test_parts_that_come_whole_are_all_said() -> None:
    done = [
        _event("output_text.done", content_index=0, text="One. "),
        _event("output_text.done", content_index=1, text="Two."),
        _event("refusal.done", content_index=2, refusal=" No."),
        _end("completed"),
    ]
    assert _heard(done)[0] == "One. Two. No."


def test_two_messages_in_pieces_and_whole() -> None:
    events = [
        *_item("message", "msg_1", 0, "First."),
        *_kinds(list(_item("message", "msg_2", 1, " Second.")), "delta", "text.done"),
        _end("completed"),
    ]
    assert _heard(events)[0] == "First. Second."


def test_a_call_that_was_cut_off_is_not_made() -> None:
    cut = [
        *_item("function_call", "fc_1", 0, "{}"),
        *_item("function_call", "fc_2", 1, '{"a": "lon'),
        _end("incomplete", incomplete_details={"reason": "max_output_tokens"}),
    ]
    _text, _thoughts, calls, finish = _heard(cut)
    assert [call.name for call in calls] == ["tool-fc_1"]
    assert finish == "length"


def test_only_a_call_was_cut_off() -> None:
    cut = [
        *_item("function_call", "fc_1", 0, ""),
        _end("incomplete", incomplete_details={"reason": "max_output_tokens"}),
    ]
    last = _made(cut)[-1]
    assert (last.type, last.calls, last.finish_reason) == ("done", (), "length")


def test_arguments_of_a_call_of_theirs_make_none() -> None:
    events = [
        _event("function_call_arguments.delta", delta='{"never": "announced"}'),
        _end("completed"),
    ]
    assert _heard(events)[2:] == ((), "stop")


def test_what_goes_back_keeps_its_order() -> None:
    (signed,) = _made(_stream())[-1].thoughts
    blocks = json.loads(signed.signature or "")
    assert [block["type"] for block in blocks] == [
        "reasoning",
        "message",
        "function_call",
        "function_call",
    ]
    assert blocks[0]["encrypted_content"] == "E"


def test_without_encrypted_reasoning_nothing_goes_back() -> None:
    events = [*_item("message", "msg_1", 0, "Hi."), *_item("function_call", "fc_1", 1, "{}")]
    assert _made([*events, _end("completed")])[-1].thoughts == ()
