"""The journal of running responses: `send_journal` writes it, `crash_recovery` reads it.

On the way of every message: each entry is one short transaction of one statement.
"""

from __future__ import annotations

from datetime import timedelta
from typing import cast

from sqlalchemy import Executable, bindparam, delete, select, update

from oshaberi.storage.schema import table_rows
from oshaberi.storage.stored_records import JournalledPost, JournalledStream, PostState
from oshaberi.storage.transactions import Transactions

Stream = table_rows.JournalStreamRow
Post = table_rows.JournalPostRow

KEPT_DAYS = 7
"""After that nobody will finish a response, whichever process it belonged to."""


_POSTS = table_rows.Base.metadata.tables[Post.__tablename__]
_STREAMS = table_rows.Base.metadata.tables[Stream.__tablename__]
_MARK = (
    update(_POSTS)
    .where(_POSTS.c.key == bindparam("its_key"), _POSTS.c.nonce == bindparam("its_nonce"))
    .values(state=bindparam("state"), message_id=bindparam("message_id"))
)
_FORGET = delete(_STREAMS).where(_STREAMS.c.key == bindparam("its_key"))


class JournalRepository:
    def __init__(self, store: Transactions) -> None:
        self._store = store
        self._intend = _intending(store)

    async def begin(self, stream: JournalledStream) -> None:
        """Its `posts` are not looked at: they are written one by one."""
        now = self._store.now()
        row = Stream(
            key=stream.key,
            instance=stream.instance,
            server_id=stream.server_id,
            channel_id=stream.channel_id,
            user_id=stream.user_id,
            answering_id=stream.answering_id,
            persona=stream.persona,
            began=stream.began or now,
        )
        async with self._store.write() as session:
            await session.execute(delete(Stream).where(Stream.began < now - timedelta(KEPT_DAYS)))
            session.add(row)

    async def intend(self, key: str, post: JournalledPost) -> None:
        """Again under the same nonce: the new body counts, but the first `newest_id` stays."""
        values = {
            "key": key,
            "nonce": post.nonce,
            "number": post.number,
            "body": dict(post.body),
            "newest_id": post.newest_id,
            "state": "intended",
            "message_id": None,
        }
        await self._store.write_once(self._intend, values)

    async def sent(self, key: str, nonce: str, message_id: int | None) -> None:
        await self._set(key, nonce, "sent", message_id)

    async def refused(self, key: str, nonce: str) -> None:
        await self._set(key, nonce, "refused", None)

    async def finish(self, key: str) -> None:
        await self._store.write_once(_FORGET, {"its_key": key})

    async def unfinished(self, instance: str) -> tuple[JournalledStream, ...]:
        """What this process left behind, oldest first, each with its messages in order."""
        streams = select(Stream).where(Stream.instance == instance)
        posts = select(Post).join(Stream, Stream.key == Post.key).where(Stream.instance == instance)
        async with self._store.read() as session:
            streams_there = (await session.scalars(streams.order_by(Stream.began))).all()
            posts_there = (await session.scalars(posts.order_by(Post.number))).all()
        kept: dict[str, list[JournalledPost]] = {row.key: [] for row in streams_there}
        for row in posts_there:
            kept[row.key].append(_post(row))
        return tuple(_stream(row, tuple(kept[row.key])) for row in streams_there)

    async def adopt(self, instance: str, heir: str) -> tuple[str, ...]:
        """What one process left behind becomes another's; the keys of its streams."""
        theirs = update(Stream).where(Stream.instance == instance).values(instance=heir)
        async with self._store.write() as session:
            return tuple(await session.scalars(theirs.returning(Stream.key)))

    async def _set(self, key: str, nonce: str, state: PostState, message_id: int | None) -> None:
        values = {"its_key": key, "its_nonce": nonce, "state": state, "message_id": message_id}
        await self._store.write_once(_MARK, values)


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
