"""How often an answer waits for a PostgreSQL that may be far away."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from bench.whole_bot.distance import DelayingProxy, delaying_proxy

from oshaberi.bot.storage import Database, engine
from oshaberi.bot.storage.records import StoredQuestion, StoredSurroundings, SurroundingsQuery
from tests.storage.database_servers import migrated_postgres_url
from tests.storage.migrated_database import place_database
from tests.turns.cached_turn_harness import ANSWER, LINES, cached_turns, run_turns_on
from tests.turns.turn_harness import TurnHarness

BEFORE_THE_FIRST = 4
"""The question, the surroundings, the beginning of the journal, the message."""
AT_THE_END = 16
"""One transaction writes all records of the turn, one statement settles the question."""
WARM_UP = 6
"""So many answers, until all connections in use have prepared their statements."""


@contextmanager
def noted(harness: TurnHarness, proxy: DelayingProxy) -> Iterator[list[int]]:
    """What was sent to the database by the time of each message of the channel."""
    marks: list[int] = []
    next_id = harness.turn_channel.next_id

    def note() -> int:
        marks.append(proxy.sent)
        return next_id()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(harness.turn_channel, "next_id", note)
        yield marks


def test_an_answer_sends_few_packets_to_the_database() -> None:
    url = migrated_postgres_url()

    async def main() -> None:
        async with delaying_proxy(url) as (proxy, far), cached_turns(far) as (harness, db):
            for _ in range(WARM_UP):
                harness.models.play(ANSWER)
                await harness.answer("eight lines, please")
                await db.journal.flush()
            harness.models.play(ANSWER)
            with noted(harness, proxy) as marks:
                await harness.answer("eight lines, please")
                await db.journal.flush()
            asked, first, *_others, last = marks
            assert len(marks) == 1 + LINES
            assert first - asked <= BEFORE_THE_FIRST
            assert last - first <= LINES, "one for each further message"
            assert proxy.sent - last <= AT_THE_END

    asyncio.run(main())


def test_a_connection_is_not_asked_whether_it_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only one that was unused for long is."""
    url = migrated_postgres_url()

    async def main() -> None:
        async with delaying_proxy(url) as (proxy, far), cached_turns(far) as (_harness, db):
            for _ in range(2):
                await db.seen.last(5)
            before = proxy.sent
            await db.seen.last(5)
            assert proxy.sent - before == 1
            monkeypatch.setattr(engine, "PING_AFTER_SECONDS", -1.0)
            await db.seen.last(5)
            assert proxy.sent - before == 3

    asyncio.run(main())


def test_the_context_is_read_while_the_question_is_stored_but_no_model_is_asked(
    tmp_path: Path,
) -> None:
    place_database(tmp_path / "turns.db")
    is_read, may_be_stored = asyncio.Event(), asyncio.Event()

    async def scenario(harness: TurnHarness, db: Database) -> None:
        keep, surroundings = db.questions.keep, db.reading.surroundings

        async def keep_later(question: StoredQuestion) -> None:
            await may_be_stored.wait()
            await keep(question)

        async def read(query: SurroundingsQuery) -> StoredSurroundings:
            found = await surroundings(query)
            is_read.set()
            return found

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(db.questions, "keep", keep_later)
            patch.setattr(db.reading, "surroundings", read)
            harness.models.play(ANSWER)
            asked = len(harness.models.requests)
            answering = asyncio.create_task(harness.answer("eight lines, please"))
            await is_read.wait()
            for _ in range(50):
                await asyncio.sleep(0)
            assert len(harness.models.requests) == asked
            may_be_stored.set()
            await answering
            assert len(harness.models.requests) == asked + 1

    run_turns_on(f"sqlite:///{tmp_path / 'turns.db'}", scenario)
