"""Versions of answers, and reactions to them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from oshaberi.bot.storage import Database
from oshaberi.bot.storage.records import (
    AnswerKey,
    AnswerReaction,
    AnswerVersion,
    Exchange,
    TurnRecord,
)
from oshaberi.bot.storage.repositories.answers import MOST_REACTIONS

from .scenario_database import NOON, Clock, with_database

KEY = AnswerKey(7, 2**62 + 1, "Mochi 🍡")
OWNER = (1, 5)


def version(number: int, *texts: str) -> AnswerVersion:
    return AnswerVersion(number, texts or (f"version {number}",))


def test_the_newest_versions_are_kept(url: str) -> None:
    async def scenario(db: Database) -> None:
        other = replace(KEY, persona="Yuki")
        await db.versions.keep(other, OWNER, version(1), shown=None, most=3)
        for number in range(1, 6):
            await db.versions.keep(KEY, OWNER, version(number), shown=None, most=3)
        assert [one.number for one in await db.versions.of(KEY)] == [3, 4, 5]
        assert [one.number for one in await db.versions.of(other)] == [1]
        assert await db.versions.forget(KEY) == 3

    with_database(url, scenario)


def test_one_of_them_is_shown(url: str) -> None:
    async def scenario(db: Database) -> None:
        await db.versions.keep(KEY, OWNER, version(1), shown=None, most=10)
        await db.versions.keep(KEY, OWNER, version(2, "two", "lines"), shown=1, most=10)
        first, second = await db.versions.of(KEY)
        assert (first.is_shown, first.is_applied) == (True, False)
        assert second == version(2, "two", "lines")
        assert await db.versions.unapplied() == (KEY,)
        await db.versions.note_applied(KEY)
        assert await db.versions.unapplied() == ()
        changed = version(1, "what it says now")
        await db.versions.keep(KEY, OWNER, changed, shown=2, most=10)
        assert [one.is_shown for one in await db.versions.of(KEY)] == [False, True]
        assert (await db.versions.of(KEY))[0] == changed

    with_database(url, scenario)


def test_versions_go_with_their_question_and_with_time(url: str) -> None:
    clock = Clock()

    async def scenario(db: Database) -> None:
        await db.versions.keep(KEY, OWNER, version(1), shown=None, most=10)
        await db.versions.forget_messages(8, [KEY.asked_id])
        assert len(await db.versions.of(KEY)) == 1
        await db.versions.forget_messages(7, [KEY.asked_id])
        assert await db.versions.of(KEY) == ()
        await db.versions.keep(KEY, OWNER, version(1), shown=None, most=10)
        clock.time += timedelta(days=181)
        await db.prune()
        assert await db.versions.of(KEY) == ()

    with_database(url, scenario, now=clock)


def test_an_answer_gets_other_messages_and_words(url: str) -> None:
    turn = TurnRecord(7, 1, 5, 100, "Mochi", (101, 102), "error", at=NOON)
    said = Exchange(7, 5, "How?", "So.", at=NOON)

    async def scenario(db: Database) -> None:
        await db.turns.remember(turn)
        first = await db.turns.last(7)
        assert first is not None
        later = NOON + timedelta(seconds=1)
        part = replace(turn, message_ids=(103,), at=later, answer_id=first.id, undelivered="more")
        await db.turns.remember(part)
        await db.memory.add(said, keep=9, days=9)
        await db.memory.add(replace(said, answered="And so.", at=later), keep=9, days=9)
        whole = await db.turns.whole(first)
        moments = [one.at for one in whole if one.at is not None]
        assert await db.memory.answer_at(7, moments) == ("So.\nAnd so.", "")
        await db.turns.replace_messages(whole, [101, 104], "")
        await db.memory.replace_answer(7, moments, "Thus.", "why")
        newest, oldest = await db.turns.newest(7, 2)
        assert (oldest.message_ids, newest.message_ids) == ((), (101, 104))
        assert (newest.undelivered, newest.status) == ("", "completed")
        for message_id in (101, 104):
            found = await db.turns.of_message(message_id)
            assert found is not None
            assert found.id == newest.id
        assert [one.answered for one in await db.memory.recent(7, 9)] == ["Thus."]
        await db.turns.unlink([104])
        assert await db.turns.of_message(104) is None
        await db.memory.replace_answer(7, [NOON + timedelta(days=1)], "Nothing.", "")
        assert [one.answered for one in await db.memory.recent(7, 9)] == ["Thus."]

    with_database(url, scenario)


GOOD = AnswerReaction(7, 1, 101, 5, "👍", 1)


def test_a_verdict_replaces_the_other(url: str) -> None:
    async def scenario(db: Database) -> None:
        await db.reactions.add(GOOD)
        await db.reactions.add(GOOD)
        await db.reactions.add(replace(GOOD, user_id=6))
        assert await db.reactions.verdicts(1, NOON) == (2, 0)
        await db.reactions.add(replace(GOOD, emoji="👎", verdict=-1))
        assert await db.reactions.verdicts(1, NOON) == (1, 1)
        assert await db.reactions.verdicts(2, NOON) == (0, 0)
        await db.reactions.remove(101, 5, "👍")
        await db.reactions.remove(101, 5, "👎")
        assert await db.reactions.verdicts(1, NOON) == (1, 0)
        await db.reactions.forget_messages(7, [101])
        assert await db.reactions.verdicts(1, NOON) == (0, 0)

    with_database(url, scenario, now=Clock())


def test_a_flood_of_reactions_is_bounded(url: str) -> None:
    async def scenario(db: Database) -> None:
        for number in range(MOST_REACTIONS + 5):
            await db.reactions.add(replace(GOOD, user_id=number, emoji="🎉", verdict=0))
        found = await db.reactions.to([101, 102], 1000)
        assert len(found) == MOST_REACTIONS
        assert len(await db.reactions.to([101], 3)) == 3

    with_database(url, scenario)
