"""Many reads that wait for each other are no outage."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest
from sqlalchemy import Connection
from sqlalchemy.pool import QueuePool

from oshaberi.bot.storage import Database, outages
from oshaberi.bot.storage.engine import POOL_SECONDS
from tests.storage.migrated_database import place_database
from tests.storage.scenario_database import with_database

READS = 60
READ_S = 0.1


def slow_read(connection: Connection) -> int:
    found = connection.exec_driver_sql("SELECT 1").scalar_one()
    time.sleep(READ_S)
    return int(found)


@pytest.fixture
def file_url(tmp_path: Path) -> str:
    place_database(tmp_path / "oshaberi.sqlite3")
    return f"sqlite:///{tmp_path}/oshaberi.sqlite3"


def test_a_long_queue_of_reads_is_no_outage(file_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The queue takes longer than a database may be silent, but it is not silent meanwhile."""
    monkeypatch.setattr(outages, "ANSWER_SECONDS", 1.2)

    async def read_all(db: Database) -> list[int]:
        store = db.servers._store
        reads = (store.reading.answer(store.read_at_once(slow_read)) for _ in range(READS))
        return await asyncio.gather(*reads)

    assert with_database(file_url, read_all) == [1] * READS


def test_who_waits_for_a_connection_waits_as_long_as_on_postgresql(file_url: str) -> None:
    async def timeout(db: Database) -> float:
        pool = db.servers._store.engine.sync_engine.pool
        assert isinstance(pool, QueuePool)
        return pool.timeout()

    assert with_database(file_url, timeout) == POOL_SECONDS
