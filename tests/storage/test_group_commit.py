"""The writer: what waits together shares a transaction, in order, and nobody suffers for others."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import text

from oshaberi.bot.storage import Database, StorageError, group_commit
from oshaberi.bot.storage.batches import statement_runs
from oshaberi.bot.storage.errors import StorageAwayError
from oshaberi.bot.storage.group_commit import GroupCommit, WriteEntry, WriteStep
from oshaberi.bot.storage.outages import DatabaseCircuitBreaker
from oshaberi.bot.storage.records import JournalledPost, JournalledStream

from .counting import counted
from .scenario_database import NOON, ask, with_database

MANY = 50


def stream(number: int) -> JournalledStream:
    return JournalledStream(f"k{number}", "one", 1, number, 3, began=NOON)


async def speak(db: Database, number: int, messages: int = 4) -> None:
    """What a turn writes into the journal."""
    key = f"k{number}"
    db.journal.queue_begin(stream(number))
    for message in range(messages):
        nonce = f"{key}-{message}"
        await db.journal.intend(key, JournalledPost(nonce, message, {"content": "x"}))
        db.journal.queue_sent(key, nonce, 100 * number + message)


def test_many_turns_share_transactions_and_keep_their_order(url: str) -> None:
    async def scenario(db: Database) -> None:
        with counted() as count:
            await asyncio.gather(*(speak(db, number) for number in range(MANY)))
            await db.journal.flush()
        assert count.transactions <= 12, "200 messages"
        streams = await db.journal.unfinished("one")
        assert len(streams) == MANY
        for one in streams:
            assert [post.state for post in one.posts] == ["sent"] * 4
            assert [post.message_id for post in one.posts] == [
                100 * one.channel_id + n for n in range(4)
            ]

    with_database(url, scenario)


def test_one_that_is_refused_does_not_hurt_the_others(url: str) -> None:
    async def scenario(db: Database) -> None:
        await db.journal.begin(stream(1))
        posts = [
            ("k1" if n % 5 else "nobody", JournalledPost(f"k1-{n}", n, {"content": str(n)}))
            for n in range(20)
        ]
        works = [db.journal.intend(key, post) for key, post in posts]
        results = await asyncio.gather(*works, return_exceptions=True)
        assert [isinstance(one, StorageError) for one in results] == [n % 5 == 0 for n in range(20)]
        (found,) = await db.journal.unfinished("one")
        assert [post.number for post in found.posts] == [n for n in range(20) if n % 5]

    with_database(url, scenario)


def test_a_queued_entry_that_is_refused_is_told(url: str, caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(db: Database) -> None:
        wrong = WriteStep(text("INSERT INTO nowhere VALUES (:a)"), {"a": 1})
        db._store.writer.queue(wrong)
        await db.journal.begin(stream(1))
        assert len(await db.journal.unfinished("one")) == 1

    with caplog.at_level(logging.ERROR):
        with_database(url, scenario)
    (told,) = caplog.messages
    assert "an entry could not be stored" in told
    assert "nowhere" in told


def test_who_is_cancelled_has_written_all_the_same(url: str) -> None:
    async def scenario(db: Database) -> None:
        await db.journal.begin(stream(1))
        post = JournalledPost("k1-1", 1, {"content": "x"})
        task = asyncio.create_task(db.journal.intend("k1", post))
        await asyncio.sleep(0)
        task.cancel()
        db.journal.queue_refused("k1", "k1-1")
        with pytest.raises(asyncio.CancelledError):
            await task
        (found,) = await db.journal.unfinished("one")
        assert [one.state for one in found.posts] == ["refused"]

    with_database(url, scenario)


def test_what_is_queued_goes_with_the_next_that_somebody_waits_for(url: str) -> None:
    async def scenario(db: Database) -> None:
        await db.journal.begin(stream(1))
        with counted() as count:
            for number in range(3):
                await db.journal.intend("k1", JournalledPost(f"k1-{number}", number, {}))
                db.journal.queue_sent("k1", f"k1-{number}", number)
            await db.journal.finish("k1")
        assert count.transactions == 4

    with_database(url, scenario)


def test_what_is_queued_is_written_at_the_end(url: str) -> None:
    async def scenario(db: Database) -> None:
        db.journal.queue_begin(stream(1))

    with_database(url, scenario)
    assert ask(url, "SELECT key FROM journal_streams") == [("k1",)]


def test_what_nobody_waits_for_is_written_soon(url: str) -> None:
    async def scenario(db: Database) -> None:
        db.journal.queue_begin(stream(1))
        while len(db._store.writer):
            await asyncio.sleep(0.01)

    with_database(url, scenario)
    assert ask(url, "SELECT key FROM journal_streams") == [("k1",)]


class HangingRunner:
    """Fails with an outage as soon as it may."""

    def __init__(self) -> None:
        self.is_running = asyncio.Event()
        self.may_fail = asyncio.Event()

    async def run(self, _entries: Sequence[WriteEntry], _heard: Callable[[], None]) -> None:
        self.is_running.set()
        await self.may_fail.wait()
        raise StorageAwayError("locked")

    async def was_committed(self, _xid: int) -> bool:
        raise AssertionError("no commit was in doubt")

    def close(self) -> None:
        pass


def test_forgotten_entries_are_told_once_if_the_running_transaction_fails_later(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(group_commit, "MOST_KEPT", 2)
    monkeypatch.setattr(group_commit, "CLOSE_SECONDS", 0.01)

    async def never() -> None:
        await asyncio.Event().wait()

    async def main() -> None:
        runner, breaker = HangingRunner(), DatabaseCircuitBreaker("it", never)
        writer = GroupCommit(runner, breaker)
        step = WriteStep(text("SELECT :a"), {"a": 1})
        writer.queue(step, linger_s=0)
        await runner.is_running.wait()
        breaker.begin_outage("no answer")
        for _ in range(4):
            writer.queue(step)
        assert len(writer) == 3, "the running one and the newest two"
        runner.may_fail.set()
        while writer._under_way:
            await asyncio.sleep(0)
        assert len(writer) == 2
        await writer.close()
        await breaker.close()

    with caplog.at_level(logging.ERROR):
        asyncio.run(main())
    assert sum("oldest entries are forgotten" in line for line in caplog.messages) == 1


def test_the_wait_at_the_end_is_not_counted_among_what_is_lost(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(group_commit, "CLOSE_SECONDS", 0.01)

    async def main() -> None:
        runner, breaker = HangingRunner(), DatabaseCircuitBreaker("it", asyncio.Event().wait)
        writer = GroupCommit(runner, breaker)
        writer.queue(WriteStep(text("SELECT 1"), {}), linger_s=0)
        await runner.is_running.wait()
        await writer.close()

    with caplog.at_level(logging.ERROR):
        asyncio.run(main())
    assert caplog.messages == ["not stored, and lost: 1 entry"]


STATEMENTS = [text(f"SELECT {n}") for n in range(4)]
STEPS = st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 3)), max_size=40)


@given(STEPS)
def test_equal_statements_run_together_and_each_lane_keeps_its_order(
    steps: list[tuple[str, int]],
) -> None:
    entries = [
        WriteEntry((WriteStep(STATEMENTS[which], {"lane": lane, "number": number}),), lane=lane)
        for number, (lane, which) in enumerate(steps)
    ]
    runs = statement_runs(entries)
    done = [(value["lane"], value["number"]) for run in runs for value in run.values]
    assert sorted(number for _lane, number in done) == list(range(len(steps)))
    for lane in "abc":
        mine = [number for its, number in done if its == lane]
        assert mine == sorted(mine)
    if len({which for _lane, which in steps}) == 1:
        assert len(runs) == 1


def test_counts_run_last_and_sorted() -> None:
    count, other = STATEMENTS[:2]
    entries = [
        WriteEntry((WriteStep(other, {"n": 1}),), (WriteStep(count, {"id": 10}),), lane="a"),
        WriteEntry((WriteStep(other, {"n": 2}),), (WriteStep(count, {"id": 9}),), lane="b"),
    ]
    runs = statement_runs(entries)
    assert [run.statement for run in runs] == [other, count]
    assert [value["id"] for value in runs[1].values] == [9, 10]
