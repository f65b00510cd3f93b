"""One turn: reactions, thoughts, effects after the answer, and what happens when parts fail."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

import pytest

from oshaberi.bot.conversation.messages import ChannelInfo
from oshaberi.bot.storage.errors import StorageError
from oshaberi.bot.storage.records import (
    KeyRecord,
    ModelRecord,
    PersonaRecord,
    SpriteRecord,
    UsageRecord,
)
from oshaberi.bot.storage.repositories.models import key_scope
from oshaberi.chunks import Chunk, ThoughtPart
from oshaberi.delivery.recording_sink import ScriptedFault
from oshaberi.delivery.sink import WebhookFace
from oshaberi.stream.provider_protocol import Silence, Step, Stop
from tests.turns.turn_harness import (
    CHANNEL,
    REN,
    SERVER,
    TOMORI,
    TurnHarness,
    dialogue_of,
    fails,
    quick,
    run_turns,
    spoil,
    text,
    used,
)

THINKING = Chunk("text", thoughts=(ThoughtPart("They greet me. I *greet* back.", "raw"),))
TABLE = "| a | b |\n|---|---|\n| 1 | 2 |\n"


def test_status_reactions() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.hear("hi")
        await asyncio.sleep(1)
        asked = harness.turn_channel.people[-1].id
        assert harness.turn_channel.reactions == [(asked, "👀")]
        await harness.channel_turns.idle()
        assert harness.turn_channel.reactions == [(asked, "👀"), (asked, "✅")]
        assert harness.turn_channel.undone == [(asked, "👀")]

    run_turns(scenario, [Silence(5000), text("Hi.")], turn={"status_reactions": True})


def test_status_reactions_of_a_failure_and_of_a_stop() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer()
        assert [emoji for _, emoji in harness.turn_channel.reactions] == ["👀", "⚠️"]
        await harness.hear("again")
        await asyncio.sleep(1)
        harness.channel_turns.stop(CHANNEL, 1, False)
        await harness.channel_turns.idle()
        assert [emoji for _, emoji in harness.turn_channel.reactions] == ["👀", "⚠️", "👀"]
        assert len(harness.turn_channel.undone) == 2

    run_turns(scenario, [fails("network")], [Silence(60_000)], turn={"status_reactions": True})


def test_no_reactions_by_default() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer()
        assert harness.turn_channel.reactions == []

    run_turns(scenario)


@pytest.mark.parametrize(
    ("display", "shown"),
    [
        ("off", None),
        ("log", None),
        ("subtext", "-# 💭 They greet me. I \\*greet\\* back."),
        ("spoiler", "||💭 They greet me. I \\*greet\\* back.||"),
    ],
)
def test_thoughts_in_the_channel(display: str, shown: str | None) -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer()
        assert harness.turn_channel.contents == (["Hi."] if shown is None else ["Hi.", shown])
        if shown is not None:
            last = harness.turn_channel.channel.posted[-1]
            assert last.post.silent
            assert last.id in (await harness.turns())[-1].message_ids
        assert (await harness.exchanges())[-1].answered == "Hi."
        await harness.answer("and?")
        told = "\n".join(getattr(item, "text", "") for item in harness.models.requests[1].items)
        assert "greet" not in told
        assert "Hi." in told

    run_turns(scenario, [THINKING, text("Hi.")], turn={"reasoning_display": display})


def test_an_alters_thoughts_wear_its_face() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer("ren?", mention=False)
        assert [p.post.face for p in harness.turn_channel.channel.posted] == [
            WebhookFace("Ren", REN.avatar_url),
            WebhookFace("Ren", REN.avatar_url),
        ]

    run_turns(scenario, [THINKING, text("Hi.")], turn={"reasoning_display": "subtext"})


def test_nothing_is_shown_after_a_stop() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.hear("hi")
        await asyncio.sleep(1)
        harness.channel_turns.stop(CHANNEL, 1, False)
        await harness.channel_turns.idle()
        assert harness.turn_channel.contents == ["Hi."]

    script: list[Step] = [THINKING, text("Hi.\n"), Silence(60_000), text("never")]
    run_turns(scenario, script, turn={"reasoning_display": "subtext"})


def test_the_thought_log() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer("ren?", mention=False)
        ((channel, embeds, face),) = harness.turn_channel.thoughts
        assert channel == 77
        assert face == WebhookFace("Ren", REN.avatar_url)
        (embed,) = embeds
        assert embed.title == "💭 Ren thought"
        assert "m (scripted) · 0.0 s · [the answer](https://discord.test/" in embed.description
        assert "They greet me." in embed.description

    run_turns(scenario, [THINKING, text("Hi.")], turn={"thought_log_channel_id": 77})


@pytest.mark.parametrize(
    "turn", [{"reasoning_display": "off"}, {"thought_log_channel_id": CHANNEL}]
)
def test_where_there_is_no_thought_log(turn: dict[str, Any]) -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer()
        assert harness.turn_channel.thoughts == []

    run_turns(scenario, [THINKING, text("Hi.")], turn={"thought_log_channel_id": 77, **turn})


def test_details_and_text_are_remembered_apart() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer("my birthday?")
        (kept,) = await harness.exchanges()
        assert (kept.asked, kept.answered, kept.details, kept.persona) == (
            "my birthday?",
            "Noted.",
            "Alice: 3 May",
            "Tomori",
        )

    run_turns(scenario, [text("Noted.<details>Alice: 3 May</details>")])


def test_no_short_memory() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer()
        assert await harness.exchanges() == []

    run_turns(scenario, turn={"short_memory_size": 0})


def test_sprites_are_kept_with_their_messages() -> None:
    face = SpriteRecord("mad", "https://x.test/mad.png")
    persona = PersonaRecord(SERVER, "Tomori", is_default=True, sprites=(face,))

    async def scenario(harness: TurnHarness) -> None:
        await harness.answer()
        mad = harness.turn_channel.channel.posted[-1]
        posted = [one.id for one in harness.turn_channel.channel.posted]
        assert await harness.db.sprite_messages.labels(posted) == {mad.id: ("Tomori", "mad")}
        await harness.answer("why?")
        told = dialogue_of(harness.models.requests[1])
        assert told[-3:] == ["Hm.", "Tomori (mad): Stop it!", "Alice: why?"]

    run_turns(scenario, [text("Hm.\nTomori (mad): Stop it!")], personas=[persona])


def test_tables_are_kept_with_their_messages() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer()
        (picture,) = [p for p in harness.turn_channel.channel.posted if p.post.files]
        posted = [one.id for one in harness.turn_channel.channel.posted]
        assert await harness.db.tables.sources(posted) == {picture.id: TABLE.strip()}

    run_turns(scenario, [text(f"See:\n{TABLE}\nClear?")])


def test_every_effect_may_fail_without_hurting_the_others() -> None:
    async def scenario(harness: TurnHarness) -> None:
        async def broken(*_args: Any, **_more: Any) -> None:
            raise OSError("disk full")

        await harness.forbid("turns", "sprite_messages", "table_sources", "exchanges")
        spoil(harness.turn_channel, "log_thoughts", broken)
        await harness.answer()
        assert harness.turn_channel.contents == ["Hi."]
        assert harness.turn_channel.embeds == []
        assert await harness.usage() == UsageRecord(SERVER, "scripted", "m", 1, 1, 2)
        await harness.answer()
        assert harness.turn_channel.contents == ["Hi.", "Hm."]

    script = [THINKING, text("Hi."), used(1, 2)]
    run_turns(scenario, script, turn={"thought_log_channel_id": 77})


def test_a_database_that_cannot_be_read_costs_only_the_memory() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.forbid("exchanges", "facts")
        await harness.answer()
        assert harness.turn_channel.contents == ["Hm."]

    run_turns(scenario)


def test_while_the_database_is_away_a_server_without_models_asks_the_operators() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer()

        async def away(*_scope: int) -> Any:
            raise StorageError("the database is malformed")

        spoil(harness.db.models, "chains", away)
        await harness.answer()
        assert harness.turn_channel.contents == ["Hm.", "Hm."]
        assert harness.turn_channel.embeds == []
        # Nobody knows whether it has some.
        harness.services.models._chains.forget(key_scope(SERVER, 0))
        await harness.answer()
        assert harness.turn_channel.embeds == ["Something went wrong here"]

    run_turns(scenario)


def test_while_the_database_is_away_a_server_asks_its_own_models_as_before() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.have_models(
            ModelRecord(SERVER, "mistral", "own"), keys=[KeyRecord(SERVER, "mistral", "a")]
        )
        await harness.answer()

        async def away(*_scope: int) -> Any:
            raise StorageError("the database is away")

        spoil(harness.db.models, "chains", away)
        await harness.answer()
        assert harness.models.asked == [("own", "a"), ("own", "a")]

    run_turns(scenario)


def test_a_fault_of_ours_is_told_without_its_words() -> None:
    async def scenario(harness: TurnHarness) -> None:
        async def broken(_before: int | None, _limit: int) -> ChannelInfo:
            raise RuntimeError("alice's secret")

        spoil(harness.turn_channel, "channel_info", broken)
        await harness.answer()
        assert harness.turn_channel.embeds == ["Something went wrong here"]
        assert "secret" not in str(harness.turn_channel.channel.records)
        assert not harness.channel_turns.is_busy(CHANNEL)

    run_turns(scenario)


def test_what_was_not_delivered_is_kept() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer()
        turn = (await harness.turns())[-1]
        assert turn.status == "stopped_by_user"
        assert turn.undelivered == "Three.\nFour."

    run_turns(scenario, [text("One.\nTwo.\nThree.\nFour.")], stream=quick(send_message_limit=2))


def test_what_went_out_as_a_file_can_be_continued_too() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer()
        turn = (await harness.turns())[-1]
        (rest,) = [file for p in harness.turn_channel.channel.posted for file in p.post.files]
        assert turn.undelivered == rest.source
        assert "5 word" in rest.source

    words = "\n\n".join(f"{number} " + "word " * 380 for number in range(6))
    run_turns(scenario, [text(words)], stream=quick(max_flush_count=4, on_limit="file"))


def test_a_channel_that_refuses_everything() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer()
        assert harness.turn_channel.contents == []
        assert (await harness.turns())[-1].status == "stopped_by_user"
        assert harness.models.asked == [("m", None)]

    faults = [ScriptedFault("send", number, 50013) for number in range(1, 9)]
    run_turns(scenario, turn_channel={"faults": faults})


def test_small_text_files_are_read() -> None:
    from oshaberi.bot.conversation.messages import AttachedFile

    asked: list[str] = []

    async def read(file: AttachedFile) -> str | None:
        asked.append(file.name)
        return None if file.name == "gone.txt" else "milk"

    files = (
        AttachedFile("list.txt", "u1", "text/plain", 10),
        AttachedFile("gone.txt", "u2", "text/plain", 10),
        AttachedFile("huge.txt", "u3", "text/plain", 10**7),
        AttachedFile("song.mp3", "u4", "audio/mpeg", 10),
    )

    async def scenario(harness: TurnHarness) -> None:
        await harness.answer("read", files=files)
        assert asked == ["list.txt", "gone.txt"]
        parts: Any = harness.models.requests[0].items[-1]
        assert [part.name for part in parts.parts if hasattr(part, "name")] == ["list.txt"]

    run_turns(scenario, read_text=read)


def test_witnesses_hear_of_every_stream() -> None:
    class Witness:
        def __init__(self) -> None:
            self.opened_with: list[str] = []
            self.ended_with: list[tuple[str, int]] = []

        def opened(self, provider: Any, _config: Any, context: Any) -> Any:
            self.opened_with.append(context.channel)
            return provider

        def ended(self, context: Any, result: Any) -> None:
            self.ended_with.append((result.status, len(context.response.messages)))

    observer = Witness()

    async def scenario(harness: TurnHarness) -> None:
        await harness.answer()
        assert observer.opened_with == [str(CHANNEL)] * 2
        assert observer.ended_with == [("empty_response", 0), ("completed", 1)]

    run_turns(scenario, [], [text("Hi.")], streams=(observer,))


def test_the_default_persona_replies_and_an_alter_wears_its_face() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer()
        assert harness.turn_channel.channel.records[-1]["reply"] is True
        await harness.answer("ren?", mention=False)
        last = harness.turn_channel.channel.records[-1]
        assert (last["via"], last["username"]) == ("webhook", "Ren")
        assert harness.turn_channel.answering == [101, 103]

    run_turns(scenario, personas=(TOMORI, REN))


REFUSED = [ScriptedFault("send", number, 200000) for number in range(1, 9)]
BROKEN = [ScriptedFault("send", number, "http_503") for number in range(1, 99)]


@pytest.mark.parametrize(
    ("steps", "faults", "reason"),
    [
        ([text("a\nb\nc\nd")], REFUSED, "error: Discord refused with code 200000"),
        ([text("a")], BROKEN, "error: http_503"),
        ([text("a\nb")], REFUSED[:1], "completed, 1 not delivered (200000)"),
        ([text("a")], [ScriptedFault("send", 1, 50013)], "channel_unavailable"),
        ([fails("auth", message="bad key")], [], "error: bad key (auth)"),
        ([Silence(10**9)], [], "timeout"),
        ([], [], "empty_response: the model sent no text"),
    ],
)
def test_an_answer_without_its_text_is_one_warning_with_the_reason(
    steps: Sequence[Step],
    faults: Sequence[ScriptedFault],
    reason: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def scenario(harness: TurnHarness) -> None:
        with caplog.at_level(logging.WARNING, logger="oshaberi.answers"):
            await harness.answer()

    run_turns(scenario, *[steps] * 9, turn_channel={"faults": faults})
    lines = [one.getMessage() for one in caplog.records if one.name == "oshaberi.answers"]
    assert lines == [f"an answer ended without its text: {reason}"]


@pytest.mark.parametrize("steps", [[text("a\nb")], [Silence(100), Stop("1")]])
def test_no_warning_where_nothing_is_missing(
    steps: Sequence[Step], caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(harness: TurnHarness) -> None:
        with caplog.at_level(logging.WARNING, logger="oshaberi"):
            await harness.answer()

    run_turns(scenario, steps)
    assert caplog.records == []


def test_the_reader_is_told_that_discord_refused_the_answer() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer()
        assert harness.turn_channel.contents == []
        assert harness.turn_channel.embeds == ["This answer is not complete"]

    run_turns(scenario, [text("a\nb\nc\nd")], turn_channel={"faults": REFUSED})
