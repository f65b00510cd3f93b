"""PostgreSQL behind PgBouncer in transaction mode: no statement stays on a shared connection."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from oshaberi.bot.storage import Database, SecretVault, StorageError
from oshaberi.bot.storage.records import Fact, JournalledPost, JournalledStream, PersonaRecord

from .database_servers import postgres_url
from .pgbouncer_server import CONNECTIONS, pgbouncer
from .scenario_database import KEY, NOON, ask, with_database

TASKS = 20
"""More than PgBouncer has connections to the server."""


@pytest.fixture
def direct_url() -> str:
    return postgres_url()


@pytest.fixture
def pooled_url(direct_url: str) -> Iterator[str]:
    with pgbouncer(direct_url) as url:
        yield url


async def work(db: Database, number: int) -> None:
    """Readings, writings in one transaction and grouped ones, one after the other."""
    key = f"k{number}"
    db.journal.queue_begin(JournalledStream(key, "one", 1, number, 3, began=NOON))
    for message in range(3):
        await db.journal.intend(key, JournalledPost(f"{key}-{message}", message, {"content": "x"}))
        await db.facts.add(Fact(number, f"fact {message}"))
        await db.servers.set_config(number, "language", "de")
        assert await db.servers.config(number) == {"language": "de"}
    assert len(await db.facts.of(number, None)) == 3


def test_many_tasks_share_few_connections(direct_url: str, pooled_url: str) -> None:
    async def scenario(db: Database) -> None:
        await asyncio.gather(*(work(db, number) for number in range(TASKS)))
        assert len(await db.journal.unfinished("one")) == TASKS

    with_database(pooled_url, scenario)
    assert ask(direct_url, "SELECT count(*) FROM facts") == [(3 * TASKS,)]
    ours = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
    ((connections,),) = ask(direct_url, f"{ours} AND pid <> pg_backend_pid()")
    assert connections <= CONNECTIONS


def test_two_processes_behind_it_hear_of_changes_soon(pooled_url: str) -> None:
    """LISTEN needs a connection of its own: what is cached is believed for a short time only."""

    async def main() -> None:
        async with (
            Database.open(pooled_url, SecretVault([KEY])) as one,
            Database.open(pooled_url, SecretVault([KEY])) as other,
            one.listening(),
            other.listening(),
        ):
            assert other.changes.fresh_s is not None
            await one.personas.save(PersonaRecord(1, "Ren"))
            assert [persona.name for persona in await other.personas.of(1)] == ["Ren"]

    asyncio.run(main())


def test_a_refused_statement_leaves_the_connection_usable(pooled_url: str) -> None:
    async def scenario(db: Database) -> None:
        for number in range(5):
            with pytest.raises(StorageError):
                await db.journal.intend("nobody", JournalledPost(f"x-{number}", number, {}))
            await db.facts.add(Fact(1, f"fact {number}"))
        assert len(await db.facts.of(1, None)) == 5

    with_database(pooled_url, scenario)
