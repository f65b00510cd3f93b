"""Work that is cancelled while it uses a SQLite file leaves no task behind that never ends."""

from __future__ import annotations

import asyncio
from pathlib import Path

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from oshaberi.storage.database_engine import open_engine
from oshaberi.storage.database_urls import address_of

MOST_STEPS = 10
WAIT_SECONDS = 30.0


async def _turns_of_the_loop(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


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
