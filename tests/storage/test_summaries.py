"""Summaries of conversations: one per channel, for some days, forgotten with what is in them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from oshaberi.bot.storage import Database
from oshaberi.bot.storage.records import ConversationSummary, SurroundingsQuery

from .scenario_database import NOON, Clock, with_database

CHANNEL = 2**62 + 2
MADE = ConversationSummary(
    CHANNEL, "They talked 🍵.", 2**62 + 10, 2**62 + 20, 7, frozenset({5, 55}), NOON
)


def test_a_channel_has_one_summary(url: str) -> None:
    async def scenario(db: Database) -> None:
        assert await db.summaries.of(CHANNEL) is None
        await db.summaries.keep(replace(MADE, at=None), days=30)
        assert await db.summaries.of(CHANNEL) == MADE
        later = replace(MADE, text="And more.", last_id=2**62 + 30, messages=12)
        await db.summaries.keep(later, days=30)
        await db.summaries.keep(replace(MADE, channel_id=7, user_ids=frozenset()), days=30)
        assert await db.summaries.of(CHANNEL) == later
        assert await db.summaries.of(7) == replace(MADE, channel_id=7, user_ids=frozenset())

    with_database(url, scenario)


def test_it_expires(url: str) -> None:
    clock = Clock()

    async def scenario(db: Database) -> None:
        await db.summaries.keep(MADE, days=2)
        clock.time += timedelta(days=3)
        assert await db.summaries.of(CHANNEL) is None
        await db.summaries.keep(replace(MADE, channel_id=7, at=clock.time), days=2)
        await db.prune()
        assert await db.summaries.forget_channel(CHANNEL) == 0
        assert await db.summaries.of(7) is not None

    with_database(url, scenario, now=clock)


def test_it_goes_with_the_words_of_a_person(url: str) -> None:
    async def scenario(db: Database) -> None:
        for channel_id, users in ((1, {5}), (2, {55, 6}), (3, {6})):
            made = replace(MADE, channel_id=channel_id, user_ids=frozenset(users))
            await db.summaries.keep(made, days=9)
        assert await db.summaries.forget_user(5) == 1
        assert await db.summaries.forget_user(6) == 2
        assert await db.summaries.forget_user(6) == 0

    with_database(url, scenario)


@pytest.mark.parametrize(
    ("messages", "gone"),
    [((9, 21), False), ((10,), True), ((3, 15), True), ((20,), True), ((), False)],
)
def test_it_goes_with_a_message_that_may_be_in_it(
    url: str, messages: tuple[int, ...], gone: bool
) -> None:
    async def scenario(db: Database) -> None:
        await db.summaries.keep(MADE, days=9)
        ids = [2**62 + one for one in messages]
        await db.summaries.forget_messages(7, ids)
        assert await db.summaries.of(CHANNEL) == MADE
        await db.summaries.forget_messages(CHANNEL, ids)
        assert (await db.summaries.of(CHANNEL) is None) == gone

    with_database(url, scenario)


def test_a_turn_reads_it_with_the_rest(url: str) -> None:
    async def scenario(db: Database) -> None:
        await db.summaries.keep(MADE, days=9)
        found = await db.reading.surroundings(SurroundingsQuery(1, 2, CHANNEL, 5))
        assert found.summary == MADE
        assert (await db.reading.surroundings(SurroundingsQuery(1, 2, 7, 5))).summary is None

    with_database(url, scenario)
