"""The journal of running responses, and the questions that have no answer yet."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import cast

from sqlalchemy import Executable, bindparam, case, delete, select, update

from oshaberi.bot.storage.errors import StorageAwayError
from oshaberi.bot.storage.group_commit import WriteEntry, WriteStep, turns_lane
from oshaberi.bot.storage.outages import reads, writes
from oshaberi.bot.storage.records import JournalledPost, JournalledStream, PostState, StoredQuestion
from oshaberi.bot.storage.schema import table_rows
from oshaberi.bot.storage.schema.table_rows import Base, QuestionRow
from oshaberi.bot.storage.transactions import Transactions, in_passing
from oshaberi.delivery.journal import JournalAwayError

# The journal: `delivery.journal` writes it, `crash_recovery` reads it.
#
# Every message waits until its entry is stored. The writer groups the entries of all turns.


Stream = table_rows.JournalStreamRow
Post = table_rows.JournalPostRow

BEGIN_SECONDS = 0.05
"""How soon a response is stored, whether or not it has messages."""
JOURNAL_KEPT_DAYS = 7
"""No process finishes a response that is older."""


_POSTS = table_rows.Base.metadata.tables[Post.__tablename__]
_STREAMS = table_rows.Base.metadata.tables[Stream.__tablename__]
_MARK = (
    update(_POSTS)
    .where(_POSTS.c.key == bindparam("its_key"), _POSTS.c.nonce == bindparam("its_nonce"))
    .values(state=bindparam("state"), message_id=bindparam("message_id"))
)
_FORGET = in_passing(delete(_STREAMS).where(_STREAMS.c.key == bindparam("its_key")))
_FORGET_OLD = in_passing(delete(_STREAMS).where(_STREAMS.c.began < bindparam("edge")))


class JournalRepository:
    """The journal. Awaited entries are durable; queued ones are written soon, in order."""

    def __init__(self, store: Transactions) -> None:
        self._store = store
        self._begin = store.insert(_STREAMS).on_conflict_do_nothing()
        self._intend = _intending(store)

    def queue_begin(self, stream: JournalledStream) -> None:
        """Queue the start of a response. Its `posts` are stored later, one by one."""
        step = self._beginning(stream)
        self._store.writer.queue(step, lane=stream.key, repeatable=True, linger_s=BEGIN_SECONDS)

    async def begin(self, stream: JournalledStream) -> None:
        await self._write(stream.key, self._beginning(stream))

    async def intend(self, key: str, post: JournalledPost) -> None:
        """Store a post. For a known nonce it replaces the body and keeps `newest_id`."""
        values = {
            "key": key,
            "nonce": post.nonce,
            "number": post.number,
            "body": dict(post.body),
            "newest_id": post.newest_id,
            "state": post.state,
            "message_id": None,
        }
        with _as_journal_errors():
            await self._write(
                key, WriteStep(self._intend, values, _journal_row_of(key, post.nonce))
            )

    def queue_sent(self, key: str, nonce: str, message_id: int | None) -> None:
        self._queue(key, _marking(key, nonce, "sent", message_id))

    async def mark_sent(self, key: str, nonce: str, message_id: int | None) -> None:
        await self._write(key, _marking(key, nonce, "sent", message_id))

    def queue_refused(self, key: str, nonce: str) -> None:
        self._queue(key, _marking(key, nonce, "refused", None))

    async def mark_refused(self, key: str, nonce: str) -> None:
        await self._write(key, _marking(key, nonce, "refused", None))

    async def finish(self, key: str) -> None:
        await self._store.writer.write_entry(self.finishing(key))

    async def flush(self) -> None:
        """Wait until everything in the queue is durable."""
        with _as_journal_errors():
            await self._store.writer.flush()

    def finishing(self, key: str) -> WriteEntry:
        return WriteEntry((WriteStep(_FORGET, {"its_key": key}),), lane=key, repeatable=True)

    def pruning(self) -> WriteEntry:
        """Return the entry that deletes streams which are too old to be finished."""
        edge = self._store.now() - timedelta(JOURNAL_KEPT_DAYS)
        return WriteEntry((WriteStep(_FORGET_OLD, {"edge": edge}),), repeatable=True)

    @reads
    async def unfinished(self, instance: str) -> tuple[JournalledStream, ...]:
        """Return this process's open streams, oldest first, with messages in order."""
        streams = select(Stream).where(Stream.instance == instance)
        posts = select(Post).join(Stream, Stream.key == Post.key).where(Stream.instance == instance)
        await self._store.writer.flush()
        async with self._store.read() as session:
            streams_there = (await session.scalars(streams.order_by(Stream.began))).all()
            posts_there = (await session.scalars(posts.order_by(Post.number))).all()
        kept: dict[str, list[JournalledPost]] = {row.key: [] for row in streams_there}
        for row in posts_there:
            kept[row.key].append(_post(row))
        return tuple(_stream(row, tuple(kept[row.key])) for row in streams_there)

    @writes
    async def adopt(self, instance: str, new_instance: str) -> tuple[str, ...]:
        """Give the streams of one process to another. Return their keys."""
        theirs = update(Stream).where(Stream.instance == instance).values(instance=new_instance)
        async with self._store.write() as session:
            return tuple(await session.scalars(theirs.returning(Stream.key)))

    def _beginning(self, stream: JournalledStream) -> WriteStep:
        values = {
            "key": stream.key,
            "instance": stream.instance,
            "server_id": stream.server_id,
            "channel_id": stream.channel_id,
            "user_id": stream.user_id,
            "answering_id": stream.answering_id,
            "persona": stream.persona,
            "began": stream.began or self._store.now(),
        }
        return WriteStep(self._begin, values, _journal_row_of(stream.key))

    def _queue(self, key: str, step: WriteStep) -> None:
        self._store.writer.queue(step, lane=key, repeatable=True)

    async def _write(self, key: str, step: WriteStep) -> None:
        await self._store.writer.write(step, lane=key, repeatable=True)


