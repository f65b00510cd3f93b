"""Questions that wait for their answer, in the database."""

from __future__ import annotations

from dataclasses import replace

from oshaberi.bot.storage import Database
from oshaberi.bot.storage.records import StoredQuestion, TurnRecord, TurnTraces
from oshaberi.bot.storage.repositories.journal import QUESTIONS_KEPT_DAYS

from .scenario_database import NOON, Clock, with_database

QUESTION = StoredQuestion(2, 100, 1, 3, "main", "mention", NOON)


def test_what_a_process_keeps_is_left_for_the_next_one_of_its_name(url: str) -> None:
    async def keep(db: Database) -> None:
        await db.questions.keep(replace(QUESTION, message_id=102))
        await db.questions.keep(QUESTION)
        await db.questions.keep(replace(QUESTION, channel_id=9, instance="third"))
        assert await db.questions.left_by("main") == (), "its own it has in hand"

    async def look(db: Database) -> None:
        assert await db.questions.left_by("main") == (QUESTION, replace(QUESTION, message_id=102))
        await db.questions.keep(QUESTION)
        assert [one.message_id for one in await db.questions.left_by("main")] == [102]
        await db.questions.settle(2, [100, 102])
        await db.questions.settle(2, [])
        assert await db.questions.left_by("main") == ()

    with_database(url, keep)
    with_database(url, look)
    with_database(url, lambda db: _left(db, 0))


async def _left(db: Database, count: int) -> None:
    assert len(await db.questions.left_by("main")) == count


def test_taken_up_again_it_is_as_old_as_it_was_and_begun_it_is_new(url: str) -> None:
    clock = Clock()
    with_database(url, lambda db: db.questions.keep(replace(QUESTION, at=None)), now=clock)
    clock.pass_days(1)
    with_database(url, lambda db: db.questions.keep(replace(QUESTION, at=None)), now=clock)

    async def begin(db: Database) -> None:
        (one,) = await db.questions.left_by("main")
        assert (one.at, one.is_begun) == (NOON, False)
        await db.questions.keep(replace(QUESTION, at=None, is_begun=True))

    async def look(db: Database) -> None:
        (one,) = await db.questions.left_by("main")
        assert (one.at, one.is_begun) == (clock.time, True)
        clock.pass_days(QUESTIONS_KEPT_DAYS + 1)
        await db.questions.forget_old()
        assert await db.questions.left_by("main") == ()

    with_database(url, begin, now=clock)
    with_database(url, look, now=clock)


def test_another_process_takes_them_over_once(url: str) -> None:
    async def adopt(db: Database) -> None:
        assert await db.questions.adopt("main", "other") == 2
        assert await db.questions.adopt("main", "other") == 0
        assert await db.questions.left_by("other") == (
            replace(QUESTION, instance="other"),
            replace(QUESTION, instance="other", message_id=101),
        )

    async def keep(db: Database) -> None:
        await db.questions.keep(QUESTION)
        await db.questions.keep(replace(QUESTION, message_id=101))

    with_database(url, keep)
    with_database(url, adopt)


def test_a_cut_is_stored_with_its_turn_even_if_the_process_ends_at_once(url: str) -> None:
    turn = TurnRecord(2, 1, 3, 100, "Mochi", (5,), "interrupted", at=NOON)
    other = replace(QUESTION, message_id=101)

    async def cut(db: Database) -> None:
        await db.questions.keep(QUESTION)
        await db.questions.keep(other)
        db.queue_turn(TurnTraces(turn, cut_question=replace(QUESTION, is_begun=True)))
        db.queue_turn(TurnTraces(replace(turn, channel_id=4), settled_question_id=101))
        db.queue_turn(TurnTraces(replace(turn, asked_id=101), settled_question_id=101))

    async def look(db: Database) -> None:
        (left,) = await db.questions.left_by("main")
        assert (left.message_id, left.is_begun) == (100, True)
        await db.turns.set_messages(replace(turn, channel_id=4, message_ids=(5, 6)))
        found = await db.turns.of_message(6)
        assert found is not None
        assert (found.channel_id, found.message_ids) == (4, (5, 6))

    with_database(url, cut)
    with_database(url, look)
