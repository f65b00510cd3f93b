"""After a user's stop, what leaves ends at a clause; the rest is reported as not delivered."""

from __future__ import annotations

import pytest

from oshaberi.chunks import Chunk
from oshaberi.delivery.config import StreamConfig
from oshaberi.delivery.recording_sink import RecordingSink
from oshaberi.stream.context import StreamContext
from oshaberi.stream.orchestrator import stream_to_sink
from oshaberi.stream.provider_protocol import ScriptedProvider, Silence, Step, Stop
from oshaberi.stream.result import StreamResult
from oshaberi.stream.stops import StopRegistry
from oshaberi.text.config import TextConfig
from oshaberi.virtual_time import run_virtual


def stopped(text: str, delivery: str = "messages") -> tuple[list[str], StreamResult]:
    async def main() -> tuple[list[str], StreamResult]:
        stops, sink = StopRegistry(), RecordingSink()
        steps: list[Step] = [Chunk("text", text), Silence(3000), Stop("77")]
        provider = ScriptedProvider(steps, stops=stops, channel="c")
        config = StreamConfig(text=TextConfig(humanizer_degree=1), delivery=delivery)
        context = StreamContext(channel="c", user="77", stops=stops)
        result = await stream_to_sink(provider, None, config, context, sink)
        return sink.contents, result

    return run_virtual(main())


@pytest.mark.parametrize(
    ("text", "sent", "rest"),
    [
        ("One. Two is", ["One."], "Two is"),
        ("Hello!\nOne. Two! And th", ["Hello!", "One. Two!"], "And th"),
        ("Hello!\nAnd th", ["Hello!"], "And th"),
        ("Steps:\n1. Mix.\n2.", ["Steps:", "1. Mix."], "2."),
        ("One. Two.", ["One. Two."], ""),
        ("no end yet", ["no end yet"], ""),
    ],
)
def test_a_stop_cuts_at_a_clause(text: str, sent: list[str], rest: str) -> None:
    contents, result = stopped(text)
    assert contents == sent
    assert result.undelivered.strip() == rest
    assert result.stop_reason == "user_request"
    assert result.ledger.problems() == []


def test_a_live_message_is_corrected_too() -> None:
    contents, result = stopped("One. Two is", delivery="live")
    assert contents == ["One."]
    assert result.undelivered.strip() == "Two is"
    assert result.ledger.problems() == []
