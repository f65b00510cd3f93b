"""A large chunk is fed in slices: a stop between two of them loses nothing and cuts no word."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

from oshaberi.chunks import Chunk, ToolCall
from oshaberi.delivery.recording_sink import RecordingSink
from oshaberi.stream import (
    ScriptedProvider,
    Silence,
    StopRegistry,
    StreamConfig,
    StreamContext,
    StreamResult,
    stream_to_sink,
)
from oshaberi.text.config import TextConfig
from oshaberi.virtual_time import run_virtual

from .scripted_streams import CHANNEL

WORDS = [f"w{number}" for number in range(9000)]
TEXT = "\n".join(" ".join(WORDS[at : at + 10]) for at in range(0, len(WORDS), 10))
WHOLE = Chunk("text", TEXT)
WITH_A_CALL = Chunk("function_call", TEXT, calls=(ToolCall("look"),))


def _stopped_while_fed(
    chunk: Chunk, degree: int, *, follow_up: bool = False, **settings: Any
) -> tuple[StreamResult, list[str]]:
    async def main() -> tuple[StreamResult, list[str]]:
        stops, sink = StopRegistry(), RecordingSink()
        ask = stops.request_follow_up if follow_up else stops.request_stop

        def soon(what: str) -> None:
            if what == "chunk":
                asyncio.get_running_loop().call_soon(ask, CHANNEL, "1")

        config = StreamConfig(text=TextConfig(humanizer_degree=degree), **settings)
        context = StreamContext(channel=CHANNEL, stops=stops, progress=soon)
        provider = ScriptedProvider([chunk, Silence(1000)])
        result = await stream_to_sink(provider, None, config, context, sink)
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return result, sink.contents

    return run_virtual(main())


@pytest.mark.parametrize("degree", [0, 1, 2])
@pytest.mark.parametrize("chunk", [WHOLE, WITH_A_CALL], ids=["text", "call"])
def test_what_was_not_fed_is_reported(chunk: Chunk, degree: int) -> None:
    result, sent = _stopped_while_fed(chunk, degree)
    assert result.status == "stopped_by_user"
    assert result.ledger.problems() == []
    assert len(sent) <= 1
    assert re.findall(r"w\d+", " ".join([*sent, result.undelivered])) == WORDS


def test_nothing_leaves_when_the_user_writes_again() -> None:
    result, sent = _stopped_while_fed(WHOLE, 0, follow_up=True)
    assert result.status == "follow_up_interrupt"
    assert sent == []
    assert re.findall(r"w\d+", result.undelivered) == WORDS


def test_text_for_the_history_is_complete() -> None:
    result, sent = _stopped_while_fed(WHOLE, 1, suppress_text_output=True)
    assert sent == []
    assert re.findall(r"w\d+", result.accumulated_text) == WORDS
    assert result.undelivered == ""
