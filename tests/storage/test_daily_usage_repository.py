"""What is used each day: counted once, never beyond a limit, whichever process asks."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from datetime import date, timedelta

import pytest

from oshaberi.bot.storage import Database, SecretVault
from oshaberi.bot.storage.records import UsageRecord
from oshaberi.bot.storage.usage import UsageAccount, UsageLimit, UsageTotals, UsedUp

from .scenario_database import KEY, Clock, ask, with_database

DAY = date(2026, 11, 15)
USER = UsageAccount("operator", 0, "user", 2**62 + 3)
CHANNEL = UsageAccount("operator", 0, "channel", 2**62 + 2)
MEMBER = UsageAccount("server", 7, "user", 2**62 + 3)


def test_requests_are_counted_up_to_the_limit(url: str) -> None:
    async def scenario(db: Database) -> None:
        limits = [UsageLimit(USER, requests=2), UsageLimit(CHANNEL)]
        assert await db.usage_counts.used_up(DAY, limits) is None
        assert await db.usage_counts.reserve(DAY, limits, 100) is None
        assert await db.usage_counts.reserve(DAY, limits, 50) is None
        refused = UsedUp(limits[0], "requests")
        assert await db.usage_counts.reserve(DAY, limits, 10) == refused
        assert await db.usage_counts.used_up(DAY, limits) == refused
        for account in (USER, CHANNEL):
            assert await db.usage_counts.of(account, DAY, DAY) == UsageTotals(2, 150)
        tomorrow = DAY + timedelta(1)
        assert await db.usage_counts.reserve(tomorrow, limits, 1) is None
        assert await db.usage_counts.of(USER, DAY, tomorrow) == UsageTotals(3, 151)

    with_database(url, scenario)


def test_a_refused_request_is_counted_nowhere(url: str) -> None:
    """The channel's row is taken before the user's, and must not keep the count."""

    async def scenario(db: Database) -> None:
        await db.usage_counts.reserve(DAY, [UsageLimit(USER, requests=1)], 1)
        limits = [UsageLimit(USER, requests=1), UsageLimit(CHANNEL), UsageLimit(MEMBER)]
        assert await db.usage_counts.reserve(DAY, limits, 1) is not None
        assert await db.usage_counts.of(CHANNEL, DAY, DAY) == UsageTotals()
        assert await db.usage_counts.of(MEMBER, DAY, DAY) == UsageTotals()

    with_database(url, scenario)


def test_tokens_are_limited_too(url: str) -> None:
    async def scenario(db: Database) -> None:
        limits = [UsageLimit(USER, tokens=100)]
        assert await db.usage_counts.reserve(DAY, limits, 60) is None
        await db.usage_counts.add(DAY, [USER], UsageTotals(0, -10, 49, 1234))
        assert await db.usage_counts.reserve(DAY, limits, 0) is None
        await db.usage_counts.add(DAY, [USER], UsageTotals(0, 0, 1))
        assert await db.usage_counts.reserve(DAY, limits, 0) == UsedUp(limits[0], "tokens")
        assert await db.usage_counts.of(USER, DAY, DAY) == UsageTotals(2, 50, 50, 1234)

    with_database(url, scenario)


def test_what_is_counted_survives_a_restart_and_not_the_ages(url: str) -> None:
    async def first(db: Database) -> None:
        await db.usage_counts.reserve(DAY, [UsageLimit(USER, requests=1)], 5)
        assert await db.usage_counts.tell_once(DAY, "q", 1, 2)

    async def second(db: Database) -> None:
        assert await db.usage_counts.reserve(DAY, [UsageLimit(USER, requests=1)], 5) is not None
        assert not await db.usage_counts.tell_once(DAY, "q", 1, 2)
        assert await db.usage_counts.tell_once(DAY, "q", 1, 3)
        assert await db.usage_counts.tell_once(DAY + timedelta(1), "q", 1, 2)
        await db.usage_counts.add(DAY + timedelta(63), [CHANNEL], UsageTotals(1))
        clock.pass_days(63)
        await db.prune()

    clock = Clock()
    with_database(url, first)
    with_database(url, second, now=clock)
    assert ask(url, "SELECT subject FROM usage_counts") == [("channel",)]
    assert ask(url, "SELECT count(*) FROM quota_notices") == [(1,)]


def test_who_used_most(url: str) -> None:
    async def scenario(db: Database) -> None:
        for number in range(4):
            account = UsageAccount("server", 7, "user", number)
            await db.usage_counts.add(DAY, [account], UsageTotals(1, number * 10, 1))
        await db.usage_counts.add(DAY, [USER], UsageTotals(1, 999, 1))
        assert await db.usage_counts.largest_users(7, DAY, 2) == (
            (3, UsageTotals(1, 30, 1)),
            (2, UsageTotals(1, 20, 1)),
        )

    with_database(url, scenario)


def test_what_servers_and_models_used(url: str) -> None:
    """For the status page: all servers at once, from one day to another."""

    async def scenario(db: Database) -> None:
        counts, before = db.usage_counts, DAY - timedelta(29)
        one, other = (UsageAccount("server", id_, "server", id_) for id_ in (7, 2**62 + 1))
        paid = UsageAccount("operator", 0, "server", 7)
        await counts.add(DAY, [one, paid, MEMBER], UsageTotals(2, 100, 10, 5))
        await counts.add(before, [one, other], UsageTotals(1, 50, 5, 0))
        await counts.add(before - timedelta(1), [one], UsageTotals(9, 9, 9, 9))
        assert await counts.by_server("server", DAY, DAY) == {7: UsageTotals(2, 100, 10, 5)}
        assert await counts.by_server("server", before, DAY) == {
            7: UsageTotals(3, 150, 15, 5),
            2**62 + 1: UsageTotals(1, 50, 5),
        }
        assert await counts.by_server("operator", before, DAY) == {7: UsageTotals(2, 100, 10, 5)}
        for server_id, model in ((7, "small"), (7, "large"), (8, "large")):
            await db.usage.add(server_id, "p", model, 10, 1)
        assert await db.usage.by_model() == (
            UsageRecord(0, "p", "large", 2, 20, 2),
            UsageRecord(0, "p", "small", 1, 10, 1),
        )

    with_database(url, scenario)


@pytest.mark.usefixtures("patient")
def test_requests_at_once_do_not_pass_the_limit(url: str) -> None:
    """Two programs, many tasks, accounts named in different orders."""
    limits = [UsageLimit(USER, requests=25), UsageLimit(CHANNEL, requests=30), UsageLimit(MEMBER)]

    async def main() -> list[UsedUp | None]:
        vault = SecretVault([KEY])
        async with Database.open(url, vault) as one, Database.open(url, vault) as two:
            asking = [
                db.usage_counts.reserve(DAY, order, 1)
                for _ in range(20)
                for db, order in ((one, limits), (two, limits[::-1]))
            ]
            return await asyncio.gather(*asking)

    outcomes = asyncio.run(main())
    assert outcomes.count(None) == 25
    assert ask(url, "SELECT DISTINCT requests FROM usage_counts") == [(25,)]


PROCESS = """
import asyncio, json, sys
from datetime import date
from oshaberi.bot.storage import Database, SecretVault, engine, outages
from oshaberi.bot.storage.usage import UsageAccount, UsageLimit

engine.BUSY_SECONDS = outages.ANSWER_SECONDS = 60.0

async def main():
    limit = UsageLimit(UsageAccount("operator", 0, "user", 5), requests=25)
    async with Database.open(sys.argv[1], SecretVault([sys.argv[2]])) as db:
        sys.stdin.readline()
        asked = [await db.usage_counts.reserve(date(2026, 11, 15), [limit], 1) for _ in range(20)]
    print(json.dumps(asked.count(None)))

asyncio.run(main())
"""


def test_processes_share_one_limit(url: str) -> None:
    with_database(url, lambda db: db.servers.config(1))
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PROCESS, url, KEY],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    granted = [json.loads(process.communicate()[0]) for process in processes]
    assert sum(granted) == 25
