"""The journal of running responses: `send_journal` writes it, `crash_recovery` reads it.

Every message waits until its entry is stored. The writer groups the entries of all turns.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import cast

from sqlalchemy import Executable, bindparam, delete, select, update

from oshaberi.delivery.bookkeeping.send_journal import JournalAwayError
from oshaberi.storage.outages.repository_decorators import reads, writes
from oshaberi.storage.schema import table_rows
from oshaberi.storage.storage_errors import StorageAwayError
from oshaberi.storage.stored_records import JournalledPost, JournalledStream, PostState
from oshaberi.storage.transactions import Transactions, in_passing
from oshaberi.storage.write_entries import WriteEntry, WriteStep

Stream = table_rows.JournalStreamRow
Post = table_rows.JournalPostRow

BEGIN_SECONDS = 0.05
"""How soon a response is stored, whether or not it has messages."""
KEPT_DAYS = 7
"""After that no process will finish a response."""


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
        with _kept_for_later():
            await self._write(key, WriteStep(self._intend, values, _row_of(key, post.nonce)))

    def queue_sent(self, key: str, nonce: str, message_id: int | None) -> None:
        self._queue(key, _marking(key, nonce, "sent", message_id))

    async def sent(self, key: str, nonce: str, message_id: int | None) -> None:
        await self._write(key, _marking(key, nonce, "sent", message_id))

    def queue_refused(self, key: str, nonce: str) -> None:
        self._queue(key, _marking(key, nonce, "refused", None))

    async def refused(self, key: str, nonce: str) -> None:
        await self._write(key, _marking(key, nonce, "refused", None))

    async def finish(self, key: str) -> None:
        await self._store.writer.write_entry(self.finishing(key))

    async def flush(self) -> None:
        """Wait until everything in the queue is durable."""
        with _kept_for_later():
            await self._store.writer.flush()

    def finishing(self, key: str) -> WriteEntry:
        return WriteEntry((WriteStep(_FORGET, {"its_key": key}),), lane=key, repeatable=True)

    def pruning(self) -> WriteEntry:
        """Return the entry that deletes streams that are too old to be finished."""
        edge = self._store.now() - timedelta(KEPT_DAYS)
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
        return WriteStep(self._begin, values, _row_of(stream.key))

    def _queue(self, key: str, step: WriteStep) -> None:
        self._store.writer.queue(step, lane=key, repeatable=True)

    async def _write(self, key: str, step: WriteStep) -> None:
        await self._store.writer.write(step, lane=key, repeatable=True)


@contextmanager
def _kept_for_later() -> Iterator[None]:
    try:
        yield
    except StorageAwayError as error:
        raise JournalAwayError(str(error)) from error


def _marking(key: str, nonce: str, state: PostState, message_id: int | None) -> WriteStep:
    values = {"its_key": key, "its_nonce": nonce, "state": state, "message_id": message_id}
    return WriteStep(_MARK, values, _row_of(key, nonce))


def _row_of(key: str, nonce: str = "") -> tuple[object, ...]:
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
