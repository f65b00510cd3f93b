"""Plug-ins in a turn: its streams use them, and the history keeps what became a file."""

from __future__ import annotations

from dataclasses import replace

from oshaberi.chunks import Chunk, ThoughtPart
from oshaberi.delivery.attachments import DeliveryPlugIns, PersonaMessage
from oshaberi.delivery.sink import File
from tests.turns.turn_harness import TurnHarness, quick, run_turns, text

BLOCK = "```dot\na -> b\n```"


def drawn(code: str) -> list[File]:
    return [File("graph.svg", code.encode(), source=code)] if "->" in code else []


def test_the_source_of_a_file_is_remembered() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer()
        channel = harness.turn_channel.channel
        assert harness.turn_channel.contents == ["Look:", "```dot\nempty\n```"]
        (file,) = [posted.id for posted in channel.posted if posted.post.files]
        posted = [posted.id for posted in channel.posted]
        assert await harness.db.tables.sources(posted) == {file: BLOCK}
        (kept,) = await harness.exchanges()
        assert BLOCK in kept.answered

    answer = text(f"Look:\n{BLOCK}\n```dot\nempty\n```")
    run_turns(scenario, [answer], plug_ins=DeliveryPlugIns(attachments={"dot": drawn}))


def test_thoughts_below_an_answer_are_shown_as_the_display_mode_wants() -> None:
    def plain(message: PersonaMessage) -> PersonaMessage:
        return replace(message, face=None)

    async def scenario(harness: TurnHarness) -> None:
        await harness.answer("ren, are you there?", mention=False)
        posts = [posted.post for posted in harness.turn_channel.channel.posted]
        assert [(post.content, post.face) for post in posts] == [
            ("Yes.", None),
            ("-# 💭 Hm.", None),
        ]

    run_turns(
        scenario,
        [Chunk("text", "Yes.", thoughts=(ThoughtPart("Hm."),))],
        turn={"reasoning_display": "subtext"},
        stream=replace(quick(), display_mode="plain"),
        plug_ins=DeliveryPlugIns(display_modes={"plain": plain}),
    )
