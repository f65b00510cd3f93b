"""One turn: reactions, thoughts, effects after the answer, and what happens when parts fail."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

import pytest

from oshaberi.chunks import Chunk, ThoughtPart
from oshaberi.conversation.conversation_messages import ChannelInfo
from oshaberi.delivery.sink import WebhookFace
from oshaberi.delivery.sinks.scripted_faults import ScriptedFault
from oshaberi.storage.key_scope import key_scope
from oshaberi.storage.storage_errors import StorageError
from oshaberi.storage.stored_records import PersonaRecord, SpriteRecord
from oshaberi.stream.provider_protocol import Silence, Step, Stop
from tests.turns.house import (
    CHANNEL,
    REN,
    SERVER,
    TOMORI,
    House,
    fails,
    play,
    quick,
    spoil,
    text,
    used,
)

THINKING = Chunk("text", thoughts=(ThoughtPart("They greet me. I *greet* back.", "raw"),))
TABLE = "| a | b |\n|---|---|\n| 1 | 2 |\n"


def test_status_reactions() -> None:
    async def scene(house: House) -> None:
        await house.hear("hi")
        await asyncio.sleep(1)
        asked = house.turn_channel.people[-1].id
        assert house.turn_channel.reactions == [(asked, "👀")]
        await house.talks.idle()
        assert house.turn_channel.reactions == [(asked, "👀"), (asked, "✅")]
        assert house.turn_channel.undone == [(asked, "👀")]

    play(scene, [Silence(5000), text("Hi.")], turn={"status_reactions": True})


def test_status_reactions_of_a_failure_and_of_a_stop() -> None:
    async def scene(house: House) -> None:
        await house.answer()
        assert [emoji for _, emoji in house.turn_channel.reactions] == ["👀", "⚠️"]
        await house.hear("again")
        await asyncio.sleep(1)
        house.talks.stop(CHANNEL, 1, False)
        await house.talks.idle()
        assert [emoji for _, emoji in house.turn_channel.reactions] == ["👀", "⚠️", "👀"]
        assert len(house.turn_channel.undone) == 2

    play(scene, [fails("network")], [Silence(60_000)], turn={"status_reactions": True})


def test_no_reactions_by_default() -> None:
    async def scene(house: House) -> None:
        await house.answer()
        assert house.turn_channel.reactions == []

    play(scene)


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
    async def scene(house: House) -> None:
        await house.answer()
        assert house.turn_channel.contents == (["Hi."] if shown is None else ["Hi.", shown])
        if shown is not None:
            last = house.turn_channel.channel.posted[-1]
            assert last.post.silent
            assert last.id in house.store.turns.kept[-1].message_ids
        assert house.store.memory.kept[-1].answered == "Hi."
        await house.answer("and?")
        told = "\n".join(getattr(item, "text", "") for item in house.models.requests[1].items)
        assert "greet" not in told
        assert "Hi." in told

    play(scene, [THINKING, text("Hi.")], turn={"reasoning_display": display})


def test_an_alters_thoughts_wear_its_face() -> None:
    async def scene(house: House) -> None:
        await house.answer("ren?", mention=False)
        assert [p.post.face for p in house.turn_channel.channel.posted] == [
            WebhookFace("Ren", REN.avatar_url),
            WebhookFace("Ren", REN.avatar_url),
        ]

    play(scene, [THINKING, text("Hi.")], turn={"reasoning_display": "subtext"})


def test_nothing_is_shown_after_a_stop() -> None:
    async def scene(house: House) -> None:
        await house.hear("hi")
        await asyncio.sleep(1)
        house.talks.stop(CHANNEL, 1, False)
        await house.talks.idle()
        assert house.turn_channel.contents == ["Hi."]

    script: list[Step] = [THINKING, text("Hi.\n"), Silence(60_000), text("never")]
    play(scene, script, turn={"reasoning_display": "subtext"})


def test_the_thought_log() -> None:
    async def scene(house: House) -> None:
        await house.answer("ren?", mention=False)
        ((channel, embeds, face),) = house.turn_channel.thoughts
        assert channel == 77
        assert face == WebhookFace("Ren", REN.avatar_url)
        (embed,) = embeds
        assert embed.title == "Ren thought"
        assert "m (house) · 0.0 s · [the answer](https://discord.test/" in embed.description
        assert "They greet me." in embed.description

    play(scene, [THINKING, text("Hi.")], turn={"thought_log_channel_id": 77})


@pytest.mark.parametrize(
    "turn", [{"reasoning_display": "off"}, {"thought_log_channel_id": CHANNEL}]
)
def test_where_there_is_no_thought_log(turn: dict[str, Any]) -> None:
    async def scene(house: House) -> None:
        await house.answer()
        assert house.turn_channel.thoughts == []

    play(scene, [THINKING, text("Hi.")], turn={"thought_log_channel_id": 77, **turn})


def test_details_and_text_are_remembered_apart() -> None:
    async def scene(house: House) -> None:
        await house.answer("my birthday?")
        (kept,) = house.store.memory.kept
        assert (kept.asked, kept.answered, kept.details, kept.persona) == (
            "my birthday?",
            "Noted.",
            "Alice: 3 May",
            "Tomori",
        )

    play(scene, [text("Noted.<details>Alice: 3 May</details>")])


def test_no_short_memory() -> None:
    async def scene(house: House) -> None:
        await house.answer()
        assert house.store.memory.kept == []

    play(scene, turn={"short_memory_size": 0})


def test_sprites_are_kept_with_their_messages() -> None:
    face = SpriteRecord("mad", "https://x.test/mad.png")
    persona = PersonaRecord(SERVER, "Tomori", is_default=True, sprites=(face,))

    async def scene(house: House) -> None:
        await house.answer()
        mad = house.turn_channel.channel.posted[-1]
        assert house.store.sprite_messages.kept == {mad.id: ("Tomori", "mad")}
        await house.answer("why?")
        told = [item.text for item in house.models.requests[1].items if hasattr(item, "text")]
        assert told[-3:] == ["Hm.", "Tomori (mad): Stop it!", "Alice: why?"]

    play(scene, [text("Hm.\nTomori (mad): Stop it!")], personas=[persona])


def test_tables_are_kept_with_their_messages() -> None:
    async def scene(house: House) -> None:
        await house.answer()
        (picture,) = [p for p in house.turn_channel.channel.posted if p.post.files]
        assert house.store.tables.kept == {picture.id: TABLE.strip()}

    play(scene, [text(f"See:\n{TABLE}\nClear?")])


def test_every_effect_may_fail_without_hurting_the_others() -> None:
    async def scene(house: House) -> None:
        async def broken(*_args: Any, **_more: Any) -> None:
            raise OSError("disk full")

        for part in (house.store.turns, house.store.sprite_messages, house.store.tables):
            spoil(part, "remember", broken)
        spoil(house.store.memory, "add", broken)
        spoil(house.turn_channel, "log_thoughts", broken)
        await house.answer()
        assert house.turn_channel.contents == ["Hi."]
        assert house.turn_channel.embeds == []
        assert house.store.usage.kept == [(SERVER, "house", "m", 1, 2)]
        await house.answer()
        assert house.turn_channel.contents == ["Hi.", "Hm."]

    script = [THINKING, text("Hi."), used(1, 2)]
    play(scene, script, turn={"thought_log_channel_id": 77})


def test_a_database_that_cannot_be_read_costs_only_the_memory() -> None:
    async def scene(house: House) -> None:
        async def broken(*_args: Any) -> Any:
            raise OSError("disk full")

        spoil(house.store.memory, "recent", broken)
        spoil(house.store.facts, "of", broken)
        await house.answer()
        assert house.turn_channel.contents == ["Hm."]

    play(scene)


def test_while_the_database_is_away_a_server_without_models_asks_the_operators() -> None:
    async def scene(house: House) -> None:
        await house.answer()

        async def away(*_scope: int) -> Any:
            raise StorageError("the database is malformed")

        spoil(house.store.models, "chain", away)
        await house.answer()
        assert house.turn_channel.contents == ["Hm.", "Hm."]
        assert house.turn_channel.embeds == []
        # It had some, and nobody knows which.
        house.services.guests.put(key_scope(SERVER, 0), False)
        await house.answer()
        assert house.turn_channel.embeds == ["Something went wrong here"]

    play(scene)


def test_a_fault_of_ours_is_told_without_its_words() -> None:
    async def scene(house: House) -> None:
        async def broken(_before: int | None, _limit: int) -> ChannelInfo:
            raise RuntimeError("alice's secret")

        spoil(house.turn_channel, "channel_info", broken)
        await house.answer()
        assert house.turn_channel.embeds == ["Something went wrong here"]
        assert "secret" not in str(house.turn_channel.channel.records)
        assert not house.talks.is_busy(CHANNEL)

    play(scene)


def test_what_was_not_delivered_is_kept() -> None:
    async def scene(house: House) -> None:
        await house.answer()
        turn = house.store.turns.kept[-1]
        assert turn.status == "stopped_by_user"
        assert turn.undelivered == "Three.\nFour."

    play(scene, [text("One.\nTwo.\nThree.\nFour.")], stream=quick(send_message_limit=2))


def test_what_went_out_as_a_file_can_be_continued_too() -> None:
    async def scene(house: House) -> None:
        await house.answer()
        turn = house.store.turns.kept[-1]
        (rest,) = [file for p in house.turn_channel.channel.posted for file in p.post.files]
        assert turn.undelivered == rest.source
        assert "5 word" in rest.source

    words = "\n\n".join(f"{number} " + "word " * 380 for number in range(6))
    play(scene, [text(words)], stream=quick(max_flush_count=4, on_limit="file"))


def test_a_channel_that_refuses_everything() -> None:
    async def scene(house: House) -> None:
        await house.answer()
        assert house.turn_channel.contents == []
        assert house.store.turns.kept[-1].status == "stopped_by_user"
        assert house.models.asked == [("m", None)]

    faults = [ScriptedFault("send", number, 50013) for number in range(1, 9)]
    play(scene, turn_channel={"faults": faults})


def test_small_text_files_are_read() -> None:
    from oshaberi.conversation.conversation_messages import AttachedFile

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

    async def scene(house: House) -> None:
        await house.answer("read", files=files)
        assert asked == ["list.txt", "gone.txt"]
        parts: Any = house.models.requests[0].items[-1]
        assert [part.name for part in parts.parts if hasattr(part, "name")] == ["list.txt"]

    play(scene, read_text=read)


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

    async def scene(house: House) -> None:
        await house.answer()
        assert observer.opened_with == [str(CHANNEL)] * 2
        assert observer.ended_with == [("empty_response", 0), ("completed", 1)]

    play(scene, [], [text("Hi.")], observers=(observer,))


def test_the_default_persona_replies_and_an_alter_wears_its_face() -> None:
    async def scene(house: House) -> None:
        await house.answer()
        assert house.turn_channel.channel.records[-1]["reply"] is True
        await house.answer("ren?", mention=False)
        last = house.turn_channel.channel.records[-1]
        assert (last["via"], last["username"]) == ("webhook", "Ren")
        assert house.turn_channel.answering == [101, 103]

    play(scene, personas=(TOMORI, REN))


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
        ([], [], "empty_response"),
    ],
)
def test_an_answer_without_its_text_is_one_warning_with_the_reason(
    steps: Sequence[Step],
    faults: Sequence[ScriptedFault],
    reason: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def scene(house: House) -> None:
        with caplog.at_level(logging.WARNING, logger="oshaberi.turns"):
            await house.answer()

    play(scene, *[steps] * 9, turn_channel={"faults": faults})
    lines = [record.getMessage() for record in caplog.records if record.name.endswith(".turn")]
    assert lines == [f"channel {CHANNEL}: an answer ended without its text: {reason}"]


@pytest.mark.parametrize("steps", [[text("a\nb")], [Silence(100), Stop("1")]])
def test_no_warning_where_nothing_is_missing(
    steps: Sequence[Step], caplog: pytest.LogCaptureFixture
) -> None:
    async def scene(house: House) -> None:
        with caplog.at_level(logging.WARNING, logger="oshaberi"):
            await house.answer()

    play(scene, steps)
    assert caplog.records == []


def test_the_reader_is_told_that_discord_refused_the_answer() -> None:
    async def scene(house: House) -> None:
        await house.answer()
        assert house.turn_channel.contents == []
        assert house.turn_channel.embeds == ["This answer is not complete"]

    play(scene, [text("a\nb\nc\nd")], turn_channel={"faults": REFUSED})
