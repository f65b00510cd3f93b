"""Turns with the real database: what they leave in it, and what they find there again."""

from __future__ import annotations

from pathlib import Path

from oshaberi.bot.storage import Database
from oshaberi.bot.storage.records import Fact, KeyRecord, ModelRecord
from oshaberi.bot.turns.services.key_cooldowns import KeyCooldowns
from tests.turns.turn_harness import (
    ALICE,
    CHANNEL,
    SERVER,
    TurnHarness,
    fails,
    run_stored_turns,
    text,
    used,
)


def test_a_turn_leaves_its_traces(tmp_path: Path) -> None:
    async def scenario(harness: TurnHarness, db: Database) -> None:
        await harness.answer("what is new?")
        turn = await db.turns.last(CHANNEL)
        assert turn is not None
        assert turn.message_ids == tuple(p.id for p in harness.turn_channel.channel.posted)
        assert (turn.status, turn.why, turn.persona) == ("completed", "mention", "Tomori")
        (kept,) = await db.memory.recent(CHANNEL, 10)
        assert (kept.asked, kept.answered, kept.details) == ("what is new?", "Nothing.", "bored")
        (usage,) = await db.usage.of(SERVER)
        assert (usage.input_tokens, usage.output_tokens) == (3, 4)
        assert await db.seen.last(CHANNEL) == harness.turn_channel.people[-1].id
        assert await db.journal.unfinished("test") == ()

    script = [text("Nothing.<details>bored</details>"), used(3, 4)]
    run_stored_turns(tmp_path, scenario, script)


def test_memories_are_told(tmp_path: Path) -> None:
    async def scenario(harness: TurnHarness, db: Database) -> None:
        await db.facts.add(Fact(SERVER, "the server likes tea"))
        await db.facts.add(Fact(SERVER, "Alice is left-handed", user_id=ALICE.id))
        await db.facts.add(Fact(SERVER, "Bob's secret", user_id=2))
        await harness.answer()
        told = "\n".join(getattr(item, "text", "") for item in harness.models.requests[0].items)
        assert "the server likes tea" in told
        assert "left-handed" in told
        assert "secret" not in told

    run_stored_turns(tmp_path, scenario)


def test_the_servers_own_chain_and_keys(tmp_path: Path) -> None:
    async def scenario(harness: TurnHarness, db: Database) -> None:
        await db.models.set_chain(SERVER, [ModelRecord(SERVER, "mistral", "own")])
        for secret in ("a", "b"):
            await db.keys.add(KeyRecord(SERVER, "mistral", secret))
        harness.models.play([fails("rate_limit", {"retry_after_s": 600})], model="own")
        await harness.answer()
        assert harness.models.asked == [("own", "a"), ("own", "b")]
        harness.services.models.cooldowns = KeyCooldowns()  # as another process would have it
        await harness.answer()
        assert harness.models.asked[2:] == [("own", "b")]

    run_stored_turns(tmp_path, scenario)


def test_an_alter_of_the_database_answers(tmp_path: Path) -> None:
    async def scenario(harness: TurnHarness, db: Database) -> None:
        assert await harness.answer("hey ren", mention=False) == "trigger"
        assert harness.turn_channel.channel.records[-1]["username"] == "Ren"
        turn = await db.turns.last(CHANNEL)
        assert turn is not None
        assert await harness.channel_turns.why(turn.message_ids[0]) is not None

    run_stored_turns(tmp_path, scenario)


def test_what_is_under_way_stands_in_the_journal(tmp_path: Path) -> None:
    async def scenario(harness: TurnHarness, db: Database) -> None:
        seen: list[tuple[str, ...]] = []
        before = harness.turn_channel.channel.send

        async def watched(*args: object) -> object:
            (stream,) = await db.journal.unfinished("test")
            assert (stream.channel_id, stream.user_id) == (CHANNEL, ALICE.id)
            assert stream.answering_id == harness.turn_channel.people[-1].id
            seen.append(tuple(post.state for post in stream.posts))
            return await before(*args)  # type: ignore[arg-type]

        harness.turn_channel.channel.__dict__["send"] = watched
        await harness.answer()
        assert seen == [("intended",), ("sent", "intended")]

    run_stored_turns(tmp_path, scenario, [text("One.\nTwo.")])
