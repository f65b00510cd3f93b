"""A database that is refused, hangs or is restarted while turns run: they go on, and what they
wanted to store is stored when it is back."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from oshaberi.bot.storage import Database, outages
from tests.storage.database_servers import OwnPostgres
from tests.storage.migrated_database import place_database
from tests.turns.cached_turn_harness import ANSWER, LINES, run_turns_on
from tests.turns.turn_harness import CHANNEL, SERVER, FakeTurnChannel, TurnHarness

ANSWER_S = 60.0
"""As long as an answer may take on a busy machine. How often it waits in vain is counted."""
BACK_S = 60.0
MANY = 20

Outage = Callable[[], AbstractContextManager[None]]


@pytest.fixture(autouse=True)
def its_return_is_noticed_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outages, "RETRY_SECONDS", 0.05)


@pytest.fixture(scope="module")
def postgres() -> Iterator[OwnPostgres]:
    server = OwnPostgres()
    yield server
    server.stop()


def frozen(server: OwnPostgres) -> Outage:
    @contextmanager
    def outage() -> Iterator[None]:
        server.freeze()
        try:
            yield
        finally:
            server.thaw()

    return outage


def refused(server: OwnPostgres) -> Outage:
    @contextmanager
    def outage() -> Iterator[None]:
        server.stop()
        try:
            yield
        finally:
            server.start()

    return outage


def locked(file: Path) -> Outage:
    """Somebody else's transaction."""

    @contextmanager
    def outage() -> Iterator[None]:
        other = sqlite3.connect(file, isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")
        try:
            yield
        finally:
            other.execute("ROLLBACK")
            other.close()

    return outage


@pytest.fixture(params=["PostgreSQL hangs", "PostgreSQL is refused", "SQLite is locked"])
def outage(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Outage]:
    if request.param == "SQLite is locked":
        place_database(tmp_path / "turns.db")
        return f"sqlite:///{tmp_path}/turns.db", locked(tmp_path / "turns.db")
    server: OwnPostgres = request.getfixturevalue("postgres")
    made = frozen if request.param == "PostgreSQL hangs" else refused
    return server.url(), made(server)


def said(room: FakeTurnChannel) -> list[str]:
    """What waits for long is sent in one message."""
    return [line for content in room.contents for line in content.split("\n")]


def silences(db: Database) -> list[str]:
    """A list of the times that somebody waited for this database in vain, from now on."""
    found: list[str] = []
    for breaker in (db._store.reading, db._store.writing):
        breaker.meter.on_fault = lambda kind: found.append(kind) if kind == "silent" else None
    return found


async def until_stored(db: Database) -> None:
    async with asyncio.timeout(BACK_S):
        while len(db._store.writer) or db._store.writing.is_away:
            await asyncio.sleep(0.05)


def test_answers_go_on_and_what_they_leave_is_made_good(
    outage: tuple[str, Outage], caplog: pytest.LogCaptureFixture
) -> None:
    url, away = outage

    async def scenario(harness: TurnHarness, db: Database) -> None:
        harness.models.play(ANSWER, ANSWER)
        waited = silences(db)
        with away():
            async with asyncio.timeout(ANSWER_S):
                await harness.answer("first")
                await harness.answer("second")
            assert len(waited) <= 1, "nobody waits twice"
            assert said(harness.turn_channel)[1:] == [f"Line {n}." for n in range(LINES)] * 2
        await until_stored(db)
        turns = await db.turns.newest(CHANNEL, 5)
        assert len(turns) == 3
        ids = [number for turn in reversed(turns) for number in turn.message_ids]
        assert ids == [one.id for one in harness.turn_channel.channel.posted]
        remembered = [one.asked for one in await db.memory.recent(CHANNEL, 5)]
        assert remembered == ["hi", "first", "second"]
        (usage,) = await db.usage.of(SERVER)
        assert usage.requests == 3, "each is counted once"
        assert await db.seen.last(CHANNEL) == harness.turn_channel.people[-1].id
        assert await db.journal.unfinished("test") == ()
        async with asyncio.timeout(ANSWER_S):
            await harness.answer("third")

    with caplog.at_level(logging.ERROR):
        run_turns_on(url, scenario)
    told = [line for line in caplog.messages if "is away" in line and "answers go on" in line]
    assert len(told) == 1, caplog.messages
    assert not [one for one in caplog.records if one.exc_info], "no tracebacks"


def test_many_turns_under_way_when_it_stops(outage: tuple[str, Outage]) -> None:
    """Each message is delivered once, each turn recorded once, whatever was under way."""
    url, away = outage

    async def scenario(harness: TurnHarness, db: Database) -> None:
        harness.models.play(*[ANSWER] * MANY)
        rooms = [FakeTurnChannel(1000 + n, first_id=10_000 * (n + 1)) for n in range(MANY)]
        asking = [harness.channel_turns.submit(room.write("eight lines"), room) for room in rooms]
        await asyncio.gather(*asking)
        while sum(len(room.contents) for room in rooms) < MANY:
            await asyncio.sleep(0)
        with away():
            await harness.channel_turns.idle()
            assert [len(said(room)) for room in rooms] == [LINES] * MANY
        await until_stored(db)
        for room in rooms:
            (turn,) = await db.turns.newest(room.channel_id, 5)
            assert list(turn.message_ids) == [one.id for one in room.channel.posted]
        (usage,) = await db.usage.of(SERVER)
        assert usage.requests == 1 + MANY
        assert await db.journal.unfinished("test") == ()

    run_turns_on(url, scenario)


def test_a_restart_is_hardly_noticed(postgres: OwnPostgres) -> None:
    async def scenario(harness: TurnHarness, db: Database) -> None:
        harness.models.play(ANSWER)
        postgres.stop()
        await asyncio.to_thread(postgres.start)
        waited = silences(db)
        async with asyncio.timeout(ANSWER_S):
            await harness.answer("first")
        assert len(waited) <= 1
        assert len(said(harness.turn_channel)) == 1 + LINES
        await until_stored(db)
        assert len(await db.turns.newest(CHANNEL, 5)) == 2
        assert await db.journal.unfinished("test") == ()

    run_turns_on(postgres.url(), scenario)
