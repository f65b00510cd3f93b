"""Many tasks, two programs, cancelled writers: a write counts once, and nobody is locked out."""

from __future__ import annotations

import asyncio

import pytest

from oshaberi.bot.storage import Database, SecretVault
from oshaberi.bot.storage.records import Fact, ModelRecord, PersonaRecord
from oshaberi.virtual_time import run_virtual

from .database_servers import migrated_postgres_url
from .scenario_database import KEY, ask, with_database

TASKS = 60


@pytest.mark.slow
def test_many_writers_and_readers(url: str) -> None:
    async def scenario(db: Database) -> None:
        writes = [db.usage.add(1, "openai", "big", 1, 2) for _ in range(TASKS)]
        await asyncio.gather(*writes, *(db.usage.of(1) for _ in range(TASKS)))
        (used,) = await db.usage.of(1)
        assert (used.requests, used.input_tokens, used.output_tokens) == (TASKS, TASKS, 2 * TASKS)

    with_database(url, scenario)


@pytest.mark.usefixtures("patient")
def test_two_programs_write_at_once(url: str) -> None:
    async def main() -> int:
        vault = SecretVault([KEY])
        async with Database.open(url, vault) as one, Database.open(url, vault) as two:
            adds = (db.usage.add(1, "p", "m", 1, 1) for _ in range(TASKS) for db in (one, two))
            await asyncio.gather(*adds)
            (used,) = await one.usage.of(1)
            return used.requests

    assert asyncio.run(main()) == 2 * TASKS


def test_who_is_cancelled_holds_nobody_up(url: str) -> None:
    async def scenario(db: Database) -> None:
        adds = [db.facts.add(Fact(1, f"fact {number}")) for number in range(TASKS)]
        tasks = [asyncio.create_task(add) for add in adds]
        while not any(task.done() for task in tasks):
            await asyncio.sleep(0)
        cancelled = [task for task in tasks[::2] if task.cancel()]
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert {type(result) for result in results} == {Fact, asyncio.CancelledError}
        assert TASKS - len(cancelled) <= len(await db.facts.of(1, None)) <= TASKS
        await db.facts.add(Fact(1, "one more"))

    with_database(url, scenario)


def test_chains_that_are_set_at_once_do_not_mix(url: str) -> None:
    chains = [[ModelRecord(1, "p", f"{name}{n}") for n in range(3)] for name in "abcdef"]

    async def scenario(db: Database) -> None:
        await asyncio.gather(*(db.models.set_chain(1, chain) for chain in chains))
        names = [record.model for record in await db.models.chain(1)]
        assert names in [[record.model for record in chain] for chain in chains]

    with_database(url, scenario)


def test_one_default_whoever_asks_at_once(url: str) -> None:
    async def scenario(db: Database) -> None:
        saves = (db.personas.save(PersonaRecord(1, n, is_default=True)) for n in "abcdef")
        await asyncio.gather(*saves)
        await asyncio.gather(*(db.personas.save(PersonaRecord(1, "a")) for _ in range(4)))
        found = await db.personas.of(1)
        assert sorted(one.name for one in found) == list("abcdef")
        assert sum(one.is_default for one in found) <= 1

    with_database(url, scenario)


def test_a_lost_connection_is_made_anew() -> None:
    url = migrated_postgres_url()
    others = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"

    async def main() -> None:
        async with Database.open(url, SecretVault([KEY])) as db:
            await db.usage.add(1, "p", "m", 1, 1)
            ended = await asyncio.to_thread(ask, url, f"SELECT pg_terminate_backend(pid) {others}")
            assert len(ended) >= 1
            await db.usage.add(1, "p", "m", 1, 1)
            assert (await db.usage.of(1))[0].requests == 2

    asyncio.run(main())


def test_virtual_time_stands_still_for_the_database(url: str) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        rung = asyncio.create_task(asyncio.sleep(3600))
        async with Database.open(url, SecretVault([KEY])) as db:
            await asyncio.gather(*(db.usage.add(1, "p", "m", 1, 1) for _ in range(5)))
            assert (await db.usage.of(1))[0].requests == 5
        assert loop.time() == 0
        await rung
        assert loop.time() == 3600

    run_virtual(main())