@contextmanager
def _as_journal_errors() -> Iterator[None]:
    try:
        yield
    except StorageAwayError as error:
        raise JournalAwayError(str(error)) from error


def _marking(key: str, nonce: str, state: PostState, message_id: int | None) -> WriteStep:
    values = {"its_key": key, "its_nonce": nonce, "state": state, "message_id": message_id}
    return WriteStep(_MARK, values, _journal_row_of(key, nonce))


def _journal_row_of(key: str, nonce: str = "") -> tuple[object, ...]:
    return "journal", key, nonce


def _intending(store: Transactions) -> Executable:
    row = store.insert(_POSTS)
    again = {name: row.excluded[name] for name in ("body", "state", "message_id")}
    statement: Executable = row.on_conflict_do_update(index_elements=["key", "nonce"], set_=again)
    return statement


def _stream(row: Stream, posts: tuple[JournalledPost, ...]) -> JournalledStream:
    return JournalledStream(
        key=row.key,
        instance=row.instance,
        server_id=row.server_id,
        channel_id=row.channel_id,
        user_id=row.user_id,
        answering_id=row.answering_id,
        persona=row.persona,
        began=row.began,
        posts=posts,
    )


def _post(row: Post) -> JournalledPost:
    return JournalledPost(
        nonce=row.nonce,
        number=row.number,
        body=row.body,
        newest_id=row.newest_id,
        state=cast(PostState, row.state),
        message_id=row.message_id,
    )


# Questions that were admitted and have no answer yet.
#
# A row is written before the turn begins, and deleted when the question is settled, whatever the
# answer. The next process takes over the rows of one that has ended.


QUESTIONS_KEPT_DAYS = 7
"""Nobody expects an answer to an older question, even in a channel that could not be reached."""

_QUESTIONS = Base.metadata.tables[QuestionRow.__tablename__]
_SETTLE = in_passing(
    delete(_QUESTIONS).where(
        _QUESTIONS.c.channel_id == bindparam("its_channel"),
        _QUESTIONS.c.message_id == bindparam("its_message"),
    )
)


