"""Work that is cancelled while it uses a SQLite file leaves no task and no thread behind."""

from __future__ import annotations

import asyncio
import gc
import sqlite3
import threading
import warnings
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import aiosqlite
import pytest
from sqlalchemy import event, text
from sqlalchemy.ext.asyncio import AsyncEngine

from oshaberi.bot.storage import engine as database_engine
from oshaberi.bot.storage.database_urls import address_of
from oshaberi.bot.storage.engine import SqliteDriverThreads, open_engine
from tests.storage.held_sqlite_driver import HeldSqliteDriver, held_sqlite_driver

MOST_STEPS = 10
WAIT_SECONDS = 30.0


async def _turns_of_the_loop(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def _opened(connection: aiosqlite.Connection) -> None:
    await connection


async def _query(engine: AsyncEngine) -> None:
    async with engine.connect() as connection:
        await connection.execute(text("SELECT 1"))


def test_every_task_ends(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(address_of(f"sqlite:///{tmp_path}/a.db")) as engine:
            before = asyncio.all_tasks()
            for first in range(MOST_STEPS):
                for second in range(MOST_STEPS):
                    task = asyncio.create_task(_query(engine))
                    await _turns_of_the_loop(first)
                    task.cancel()
                    await _turns_of_the_loop(second)
                    task.cancel()
                    await asyncio.wait({task})
            left = asyncio.all_tasks() - before
            if left:
                await asyncio.wait(left, timeout=WAIT_SECONDS)
            assert [task for task in left if not task.done()] == []

    asyncio.run(main())


async def _write(engine: AsyncEngine) -> None:
    async with engine.connect() as connection:
        await connection.execute(text("BEGIN IMMEDIATE"))


def test_the_thread_of_work_that_was_given_up_ends_before_the_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_engine, "BUSY_SECONDS", 0.3)
    monkeypatch.setattr(database_engine, "END_SECONDS", WAIT_SECONDS)
    failures: list[object] = []
    monkeypatch.setattr(threading, "excepthook", failures.append)
    file = tmp_path / "locked.db"
    before = set(threading.enumerate())

    async def main() -> None:
        async with open_engine(address_of(f"sqlite:///{file}")) as engine:
            await _query(engine)
            other.execute("BEGIN EXCLUSIVE")
            begun = asyncio.Event()
            event.listen(engine.sync_engine, "before_cursor_execute", lambda *_: begun.set())
            task = asyncio.create_task(_write(engine))
            await begun.wait()
            await _turns_of_the_loop(MOST_STEPS)
            for _ in range(3):
                task.cancel()
                await _turns_of_the_loop(MOST_STEPS)
            await asyncio.wait({task})

    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        asyncio.run(main())
    left = [thread for thread in set(threading.enumerate()) - before if thread.is_alive()]
    for thread in left:
        thread.join()
    assert left == []
    assert failures == []


def test_the_loop_ends_although_the_disk_hangs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_engine, "END_SECONDS", 0.0)
    monkeypatch.setattr(threading, "excepthook", lambda _: None)  # its loop is over by then
    before = set(threading.enumerate())
    tasks: list[asyncio.Task[None]] = []

    async def main(driver: HeldSqliteDriver) -> None:
        async with open_engine(address_of(f"sqlite:///{tmp_path}/a.db")) as engine:
            await _query(engine)
            driver.hold(name="execute")
            tasks.append(asyncio.create_task(_query(engine)))
            await driver.held()
            tasks[0].cancel()
            await _turns_of_the_loop(MOST_STEPS)
        loop = asyncio.get_running_loop()
        loop.call_later(WAIT_SECONDS, loop.stop)  # so that the test ends, if the loop does not

    with held_sqlite_driver() as driver:
        asyncio.run(main(driver))
        assert driver.is_holding
        assert tasks[0].cancelled()
    for thread in set(threading.enumerate()) - before:
        thread.join()
    tasks.clear()
    with warnings.catch_warnings():
        # Its thread could not close the connection, of which Python 3.13 warns.
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


def test_what_nobody_closed_is_closed_at_the_end(tmp_path: Path) -> None:
    async def main() -> None:
        threads = SqliteDriverThreads()
        await threads.connect(tmp_path / "a.db")
        assert [one for one in threading.enumerate() if _is_drivers(one)] != []
        await threads.end(WAIT_SECONDS)
        assert [one for one in threading.enumerate() if _is_drivers(one)] == []

    asyncio.run(main())
    gc.collect()  # a connection that was not closed warns here, and warnings are errors


def _is_drivers(thread: threading.Thread) -> bool:
    return thread.is_alive() and "_connection_worker_thread" in thread.name


def test_a_connection_that_is_stopped_while_it_opens_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The driver would keep it open, and warn of it whenever it is collected."""
    opens, may_open = threading.Event(), threading.Event()
    connect: Callable[..., sqlite3.Connection] = sqlite3.connect
    opened: list[sqlite3.Connection] = []

    def slow(*args: Any, **kwargs: Any) -> sqlite3.Connection:
        opens.set()
        may_open.wait()
        opened.append(connect(*args, check_same_thread=False, **kwargs))
        return opened[0]

    async def main() -> None:
        threads = SqliteDriverThreads()
        connection = threads.connect(tmp_path / "a.db")
        task = asyncio.create_task(_opened(connection))
        await asyncio.to_thread(opens.wait)
        connection.stop()
        may_open.set()
        with pytest.raises(sqlite3.OperationalError):
            await task
        await threads.end(WAIT_SECONDS)

    monkeypatch.setattr(sqlite3, "connect", slow)
    asyncio.run(main())
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        opened[0].execute("SELECT 1")
    gc.collect()  # a connection that was not closed warns here, and warnings are errors


def test_a_connection_that_is_open_before_its_task_knows_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The driver forgets it when the task is cancelled; from Python 3.13 on it then warns."""
    is_open = threading.Event()
    connect: Callable[..., sqlite3.Connection] = sqlite3.connect
    opened: list[sqlite3.Connection] = []

    def noted(*args: Any, **kwargs: Any) -> sqlite3.Connection:
        opened.append(connect(*args, check_same_thread=False, **kwargs))
        return opened[0]

    async def main() -> None:
        threads = SqliteDriverThreads()
        connection = threads.connect(tmp_path / "a.db")
        task = asyncio.create_task(_opened(connection))
        await asyncio.sleep(0)
        connection._tx.put_nowait((None, is_open.set))
        is_open.wait()  # the loop does not turn, and so nobody takes the connection
        task.cancel()
        await asyncio.wait({task})
        assert task.cancelled()
        await threads.end(WAIT_SECONDS)

    monkeypatch.setattr(sqlite3, "connect", noted)
    asyncio.run(main())
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        opened[0].execute("SELECT 1")
