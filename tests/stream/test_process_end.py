"""A stream whose process ends: what is finished leaves, half a sentence does not (spec 04)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from oshaberi import TextConfig, TextEngine
from oshaberi.chunks import Chunk, ToolCall
from oshaberi.delivery.recording_sink import RecordingSink
from oshaberi.events import Event, Message, Table, Withheld
from oshaberi.stream import (
    ScriptedProvider,
    Silence,
    StreamConfig,
    StreamContext,
    StreamResult,
    stream_to_sink,
)
from oshaberi.stream.provider_protocol import Step
from oshaberi.virtual_time import run_virtual

LONG = Silence(60_000)


def ended(
    steps: Sequence[Step], after_s: float = 1.0, *, stop: bool = False, **text: Any
) -> tuple[StreamResult, RecordingSink, float]:
    """The process ends after so long; with `stop` somebody stops the answer a moment later."""

    async def main() -> tuple[StreamResult, RecordingSink, float]:
        context, sink = StreamContext(channel="c"), RecordingSink()
        delivery = text.pop("delivery", "messages")
        config = StreamConfig(text=TextConfig(**{"humanizer_degree": 1, **text}), delivery=delivery)
        work = asyncio.create_task(
            stream_to_sink(ScriptedProvider(list(steps)), None, config, context, sink)
        )
        await asyncio.sleep(after_s)
        began = asyncio.get_running_loop().time()
        assert context.stops.request_end("c")
        if stop:
            context.stops.request_stop("c", "77")
        result = await work
        return result, sink, asyncio.get_running_loop().time() - began

    return run_virtual(main())


def said(text: str) -> Chunk:
    return Chunk("text", text)


@pytest.mark.parametrize("degree", [0, 1, 2])
def test_it_ends_with_a_whole_sentence(degree: int) -> None:
    result, sink, took_s = ended(
        [said("First line.\nOne. Two. The quick bro"), LONG, said("wn fox")],
        humanizer_degree=degree,
    )
    assert "\n".join(sink.contents).split() == ["First", "line.", "One.", "Two."]
    assert (result.status, result.stop_reason) == ("interrupted", "system_request")
    assert result.undelivered == ""
    assert took_s < 0.1
    assert result.ledger.problems() == []


def test_half_a_line_is_not_said() -> None:
    result, sink, _ = ended([said("A line\nand then the qui"), LONG])
    assert sink.contents == ["A line"]
    assert result.ledger.sums() == {"delivered": 6, "incomplete_clause": 16}
    assert result.undelivered == ""


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("Look:\n```py\nx = 1\ny = (", "y = ("),
        ("Look:\n| a | b |\n|---|---|\n| 1 | 2 |\n| 3", "| 3"),
        ("Look:\n| a | b |\n|---|---|\n| 3", "| a | b |\n|---|---|\n| 3"),
    ],
)
def test_half_a_line_of_code_and_half_a_row_are_in_the_ledger(text: str, cut: str) -> None:
    result, _, _ = ended([said(text), LONG])
    entries = [entry.text for entry in result.ledger.entries if entry.fate == "incomplete_clause"]
    assert entries == [cut]
    assert result.ledger.problems() == []
    assert result.undelivered == ""


def test_nothing_is_said_if_nothing_was_finished() -> None:
    result, sink, _ = ended([said("The quick bro"), LONG])
    assert sink.contents == []
    assert result.status == "interrupted"


def test_what_waits_leaves_without_simulated_typing() -> None:
    lines = "\n".join(f"This is line number {n} of many." for n in range(12))
    result, sink, took_s = ended([said(f"{lines}\nhalf a"), LONG], humanizer_degree=2)
    assert " ".join(" ".join(sink.contents).split()) == " ".join(lines.split())
    assert took_s < 1
    assert result.status == "interrupted"


def test_an_answer_that_was_complete_is_not_interrupted() -> None:
    lines = "\n".join(f"This is line number {n} of many." for n in range(12))
    result, sink, took_s = ended([said(lines)], humanizer_degree=2)
    assert result.status == "completed"
    assert len(" ".join(sink.contents).split()) == len(lines.split())
    assert took_s < 1


def test_a_call_that_was_made_is_left_to_the_turn() -> None:
    async def main() -> None:
        context, sink = StreamContext(channel="c"), RecordingSink()
        steps = [
            said("I look.\nNow. " * 8),
            Chunk("function_call", calls=(ToolCall("t", {}),)),
        ]
        with context.stops.active("c") as channel:
            work = asyncio.create_task(
                stream_to_sink(ScriptedProvider(steps), None, StreamConfig(), context, sink)
            )
            await asyncio.sleep(0.1)
            context.stops.request_end("c")
            assert (await work).status == "function_call"
            assert channel.pending is not None

    run_virtual(main())


def test_a_stop_by_hand_beats_it() -> None:
    result, sink, _ = ended([said("One.\nTwo. thr"), LONG], stop=True)
    assert (result.status, result.stop_reason) == ("stopped_by_user", "user_request")
    assert sink.contents[0] == "One."


def test_live_text_that_was_not_finished_is_taken_back() -> None:
    result, sink, _ = ended(
        [said("A whole line.\nThen half of a second one that is sho"), LONG],
        after_s=5,
        delivery="live",
    )
    assert sink.contents == ["A whole line."]
    assert result.status == "interrupted"


@pytest.mark.parametrize("degree", [0, 1, 3])
@pytest.mark.parametrize(
    "text",
    [
        "You should ask Dr. ",
        "You should ask Dr.",
        "You should ask (Dr.) ",
        "Take some fruit, e.g. ",
        "Take some fruit, e.g.",
        "2.",
        "2. ",
        "> 2. ",
        "Three steps: 1. ",
        "It costs 3.",
        "It is on page no. ",
        "He lives in the U.S. ",
        "We meet in Dec. ",
        "A book by J. R. R. ",
        "The quick bro",
        "Stop at St. ",
    ],
)
def test_half_a_sentence_is_not_said(text: str, degree: int) -> None:
    result, sink, _ = ended([said(text), LONG], humanizer_degree=degree)
    assert sink.contents == []
    assert result.ledger.problems() == []
    _, sink, _ = ended([said(f"It is so.\n{text}"), LONG], humanizer_degree=degree)
    assert [shown.lower().rstrip(".") for shown in sink.contents] == ["it is so"]


@pytest.mark.parametrize("degree", [0, 1, 3])
@pytest.mark.parametrize(
    "text",
    [
        "Ask the doctor.",
        "Ask the doctor. ",
        "It costs 3. ",
        "Really?",
        "So be it…",
        'He said "no."',
        "(So it is.)",
        "終わりました。",
        "मैं ठीक हूँ।",
    ],
)
def test_a_whole_sentence_is_said(text: str, degree: int) -> None:
    _, sink, _ = ended([said(text), LONG], humanizer_degree=degree)
    assert [shown.lower().rstrip(".。") for shown in sink.contents] == [
        text.strip().lower().rstrip(".。")
    ]


@pytest.mark.parametrize(
    ("text", "whole", "rest"),
    [
        ("A line\nhalf a", "A line", "half a"),
        ("```py\nx = 1\ny = 2\nz = (", "```py\nx = 1\ny = 2\n```", "z = ("),
        ("```py\nx = (", "", "```py\nx = ("),
        ("```x", "", "```x"),
        ("See:\n```py\nx = (", "See:", "```py\nx = ("),
    ],
)
def test_how_much_is_whole(text: str, whole: str, rest: str) -> None:
    events = cut_off(text)
    assert "\n".join(event.text for event in events if isinstance(event, Message)) == whole
    withheld = [event for event in events if isinstance(event, Withheld)]
    assert [(event.text, event.reason) for event in withheld] == [(rest, "incomplete_clause")]


def cut_off(text: str) -> list[Event]:
    engine = TextEngine(TextConfig(humanizer_degree=1))
    return engine.feed(text) + engine.flush("stop", only_whole=True)


def test_a_row_that_may_be_half_is_left_out() -> None:
    table, row = cut_off("| a | b |\n|---|---|\n| 1 | 2 |\n| 3 |")
    assert isinstance(row, Withheld)
    assert row.text == "| 3 |"
    assert isinstance(table, Table)
    assert table.rows == (("1", "2"),)
    assert table.source.endswith("| 1 | 2 |")
    kept = [
        event
        for event in cut_off("Look:\n| a | b |\n|---|---|\n| 3 |")
        if isinstance(event, Message | Table)
    ]
    assert [event.text for event in kept if isinstance(event, Message)] == ["Look:"]
    assert len(kept) == 1


def test_a_table_and_a_block_that_are_complete_stay_whole() -> None:
    (table,) = cut_off("| a | b |\n|---|---|\n| 1 | 2 |\n\n")
    assert isinstance(table, Table)
    assert table.rows == (("1", "2"),)
    (block,) = cut_off("```py\nx = 1\n```")
    assert isinstance(block, Message)
    assert block.text == "```py\nx = 1\n```"