class QuestionRepository:
    """The questions of one process, as distinct from earlier processes of the same name."""

    def __init__(self, store: Transactions) -> None:
        self._store = store
        self._process = secrets.token_hex(8)
        self._keep = _keeping(store)

    async def keep(self, question: StoredQuestion) -> None:
        """Store a question of this process.

        If it is already stored, its time stays, unless `is_begun`.
        """
        await self._store.writer.write_entry(self.keeping(question))

    def keeping(self, question: StoredQuestion) -> WriteEntry:
        values = {
            "channel_id": question.channel_id,
            "message_id": question.message_id,
            "server_id": question.server_id,
            "user_id": question.user_id,
            "instance": question.instance,
            "process": self._process,
            "why": question.why,
            "is_begun": question.is_begun,
            "at": question.at or self._store.now(),
        }
        lane = turns_lane(question.channel_id)
        step = WriteStep(
            self._keep, values, _question_row_of(question.channel_id, question.message_id)
        )
        return WriteEntry((step,), lane=lane, repeatable=True)

    async def settle(self, channel_id: int, message_ids: Collection[int]) -> None:
        """Delete questions that were answered or refused with a notice."""
        if message_ids:
            await self._store.writer.write_entry(self.settling(channel_id, message_ids))

    def settling(self, channel_id: int, message_ids: Collection[int]) -> WriteEntry:
        steps = [
            WriteStep(_SETTLE, values, _question_row_of(channel_id, values["its_message"]))
            for values in (
                {"its_channel": channel_id, "its_message": message_id} for message_id in message_ids
            )
        ]
        return WriteEntry(tuple(steps), lane=turns_lane(channel_id), repeatable=True)

    @reads
    async def left_by(self, instance: str) -> tuple[StoredQuestion, ...]:
        """Return the questions of earlier processes of that name, in message order."""
        mine = QuestionRow.instance == instance, QuestionRow.process != self._process
        rows = select(QuestionRow).where(*mine).order_by(QuestionRow.message_id)
        async with self._store.read() as session:
            return tuple(map(_record, await session.scalars(rows)))

    @reads
    async def get(self, channel_id: int, message_id: int) -> StoredQuestion | None:
        async with self._store.read() as session:
            row = await session.get(QuestionRow, (channel_id, message_id))
            return None if row is None else _record(row)

    @reads
    async def open_in(self, channel_id: int) -> frozenset[int]:
        """Return the open questions of a channel, of all processes."""
        ids = select(QuestionRow.message_id).where(QuestionRow.channel_id == channel_id)
        async with self._store.read() as session:
            return frozenset(await session.scalars(ids))

    @writes
    async def forget_old(self) -> None:
        """Delete questions that are too old to be answered."""
        edge = self._store.now() - timedelta(QUESTIONS_KEPT_DAYS)
        async with self._store.write() as session:
            await session.execute(in_passing(delete(QuestionRow).where(QuestionRow.at < edge)))

    @writes
    async def adopt(self, instance: str, new_instance: str) -> int:
        """Give the questions of one process to another. Return their number."""
        theirs = (
            update(QuestionRow)
            .where(QuestionRow.instance == instance)
            .values(instance=new_instance)
        )
        async with self._store.write() as session:
            return len(tuple(await session.scalars(theirs.returning(QuestionRow.message_id))))


def _question_row_of(channel_id: int, message_id: int) -> tuple[object, ...]:
    return "question", channel_id, message_id


def _keeping(store: Transactions) -> Executable:
    row = store.insert(_QUESTIONS)
    again = {name: row.excluded[name] for name in ("instance", "process", "why", "is_begun")}
    again["at"] = case((row.excluded.is_begun, row.excluded.at), else_=_QUESTIONS.c.at)
    statement: Executable = row.on_conflict_do_update(
        index_elements=["channel_id", "message_id"], set_=again
    )
    return statement


def _record(row: QuestionRow) -> StoredQuestion:
    return StoredQuestion(
        channel_id=row.channel_id,
        message_id=row.message_id,
        server_id=row.server_id,
        user_id=row.user_id,
        instance=row.instance,
        why=row.why,
        at=row.at,
        is_begun=row.is_begun,
    )
