"""A call that is cancelled, wherever it is, logs no traceback and breaks no connection."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Protocol

import pytest

from oshaberi.bot.storage import Database, SecretVault, engine, outages
from oshaberi.bot.storage.transactions import Transactions
from tests.storage.held_sqlite_driver import held_sqlite_driver
from tests.storage.postgres_proxy import postgres_proxy
from tests.storage.scenario_database import KEY

TURNS = 5
MOST_STEPS = 40


class SlowDatabase(Protocol):
    """A real database that does one step only when it may. `at` is that step, if it was reached."""

    @property
    def at(self) -> str: ...
    def hold(self, *, after: int) -> None: ...
    async def held(self) -> None: ...
    def go_on(self) -> None: ...


@asynccontextmanager
async def slow(url: str) -> AsyncIterator[tuple[Transactions, SlowDatabase]]:
    vault = SecretVault([KEY])
    if url.startswith("sqlite"):
        with held_sqlite_driver() as driver:
            async with Database.open(url, vault) as db:
                yield db.servers._store, driver
    else:
        async with postgres_proxy(url) as (proxy, there), Database.open(there, vault) as db:
            yield db.servers._store, proxy


async def is_held(database: SlowDatabase, task: asyncio.Task[None]) -> bool:
    """Wait until the database is at the step that is to be slow; False if there is no such step."""
    held = asyncio.create_task(database.held())
    await asyncio.wait({task, held}, return_when=asyncio.FIRST_COMPLETED)
    held.cancel()
    return bool(database.at)


async def turns_of_the_loop() -> None:
    for _ in range(TURNS):
        await asyncio.sleep(0)


def problems(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [one.getMessage() for one in caplog.records if one.levelno >= logging.WARNING]


async def cancelled_at_every_step(
    store: Transactions,
    database: SlowDatabase,
    work: Callable[[], Awaitable[None]],
    times: int,
    look: Callable[[str], None],
) -> None:
    async def run() -> None:
        await work()

    for step in range(MOST_STEPS):
        await store.engine.dispose()  # so that each has the same steps
        database.hold(after=step)
        task = asyncio.create_task(run())
        if not await is_held(database, task):
            database.go_on()
            return
        for _ in range(times):
            task.cancel()
            await turns_of_the_loop()
        database.go_on()
        await asyncio.wait({task})
        look(database.at)
        await work()
    raise AssertionError("there are more steps than were looked at")


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("writes", [False, True])
def test_at_every_step(
    writes: bool,
    times: int,
    url: str,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(engine, "PING_AFTER_SECONDS", -1.0)
    steps: list[str] = []

    def look(step: str) -> None:
        steps.append(step.lower())
        assert problems(caplog) == [], f"cancelled at {step}"

    async def main() -> None:
        async with slow(url) as (store, database):
            work = store._ping_writer if writes else store._ping
            await cancelled_at_every_step(store, database, work, times, look)

    asyncio.run(main())
    assert any("commit" in step for step in steps) is writes
    assert any("rollback" in step for step in steps) is url.startswith("sqlite")
    assert url.startswith("sqlite") or any("select 1" in step for step in steps), "it is checked"


def test_two_time_limits_at_once_are_still_time_limits(url: str) -> None:
    """Whoever asks for the reason of a cancellation is told the true one."""

    async def main() -> None:
        async with slow(url) as (store, database):
            now_s = asyncio.get_running_loop().time
            inner, outer = asyncio.timeout(None), asyncio.timeout(None)

            async def work() -> None:
                async with outer, inner:
                    await store._ping()

            database.hold(after=2 if url.startswith("sqlite") else 0)
            task = asyncio.create_task(work())
            assert await is_held(database, task)
            for limit in (inner, outer):
                limit.reschedule(now_s())
                await turns_of_the_loop()
            database.go_on()
            with pytest.raises(TimeoutError):
                await task

    asyncio.run(main())


def test_a_probe_that_is_given_up_while_its_connection_is_returned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(outages, "RETRY_SECONDS", 0)
    monkeypatch.setattr(outages, "ABANDONED_SECONDS", 60.0)
    monkeypatch.setattr(outages, "ANSWER_SECONDS", 60.0)

    async def main() -> None:
        with held_sqlite_driver() as driver:
            async with Database.open(f"sqlite:///{tmp_path}/a.db", SecretVault([KEY])) as db:
                breaker = db.servers._store.writing
                driver.hold(name="rollback")
                breaker.begin_outage("a slow disk")
                await driver.held()
                caplog.clear()
                (probe,) = breaker._calls
                closing = asyncio.create_task(breaker.close())
                while not probe.cancelling():
                    await asyncio.sleep(0)
                await asyncio.sleep(0)  # the probe hears of it
                driver.go_on()
                await closing

    asyncio.run(main())
    assert problems(caplog) == []
