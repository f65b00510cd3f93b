"""What is too old or too much is deleted by a timer, not by turns."""

from __future__ import annotations

import asyncio
import logging

import pytest

from oshaberi.bot.data_retention import PRUNE_SECONDS, prune_regularly
from oshaberi.bot.storage import Database, SecretVault
from oshaberi.bot.storage.errors import StorageAwayError
from oshaberi.bot.storage.records import TurnRecord
from oshaberi.bot.storage.repositories.messages import TURNS_PER_CHANNEL
from oshaberi.virtual_time import run_virtual
from tests.storage.scenario_database import KEY

CHANNEL = 5
MORE = 3


async def kept(db: Database) -> int:
    return len(await db.turns.newest(CHANNEL, 2 * TURNS_PER_CHANNEL))


def test_it_goes_on_after_an_outage(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        async with Database.open("sqlite://", SecretVault([KEY])) as db:
            for number in range(TURNS_PER_CHANNEL + MORE):
                await db.turns.remember(TurnRecord(CHANNEL, 1, 2, number, "Ren"))
            prune, tried = db.prune, []

            async def away_at_first() -> None:
                tried.append(True)
                if len(tried) == 1:
                    raise StorageAwayError("the database is away")
                await prune()

            monkeypatch.setattr(db, "prune", away_at_first)
            task = asyncio.create_task(prune_regularly(db))
            await asyncio.sleep(1.5 * PRUNE_SECONDS)
            assert await kept(db) == TURNS_PER_CHANNEL + MORE
            await asyncio.sleep(PRUNE_SECONDS)
            assert await kept(db) == TURNS_PER_CHANNEL
            assert len(tried) == 2
            task.cancel()
            await asyncio.wait({task})

    with caplog.at_level(logging.WARNING):
        run_virtual(main())
    assert caplog.messages == ["the database could not be tidied up: the database is away"]
