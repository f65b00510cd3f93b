"""Data of servers that the bot has left goes after a time, and so does what is too old."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Awaitable, Callable, Collection
from contextlib import closing
from pathlib import Path

import pytest

from oshaberi.bot.config import load
from oshaberi.bot.data_retention import EVERY_S, OPT_OUTS_EVERY_S, DataRetention
from oshaberi.bot.local_run import startup
from oshaberi.bot.local_run.demo_world import world
from oshaberi.bot.storage import Database, SecretVault
from oshaberi.bot.storage.picture_files import PictureFiles
from oshaberi.bot.storage.records import Exchange, Fact, TurnRecord
from oshaberi.bot.storage.schema.ownership import DataSubject
from oshaberi.virtual_time import run_virtual
from tests.e2e.bot_harness import BotHarness, run_with_bot
from tests.storage.migrated_database import database_url
from tests.storage.scenario_database import KEY, Clock

HERE, GONE = 11, 22
Scenario = Callable[[Database, Clock], Awaitable[None]]


def with_servers(scenario: Scenario) -> None:
    """A database with something of two servers in it."""

    async def filled(db: Database, clock: Clock) -> None:
        for server in (HERE, GONE):
            await db.facts.add(Fact(server, "about tea", 5))
            await db.memory.add(Exchange(server * 10, 5, "q", "a"), keep=9, days=999)
            await db.turns.remember(TurnRecord(server * 10, server, 5, 1, "Ren", (server,)))
        await scenario(db, clock)

    with database_url() as url:
        run_virtual(_opened(url, filled))


async def _opened(url: str, scenario: Scenario) -> None:
    clock = Clock()
    async with Database.open(url, SecretVault([KEY]), now=clock) as db:
        await scenario(db, clock)


def retention(
    db: Database,
    clock: Clock,
    servers: Collection[int] | None = (HERE,),
    is_ours: Callable[[int], bool] = lambda _id: True,
    data_dir: Path | None = None,
    **settings: int,
) -> DataRetention:
    environ = {f"OSHABERI_RETENTION_{key.upper()}": str(settings[key]) for key in settings}
    environ |= {} if data_dir is None else {"OSHABERI_DATA_DIR": str(data_dir)}
    given = load(None, environ)
    return DataRetention(db, lambda: given, lambda: servers, is_ours, now=clock)


async def stored(db: Database) -> set[int]:
    return set(await db.departed_servers.known_servers())


def test_a_server_that_was_left_is_deleted_after_the_grace_time(tmp_path: Path) -> None:
    async def scenario(db: Database, clock: Clock) -> None:
        files, digest = PictureFiles(tmp_path), "0" * 32
        for server in (HERE, GONE):
            await files.write(server, digest, "image/png", b"picture")
        passing = retention(db, clock, data_dir=tmp_path)
        await passing.delete_what_is_due()
        assert await db.departed_servers.departed() == (GONE,)
        clock.pass_days(29)
        await passing.delete_what_is_due()
        assert await stored(db) == {HERE, GONE}
        clock.pass_days(2)
        await passing.delete_what_is_due()
        assert await stored(db) == {HERE}
        assert await files.read(HERE, digest, "image/png") == b"picture"
        assert await files.read(GONE, digest, "image/png") is None
        assert await db.personal_data.counts(DataSubject("server", GONE)) == {}
        assert len(await db.memory.recent(HERE * 10, 9)) == 1

    with_servers(scenario)


def test_a_server_that_is_there_again_keeps_everything() -> None:
    async def scenario(db: Database, clock: Clock) -> None:
        await retention(db, clock).delete_what_is_due()
        clock.pass_days(40)
        await retention(db, clock, servers=(HERE, GONE)).delete_what_is_due()
        assert await db.departed_servers.departed() == ()
        assert await stored(db) == {HERE, GONE}

    with_servers(scenario)


def test_servers_of_other_shards_are_left_to_their_process() -> None:
    async def scenario(db: Database, clock: Clock) -> None:
        await retention(db, clock, is_ours=lambda one: one != GONE).delete_what_is_due()
        assert await db.departed_servers.departed() == ()

    with_servers(scenario)


def test_settings_of_channels_that_are_gone_are_deleted() -> None:
    async def is_gone(server_id: int, channel_id: int) -> bool:
        assert server_id == HERE, "of other servers nothing is known"
        return channel_id == 2

    async def scenario(db: Database, clock: Clock) -> None:
        for server in (HERE, GONE):
            for channel in (1, 2):
                await db.servers.set_config(server, "notify", "last", channel)
        given = load(None, {})
        await DataRetention(
            db, lambda: given, lambda: (HERE,), now=clock, is_gone=is_gone
        ).delete_what_is_due()
        assert await db.servers.channels_with_own() == {
            HERE: frozenset({1}),
            GONE: frozenset({1, 2}),
        }

    with_servers(scenario)


def test_it_can_be_switched_off() -> None:
    async def scenario(db: Database, clock: Clock) -> None:
        for _ in range(2):
            await retention(db, clock, left_servers_days=0).delete_what_is_due()
            clock.pass_days(150)
        assert await stored(db) == {HERE, GONE}
        assert await db.departed_servers.departed() == ()

    with_servers(scenario)


def test_settings_say_how_long_things_are_kept() -> None:
    async def scenario(db: Database, clock: Clock) -> None:
        clock.pass_days(8)
        both = (HERE, GONE)
        await retention(db, clock, both, turns_days=9, facts_days=9).delete_what_is_due()
        assert await db.turns.last(HERE * 10) is not None
        assert len(await db.facts.of(HERE, 5)) == 1
        await retention(db, clock, both, turns_days=7, facts_days=7).delete_what_is_due()
        assert await db.turns.last(HERE * 10) is None
        assert await db.facts.of(HERE, 5) == ()

    with_servers(scenario)


def test_every_hour_once_it_is_known_where_the_bot_is() -> None:
    async def scenario(db: Database, clock: Clock) -> None:
        servers: list[Collection[int] | None] = [None]
        passing = DataRetention(db, lambda: load(None, {}), lambda: servers[0], now=clock)
        running = asyncio.create_task(passing.run())
        await asyncio.sleep(2 * EVERY_S)
        assert await db.departed_servers.departed() == ()
        servers[0] = (HERE,)
        await asyncio.sleep(2 * OPT_OUTS_EVERY_S)
        assert await db.departed_servers.departed() == (GONE,)
        clock.pass_days(31)
        await asyncio.sleep(2 * OPT_OUTS_EVERY_S)
        assert await stored(db) == {HERE, GONE}
        await asyncio.sleep(EVERY_S)
        assert await stored(db) == {HERE}
        running.cancel()

    with_servers(scenario)


def test_a_database_that_fails_is_asked_again(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(db: Database, clock: Clock) -> None:
        with closing(sqlite3.connect(file)) as database:
            database.execute("DROP TABLE opt_outs")
        running = asyncio.create_task(retention(db, clock).run())
        await asyncio.sleep(3 * OPT_OUTS_EVERY_S - 1)
        running.cancel()

    with database_url() as url, caplog.at_level(logging.ERROR):
        file = url.removeprefix("sqlite:///")
        run_virtual(_opened(url, scenario))
    assert caplog.text.count("could not be deleted") == 3


def test_the_bot_knows_its_servers() -> None:
    async def scenario(here: BotHarness) -> None:
        assert here.bot.client.server_ids() == frozenset([here.server_id])
        assert here.bot.client.would_have(1234 << 22)
        await here.db.facts.add(Fact(GONE, "about tea"))
        await here.bot.data_retention.delete_what_is_due()
        assert await here.db.departed_servers.departed() == (GONE,)

    run_with_bot(scenario)


def test_the_local_stage_leaves_the_servers_of_a_real_bot_alone() -> None:
    """Its bot is in none of them, and may use the same folder."""
    place = world(None)
    settings, environ = startup._with_settings_of(place, load(None, {}), {})
    assert settings.retention_left_servers_days == 0
    assert load(None, environ).retention_left_servers_days == 0, "also when the file is read again"
