"""Where a conversation begins is read once, and again when anybody changes it."""

from __future__ import annotations

import asyncio

from oshaberi.bot.storage.records import OwnThread, TalkStart
from oshaberi.bot.storage.schema.ownership import DataSubject
from oshaberi.bot.turns.own_threads import TalkStarts
from tests.storage.counting import counted
from tests.storage.migrated_database import opened_database

SERVER, CHANNEL, THREAD, USER = 5, 50, 51, 7


async def _scenario() -> None:
    async with opened_database() as db:
        starts = TalkStarts(db)
        assert await starts.of(CHANNEL) == TalkStart()
        with counted() as count:
            assert await starts.of(CHANNEL) == TalkStart()
        assert not count.statements

        await db.talks.begin_afresh(SERVER, CHANNEL, 100)
        assert await starts.of(CHANNEL) == TalkStart(100)

        opened = OwnThread(THREAD, SERVER, USER, "tea", is_named=True)
        await db.talks.open(opened, TalkStart(0, CHANNEL, 1, 2))
        assert await starts.of(THREAD) == TalkStart(0, CHANNEL, 1, 2)
        await db.personal_data.delete(DataSubject("user", USER))
        assert await starts.of(THREAD) == TalkStart()


def test_it_is_read_once_and_again_after_a_change() -> None:
    asyncio.run(_scenario())
