"""Which errors of a database pass by themselves: the driver's code says it."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy.exc import DBAPIError

from oshaberi.bot.storage import Database, SecretVault, StorageError, upgrade
from oshaberi.bot.storage.database_urls import address_of
from oshaberi.bot.storage.errors import StorageAwayError
from oshaberi.bot.storage.outages import as_storage_errors

from .database_servers import postgres_url
from .scenario_database import KEY, ask

STATES = {
    "08006": True,  # the connection is lost
    "53300": True,  # too many connections
    "55P03": True,  # a lock was not free in time
    "57P03": True,  # the server starts or ends
    "28P01": False,  # wrong password
    "3D000": False,  # no such database
    "42501": False,  # not allowed
}


class PostgresRefusalError(Exception):
    def __init__(self, sqlstate: str) -> None:
        super().__init__(sqlstate)
        self.sqlstate = sqlstate


@pytest.mark.parametrize("state", STATES)
def test_states_of_postgresql(state: str) -> None:
    raised = DBAPIError("SELECT 1", None, PostgresRefusalError(state))
    with pytest.raises(StorageError) as caught, as_storage_errors(address_of("postgresql://db/x")):
        raise raised
    assert isinstance(caught.value, StorageAwayError) == STATES[state]


def test_a_database_that_does_not_exist_stays_away() -> None:
    url = postgres_url()
    name = url.partition("?")[0].rpartition("/")[2]
    with pytest.raises(StorageError, match="no-such-database") as caught:
        asyncio.run(upgrade(url.replace(f"/{name}", "/no-such-database", 1)))
    assert not isinstance(caught.value, StorageAwayError)


@pytest.mark.slow
def test_a_locked_file_is_free_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oshaberi.bot.storage.engine.BUSY_SECONDS", 0)
    url = f"sqlite:///{tmp_path}/one.db"
    asyncio.run(upgrade(url))
    with closing(sqlite3.connect(tmp_path / "one.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")

        async def write() -> None:
            async with Database.open(url, SecretVault([KEY])) as db:
                await db.servers.set_config(1, "humanizer_degree", 1)

        with pytest.raises(StorageAwayError, match="locked"):
            asyncio.run(write())


def test_a_file_that_is_no_database_stays_one(tmp_path: Path) -> None:
    (tmp_path / "one.db").write_text("this is no database at all, " * 99)
    with pytest.raises(StorageError, match="not a database") as caught:
        asyncio.run(upgrade(f"sqlite:///{tmp_path}/one.db"))
    assert not isinstance(caught.value, StorageAwayError)


def test_a_table_that_is_missing_stays_missing(url: str) -> None:
    asyncio.run(upgrade(url))
    ask(url, "DROP TABLE server_settings")

    async def read() -> None:
        async with Database.open(url, SecretVault([KEY])) as db:
            await db.servers.config(1)

    with pytest.raises(StorageError, match="server_settings") as caught:
        asyncio.run(read())
    assert not isinstance(caught.value, StorageAwayError)
