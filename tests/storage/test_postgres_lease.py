"""A lock in PostgreSQL that ends with its process, also where the process is killed."""

from __future__ import annotations

import asyncio
import math
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from oshaberi.bot.storage import leases as module
from oshaberi.bot.storage.leases import PostgresLease, postgres_lease

from .database_servers import postgres_url
from .scenario_database import ask

SOON_S = 60.0
HOLDER = """
import asyncio, sys
from oshaberi.bot.storage.leases import postgres_lease

async def main():
    async with postgres_lease(sys.argv[1], "main"):
        print("held", flush=True)
        await asyncio.sleep(600)

asyncio.run(main())
"""


@pytest.fixture(autouse=True)
def _fast(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("STILL_SECONDS", "AGAIN_SECONDS", "BELIEVE_SECONDS"):
        monkeypatch.setattr(module, name, 0.05)
    monkeypatch.setattr(module, "ANSWER_SECONDS", SOON_S)


async def until(wanted: bool | None, ask_it: Callable[[], Awaitable[bool | None]]) -> None:
    async with asyncio.timeout(SOON_S):
        while await ask_it() is not wanted:
            await asyncio.sleep(0.02)


def with_lease(scenario: Callable[[PostgresLease, str], Awaitable[None]]) -> None:
    url = postgres_url()

    async def main() -> None:
        async with postgres_lease(url, "other") as other:
            assert other is not None
            await until(False, lambda: other.is_gone("other"))
            await scenario(other, url)

    asyncio.run(main())


def test_it_is_held_by_all_of_a_name_until_the_last_one_ends() -> None:
    async def scenario(other: PostgresLease, url: str) -> None:
        async with postgres_lease(url, "main"):
            async with postgres_lease(url, "main"):
                assert await other.is_gone("main") is False
            assert await other.is_gone("main") is False
            assert await other.is_gone("nobody") is True
        assert await other.is_gone("main") is True

    with_lease(scenario)


def test_it_ends_with_a_process_that_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "holder.py"
    script.write_text(HOLDER, encoding="utf-8")

    async def scenario(other: PostgresLease, url: str) -> None:
        holder = await asyncio.create_subprocess_exec(
            sys.executable, str(script), url, stdout=asyncio.subprocess.PIPE
        )
        try:
            assert holder.stdout is not None
            assert (await holder.stdout.readline()).strip() == b"held"
            assert await other.is_gone("main") is False
        finally:
            holder.kill()
            await holder.wait()
        await until(True, lambda: other.is_gone("main"))

    with_lease(scenario)


def test_a_connection_that_was_lost_is_made_again_and_proves_nothing_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scenario(other: PostgresLease, url: str) -> None:
        monkeypatch.setattr(module, "BELIEVE_SECONDS", 600.0)
        other._held_since = -math.inf  # it has had its lock for longer than that
        assert await other.is_gone("nobody") is True
        kill = "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'"
        await asyncio.to_thread(ask, url, kill)
        await until(None, lambda: other.is_gone("nobody"))
        async with asyncio.timeout(SOON_S):
            while other._held_since is None:
                await asyncio.sleep(0.02)
        assert await other.is_gone("nobody") is None, "the others may have lost theirs too"
        monkeypatch.setattr(module, "BELIEVE_SECONDS", 0.0)
        await until(True, lambda: other.is_gone("nobody"))
        assert await other.is_gone("other") is False

    with_lease(scenario)


def test_sqlite_has_none() -> None:
    async def main() -> None:
        async with postgres_lease("sqlite://", "main") as lease:
            assert lease is None

    asyncio.run(main())
