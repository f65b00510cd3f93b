"""What is kept while the database is away: stored once when it is back, and not without a bound."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from oshaberi.bot.storage import Database, SecretVault, StorageError, group_commit, outages
from oshaberi.bot.storage.errors import StorageAwayError
from oshaberi.bot.storage.records import Exchange, TurnRecord, TurnTraces, UsedRequest
from oshaberi.bot.storage.usage import UsageAccount, UsageLimit, UsageTotals

from .database_servers import migrated_postgres_url
from .migrated_database import place_database
from .postgres_proxy import Cut, postgres_proxy
from .scenario_database import KEY, NOON, with_database

BACK_S = 60.0


@pytest.fixture(autouse=True)
def its_return_is_noticed_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outages, "RETRY_SECONDS", 0.05)


@pytest.fixture(autouse=True)
def migrated(tmp_path: Path) -> None:
    place_database(tmp_path / "kept.db")


async def until_stored(db: Database) -> None:
    async with asyncio.timeout(BACK_S):
        while len(db._store.writer) or db._store.writing.is_away:
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("cut", ["before the commit", "after the commit"])
def test_a_commit_without_an_answer_counts_once(cut: Cut) -> None:
    url = migrated_postgres_url()

    async def main() -> None:
        async with (
            postgres_proxy(url) as (proxy, here),
            Database.open(here, SecretVault([KEY])) as db,
        ):
            await db.usage.add(1, "p", "m", 1, 1)
            proxy.cut = cut
            with pytest.raises(StorageAwayError):
                await db.usage.add(1, "p", "m", 1, 1)
            await until_stored(db)
            assert proxy.cuts == 1
            (used,) = await db.usage.of(1)
            assert used.requests == 2

    asyncio.run(main())


def test_the_oldest_entries_are_forgotten_and_that_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(group_commit, "MOST_KEPT", 5)
    file = tmp_path / "kept.db"

    async def main() -> None:
        async with Database.open(f"sqlite:///{file}", SecretVault([KEY])) as db:
            with locked(file):
                for channel in range(20):
                    with pytest.raises(StorageAwayError):
                        await db.seen.note(channel, 1)
            await until_stored(db)
            seen = [channel for channel in range(20) if await db.seen.last(channel)]
            assert seen[-5:] == list(range(15, 20))
            assert len(seen) <= 6, "and the one that was under way"

    with caplog.at_level(logging.ERROR):
        asyncio.run(main())
    assert sum("oldest entries are forgotten" in line for line in caplog.messages) == 1


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """Somebody else's transaction."""
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    try:
        yield
    finally:
        other.execute("ROLLBACK")
        other.close()


def test_a_message_that_is_deleted_meanwhile_is_not_remembered(tmp_path: Path) -> None:
    """Its turn waits to be written, and is written before it is forgotten."""
    turn = TurnRecord(5, 1, 2, 100, "Ren", (101, 102), at=NOON)
    exchange = Exchange(5, 2, "a secret", "I see.", at=NOON)
    other = replace(turn, asked_id=200, message_ids=(201,), at=NOON + timedelta(hours=1))
    kept = replace(exchange, asked="tea?", at=other.at)

    async def scenario(db: Database) -> None:
        with locked(tmp_path / "kept.db"):
            for one, said in ((turn, exchange), (other, kept)):
                failed = await db.keep_turn(TurnTraces(one, said, 9, exchange_days=9))
                assert {type(error) for error in failed.values()} == {StorageAwayError}
            with pytest.raises(StorageAwayError):
                await db.memory.forget_messages(5, [99, 102])
        await until_stored(db)
        assert [one.asked for one in await db.memory.recent(5, 9)] == ["tea?"]
        await db.memory.forget_messages(5, [200])
        assert await db.memory.recent(5, 9) == ()

    with_database(f"sqlite:///{tmp_path}/kept.db", scenario)


def test_a_request_is_counted_for_its_quota_and_in_the_usage(tmp_path: Path) -> None:
    account, day = UsageAccount("operator", 0, "user", 3), NOON.date()
    used = UsedRequest(day, (account,), UsageTotals(1, 10, 20), 1, "p", "m", 10, 20)

    async def scenario(db: Database) -> None:
        with locked(tmp_path / "kept.db"), pytest.raises(StorageAwayError):
            await db.count_usage([used])
        await until_stored(db)
        (usage,) = await db.usage.of(1)
        assert (usage.requests, usage.input_tokens, usage.output_tokens) == (1, 10, 20)
        limit = UsageLimit(account, requests=1)
        assert await db.usage_counts.used_up(day, [limit]) is not None

    with_database(f"sqlite:///{tmp_path}/kept.db", scenario)


def test_what_must_be_done_at_once_is_not_kept(tmp_path: Path) -> None:
    """A command's change is refused, and does not happen later behind somebody's back."""
    file = tmp_path / "kept.db"

    async def main() -> None:
        async with Database.open(f"sqlite:///{file}", SecretVault([KEY])) as db:
            with locked(file):
                with pytest.raises(StorageError, match=r"locked|away"):
                    await db.servers.set_config(1, "language", "de")
                assert await db.servers.config(1) == {}, "reading goes on"
            await until_stored(db)
            assert await db.servers.config(1) == {}
            await db.servers.set_config(1, "language", "de")
            assert await db.servers.config(1) == {"language": "de"}

    asyncio.run(main())


def test_what_cannot_be_stored_at_the_end_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(group_commit, "CLOSE_SECONDS", 0.1)
    file = tmp_path / "kept.db"
    other = sqlite3.connect(file, isolation_level=None)

    async def main() -> None:
        async with Database.open(f"sqlite:///{file}", SecretVault([KEY])) as db:
            other.execute("BEGIN EXCLUSIVE")
            with pytest.raises(StorageAwayError):
                await db.seen.note(1, 1)

    with caplog.at_level(logging.ERROR):
        asyncio.run(main())
    other.close()
    assert "not stored, and lost: 1 entry" in caplog.messages


def test_a_full_disk_is_an_outage_until_there_is_room_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """SQLite may not grow by a page. What needs none could still be written: that is not enough."""
    monkeypatch.setattr(outages, "RETRY_SECONDS", 0.01)
    caplog.set_level(logging.INFO)
    long = Exchange(5, 2, "x" * 100_000, "I see.")

    async def main() -> None:
        async with Database.open(f"sqlite:///{tmp_path / 'full.db'}", SecretVault([KEY])) as db:
            with no_room(db) as probes:
                with pytest.raises(StorageAwayError, match="full"):
                    await db.memory.add(long, keep=5, days=30)
                async with asyncio.timeout(BACK_S):
                    while len(probes) < 3:
                        await asyncio.sleep(0.01)
                assert "full" in (db.problem() or "")
            await until_stored(db)
            [stored] = await db.memory.recent(long.channel_id, 5)
            assert stored.asked == long.asked

    asyncio.run(main())
    assert [one.getMessage() for one in caplog.records if "again" in one.getMessage()] == [
        f"the database {tmp_path / 'full.db'} answers again"
    ]


@contextmanager
def no_room(db: Database) -> Iterator[list[object]]:
    """The file keeps its size inside the block. Yields the transactions that were tried."""
    engines = (db._store.engine.sync_engine, db._store._thread_engine)
    tried: list[object] = []
    most = 1

    def limit(connection: Any, *_more: object) -> None:
        cursor = connection.cursor()
        cursor.execute(f"PRAGMA max_page_count = {most}")  # never less than there are
        cursor.close()
        tried.append(connection)

    for engine in engines:
        event.listen(engine, "checkout", limit)
    try:
        yield tried
    finally:
        most = 1_000_000
