"""The marker of silence in a stream: never shown, and the ledger says what was withheld."""

from __future__ import annotations

import pytest

from oshaberi import TextConfig, TextEngine
from oshaberi.chunks import Chunk
from oshaberi.delivery.ledger import Deliverable
from oshaberi.events import Message, Withheld
from oshaberi.stream import (
    FollowUp,
    RecordingSink,
    ScriptedProvider,
    Silence,
    Step,
    Stop,
    StopRegistry,
    StreamConfig,
    StreamContext,
    StreamResult,
    run_virtual,
    stream_to_sink,
)
from oshaberi.stream.model_output import ModelOutput
from oshaberi.text.silence import SilenceMarkerFilter

MARKERS = ("NO_REPLY", "[silence]")


def fed(text: str) -> tuple[list[Deliverable], ModelOutput]:
    output = ModelOutput(TextEngine(TextConfig()), 1000, silence=SilenceMarkerFilter(MARKERS))
    for sign in text:
        output.feed(sign)
    return [*output.take_ready(), *output.finish()], output


def test_what_is_withheld_is_named() -> None:
    events, _ = fed("Sure, done.\nNO_REPLY (nothing to add)")
    assert [one.text for one in events if isinstance(one, Message)] == ["Sure, done."]
    assert events[-1] == Withheld("NO_REPLY (nothing to add)", "silence")


def test_thoughts_beside_a_reason_stay_thoughts() -> None:
    _, output = fed("NO_REPLY <think>Tired</think>not for me<details>low</details>")
    assert [part.text for part in output.thoughts.parts()] == ["Tired"]
    assert output.details == ["low"]
    assert output.silence is not None
    assert output.silence.reason == "not for me"


def streamed(*pieces: str | Step, degree: int = 1) -> tuple[StreamResult, list[str]]:
    async def main() -> tuple[StreamResult, list[str]]:
        stops, sink = StopRegistry(), RecordingSink()
        steps = [Chunk("text", one) if isinstance(one, str) else one for one in pieces]
        provider = ScriptedProvider(steps, stops=stops, channel="c")
        context = StreamContext(channel="c", stops=stops, silence_markers=MARKERS)
        config = StreamConfig(text=TextConfig(humanizer_degree=degree))
        return await stream_to_sink(provider, None, config, context, sink), sink.contents

    return run_virtual(main())


@pytest.mark.parametrize("degree", range(4))
def test_the_ledger_says_what_was_not_shown(degree: int) -> None:
    result, said = streamed("Sure, done.\nNO_", "REPLY (that", " is all)", degree=degree)
    assert [one.rstrip(".").lower() for one in said] == ["sure, done"]
    fates = {entry.fate: entry.text for entry in result.ledger.entries}
    assert fates["silence"] == "NO_REPLY (that is all)"
    assert (result.ledger.problems(), result.undelivered, result.status) == ([], "", "completed")


@pytest.mark.parametrize("ending", [Stop("7"), FollowUp("7"), Chunk("function_call")])
def test_a_reason_that_is_cut_off_is_not_shown_either(ending: Step) -> None:
    for pieces in (("NO_REPLY: they ta",), ("Sure.\n", Silence(2000), "NO_REPLY (they ta")):
        result, said = streamed(*pieces, Silence(300), ending)
        assert "".join((*said, result.undelivered)) == "Sure."[: 5 * (len(pieces) - 1)]
        assert [one.text for one in result.ledger.entries if one.fate == "silence"] == [pieces[-1]]
        assert result.ledger.problems() == []
