"""How much of the database a turn needs, and what a message needs that is for somebody else."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest

from oshaberi.bot.storage import Database
from tests.storage.counting import counted
from tests.storage.database_servers import migrated_postgres_url
from tests.storage.migrated_database import place_database
from tests.turns.cached_turn_harness import ANSWER, LINES, run_turns_on
from tests.turns.turn_harness import REN, TOMORI, FakeTurnChannel, TurnHarness

AT_ONCE = 20
MANY = 200
MOST = 6
BESIDES_MESSAGES = 5
"""One stores the question, one reads the surroundings, one writes all records. One or two settle
the question and note how far the channel was read."""


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgresql":
        return migrated_postgres_url()
    place_database(tmp_path / "turns.db")
    return f"sqlite:///{tmp_path}/turns.db"


def test_a_turn_alone(database_url: str) -> None:
    async def scenario(harness: TurnHarness, db: Database) -> None:
        harness.models.play(ANSWER)
        with counted() as count:
            await harness.answer("eight lines, please")
            await db.journal.flush()
        assert len(harness.turn_channel.contents) == 1 + LINES
        assert count.transactions <= BESIDES_MESSAGES + LINES, "one for each message"
        assert await db.journal.unfinished("test") == ()

    run_turns_on(database_url, scenario)


def test_many_turns_at_once(database_url: str) -> None:
    async def scenario(harness: TurnHarness, db: Database) -> None:
        harness.models.play(*[ANSWER] * AT_ONCE)
        rooms = [FakeTurnChannel(1000 + n, first_id=10_000 * (n + 1)) for n in range(AT_ONCE)]
        with counted() as count:
            await asyncio.gather(
                *(harness.channel_turns.submit(room.write("eight lines"), room) for room in rooms)
            )
            await harness.channel_turns.idle()
        # On a busy machine waiting lines share messages.
        said = [text.split("\n") for room in rooms for text in room.contents]
        assert sum(map(len, said)) == LINES * AT_ONCE
        assert count.transactions <= MOST * AT_ONCE
        for room in rooms:
            turn = await db.turns.last(room.channel_id)
            assert turn is not None
            assert len(turn.message_ids) == len(room.contents)
            found = await db.turns.of_message(turn.message_ids[-1])
            assert found == turn
        assert await db.journal.unfinished("test") == ()

    run_turns_on(database_url, scenario)


@pytest.mark.slow
def test_under_load_each_message_is_in_the_journal_before_it_leaves(
    database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(harness: TurnHarness, db: Database) -> None:
        harness.models.play(*[ANSWER] * MANY)
        rooms = [FakeTurnChannel(1000 + n, first_id=10_000 * (n + 1)) for n in range(MANY)]
        with counted() as count:
            await asyncio.gather(
                *(harness.channel_turns.submit(room.write("eight"), room) for room in rooms)
            )
            await harness.channel_turns.idle()
        said = [line for room in rooms for text in room.contents for line in text.split("\n")]
        assert len(said) == LINES * MANY
        assert count.transactions <= MOST * MANY
        assert await db.journal.unfinished("test") == ()

    with caplog.at_level(logging.WARNING):
        run_turns_on(database_url, scenario)
    assert [line for line in caplog.messages if "journal" in line or "away" in line] == []


def test_a_message_for_somebody_else_touches_no_database(database_url: str) -> None:
    async def scenario(harness: TurnHarness, _db: Database) -> None:
        with counted() as count:
            for number in range(50):
                assert await harness.hear(f"chatter {number}", mention=False) != "mention"
        assert (count.transactions, count.statements) == (0, [])

    run_turns_on(database_url, scenario)


def test_a_change_holds_at_once(database_url: str) -> None:
    async def scenario(harness: TurnHarness, db: Database) -> None:
        path = harness.turn_channel.path
        assert (await harness.services.settings(path)).turn.blocked_users == ()
        await db.servers.set_config(TOMORI.server_id, "blocked_users", [5])
        assert (await harness.services.settings(path)).turn.blocked_users == (5,)
        await db.personas.delete(TOMORI.server_id, REN.name)
        personas = await harness.channel_turns.persona_cache.of(TOMORI.server_id)
        assert REN.name not in [one.name for one in personas]

    run_turns_on(database_url, scenario)
