"""A call that is cancelled, wherever it is just then, logs no traceback and breaks no connection."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

import pytest

from oshaberi.storage import Database, SecretVault
from oshaberi.storage.outages import database_circuit_breaker
from oshaberi.storage.transactions import Transactions
from tests.storage.held_sqlite_driver import HeldSqliteDriver, held_sqlite_driver
from tests.storage.migrated_database import place_database
from tests.storage.scenario_database import KEY

TURNS = 5
MOST_CALLS = 40
Work = Literal["_ping", "_ping_writer"]


@asynccontextmanager
async def slow_file(folder: Path) -> AsyncIterator[tuple[Transactions, HeldSqliteDriver]]:
    place_database(folder / "a.db")
    with held_sqlite_driver() as driver:
        async with Database.open(f"sqlite:///{folder}/a.db", SecretVault([KEY])) as db:
            yield db.servers._store, driver


async def cancel(task: asyncio.Task[None], times: int) -> None:
    for _ in range(times):
        task.cancel()
        for _ in range(TURNS):
            await asyncio.sleep(0)


def problems(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [one.getMessage() for one in caplog.records if one.levelno >= logging.WARNING]


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("work", ["_ping", "_ping_writer"])
def test_at_every_call_of_the_driver(
    work: Work, times: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> list[str]:
        seen: list[str] = []
        async with slow_file(tmp_path) as (store, driver):
            for call in range(MOST_CALLS):
                await store.engine.dispose()  # so that each has the same calls
                driver.hold(after=call)
                task = asyncio.create_task(getattr(store, work)())
                held = asyncio.create_task(driver.held())
                await asyncio.wait({task, held}, return_when=asyncio.FIRST_COMPLETED)
                held.cancel()
                if not driver.at:
                    driver.go_on()
                    return seen
                seen.append(driver.at)
                await cancel(task, times)
                driver.go_on()
                await asyncio.wait({task})
                assert problems(caplog) == [], f"cancelled at call {call}, {driver.at}"
                await getattr(store, work)()
        raise AssertionError("there are more calls than were looked at")

    seen = asyncio.run(main())
    assert seen[-1] == "rollback"
    assert ("commit" in seen) is (work == "_ping_writer")


def test_a_probe_that_is_given_up_while_its_connection_is_returned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(database_circuit_breaker, "RETRY_SECONDS", 0)

    async def main() -> None:
        async with slow_file(tmp_path) as (store, driver):
            driver.hold(name="rollback")
            store.writing.lost("a slow disk")
            await driver.held()
            caplog.clear()
            (probe,) = store.writing._calls
            closing = asyncio.create_task(store.writing.close())
            while not probe.cancelling():
                await asyncio.sleep(0)
            await asyncio.sleep(0)  # the probe hears of it
            driver.go_on()
            await closing

    asyncio.run(main())
    assert problems(caplog) == []
