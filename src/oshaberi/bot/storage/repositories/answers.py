"""What is stored about answers besides their text: earlier versions, and reactions."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import cast

from sqlalchemy import ColumnElement, bindparam, delete, func, select, update

from oshaberi.bot.storage.group_commit import WriteEntry, WriteStep, turns_lane
from oshaberi.bot.storage.outages import reads, writes
from oshaberi.bot.storage.records import AnswerKey, AnswerReaction, AnswerVersion, Verdict
from oshaberi.bot.storage.schema import table_rows
from oshaberi.bot.storage.schema.table_rows import AnswerReactionRow, AnswerVersionRow
from oshaberi.bot.storage.transactions import Transactions, beyond_newest, count, in_passing

# The versions of an answer. The newest one is stored only when another takes its place.

MOST_VERSIONS = 10
"""The most that `answer_versions` can be."""
VERSIONS_PER_CHANNEL = 500
REACTIONS_PER_CHANNEL = 1000
KEPT_DAYS = 180
"""The most that `retention_turns_days` can be."""

_VERSIONS = table_rows.Base.metadata.tables[AnswerVersionRow.__tablename__]
_REACTIONS = table_rows.Base.metadata.tables[AnswerReactionRow.__tablename__]
_BEYOND_NEWEST = beyond_newest(AnswerVersionRow.id, AnswerVersionRow.channel_id)
_OLD_VERSIONS = in_passing(delete(_VERSIONS).where(_VERSIONS.c.at < bindparam("edge")))
_REACTIONS_BEYOND_NEWEST = beyond_newest(AnswerReactionRow.message_id, AnswerReactionRow.channel_id)
_OLD_REACTIONS = in_passing(delete(_REACTIONS).where(_REACTIONS.c.at < bindparam("edge")))
_FORGET_QUESTION = delete(_VERSIONS).where(
    _VERSIONS.c.channel_id == bindparam("its_channel"),
    _VERSIONS.c.asked_id == bindparam("its_message"),
)
_FORGET_REACTIONS = delete(_REACTIONS).where(_REACTIONS.c.message_id == bindparam("its_message"))


class AnswerVersionRepository:
    def __init__(self, store: Transactions) -> None:
        self._store = store
        self._grown: set[int] = set()

    @reads
    async def of(self, key: AnswerKey) -> tuple[AnswerVersion, ...]:
        """Return the versions that are kept, oldest first."""
        rows = select(AnswerVersionRow).where(_is(key)).order_by(AnswerVersionRow.number)
        async with self._store.read() as session:
            return tuple(_version(row) for row in await session.scalars(rows))

    @writes
    async def keep(
        self,
        key: AnswerKey,
        owner: tuple[int, int],
        left: AnswerVersion | None,
        *,
        shown: int | None,
        most: int,
    ) -> None:
        """Store the version that is replaced in the channel, and which one replaces it.

        `owner` is the server and the user; `shown` is the number of a stored version, None if a new
        one is being written. If there are more than `most` versions, the oldest are deleted.
        """
        self._grown.add(key.channel_id)
        async with self._store.write() as session:
            if left is not None:
                row = self._store.insert(AnswerVersionRow).values(
                    **_values(key, owner, left), at=self._store.now()
                )
                changed = {name: getattr(row.excluded, name) for name in _CONTENTS}
                await session.execute(
                    row.on_conflict_do_update(
                        index_elements=["channel_id", "asked_id", "persona", "number"],
                        set_=changed,
                    )
                )
            hidden = {"is_shown": False, "is_applied": True}
            await session.execute(update(AnswerVersionRow).where(_is(key)).values(**hidden))
            if shown is not None:
                chosen = update(AnswerVersionRow).where(_is(key), AnswerVersionRow.number == shown)
                await session.execute(chosen.values(is_shown=True, is_applied=False))
            newest = select(AnswerVersionRow.number).where(_is(key))
            newest = newest.order_by(AnswerVersionRow.number.desc()).limit(most)
            kept = tuple(await session.scalars(newest))
            if len(kept) == most:
                old = delete(AnswerVersionRow).where(_is(key), AnswerVersionRow.number < min(kept))
                await session.execute(in_passing(old))

    @writes
    async def note_applied(self, key: AnswerKey) -> None:
        """Note that the channel's messages now show the chosen version."""
        async with self._store.write() as session:
            rows = update(AnswerVersionRow).where(_is(key)).values(is_applied=True)
            await session.execute(rows)

    @reads
    async def unapplied(self) -> tuple[AnswerKey, ...]:
        """Return the answers whose change to another version was interrupted."""
        rows = select(AnswerVersionRow).where(AnswerVersionRow.is_applied.is_(False))
        async with self._store.read() as session:
            found = await session.scalars(rows)
            return tuple(AnswerKey(row.channel_id, row.asked_id, row.persona) for row in found)

    @writes
    async def forget(self, key: AnswerKey) -> int:
        async with self._store.write() as session:
            return await count(session, delete(AnswerVersionRow).where(_is(key)))

    async def forget_messages(self, channel_id: int, message_ids: Sequence[int]) -> None:
        """Delete the versions of the answers to these questions, because somebody deleted them.

        Raises StorageAwayError if the database is away; it then deletes them later.
        """
        steps = (
            WriteStep(_FORGET_QUESTION, {"its_channel": channel_id, "its_message": one})
            for one in message_ids
        )
        lane = turns_lane(channel_id)
        await self._store.writer.write(*steps, lane=lane, repeatable=True)

    def pruning(self) -> WriteEntry:
        grown, self._grown = self._grown, set()
        values = {"last_kept": VERSIONS_PER_CHANNEL - 1}
        steps = [WriteStep(_BEYOND_NEWEST, {"its_channel": one, **values}) for one in grown]
        edge = self._store.now() - timedelta(KEPT_DAYS)
        return WriteEntry((*steps, WriteStep(_OLD_VERSIONS, {"edge": edge})), repeatable=True)


_CONTENTS = ("texts", "answered", "details", "undelivered", "at")


def _is(key: AnswerKey) -> ColumnElement[bool]:
    return (
        (AnswerVersionRow.channel_id == key.channel_id)
        & (AnswerVersionRow.asked_id == key.asked_id)
        & (AnswerVersionRow.persona == key.persona)
    )


def _values(key: AnswerKey, owner: tuple[int, int], version: AnswerVersion) -> dict[str, object]:
    server_id, user_id = owner
    return {
        "channel_id": key.channel_id,
        "server_id": server_id,
        "user_id": user_id,
        "asked_id": key.asked_id,
        "persona": key.persona,
        "number": version.number,
        "texts": list(version.texts),
        "answered": version.answered,
        "details": version.details,
        "undelivered": version.undelivered,
        "is_shown": False,
        "is_applied": True,
    }


def _version(row: AnswerVersionRow) -> AnswerVersion:
    return AnswerVersion(
        row.number,
        tuple(row.texts),
        row.answered,
        row.details,
        row.undelivered,
        row.is_shown,
        row.is_applied,
    )


# Reactions to the bot's messages: what people thought of an answer.

MOST_REACTIONS = 50
"""How many reactions to one message are stored."""


class AnswerReactionRepository:
    def __init__(self, store: Transactions) -> None:
        self._store = store
        self._grown: set[int] = set()

    @writes
    async def add(self, reaction: AnswerReaction) -> None:
        """Store a reaction. A verdict replaces the user's other verdict about the message."""
        theirs = (AnswerReactionRow.message_id == reaction.message_id) & (
            AnswerReactionRow.user_id == reaction.user_id
        )
        here = select(func.count()).where(AnswerReactionRow.message_id == reaction.message_id)
        row = self._store.insert(AnswerReactionRow).values(
            message_id=reaction.message_id,
            user_id=reaction.user_id,
            emoji=reaction.emoji,
            channel_id=reaction.channel_id,
            server_id=reaction.server_id,
            verdict=reaction.verdict,
            at=self._store.now(),
        )
        self._grown.add(reaction.channel_id)
        async with self._store.write() as session:
            if reaction.verdict:
                other = delete(AnswerReactionRow).where(theirs, AnswerReactionRow.verdict != 0)
                await session.execute(in_passing(other))
            if (await session.scalar(here) or 0) < MOST_REACTIONS:
                await session.execute(row.on_conflict_do_nothing())

    @writes
    async def remove(self, message_id: int, user_id: int, emoji: str) -> None:
        gone = delete(AnswerReactionRow).where(
            AnswerReactionRow.message_id == message_id,
            AnswerReactionRow.user_id == user_id,
            AnswerReactionRow.emoji == emoji,
        )
        async with self._store.write() as session:
            await session.execute(in_passing(gone))

    @writes
    async def clear(self, message_id: int, emoji: str | None = None) -> None:
        """Delete everybody's reactions to a message; with an emoji only these."""
        gone = delete(AnswerReactionRow).where(AnswerReactionRow.message_id == message_id)
        if emoji is not None:
            gone = gone.where(AnswerReactionRow.emoji == emoji)
        async with self._store.write() as session:
            await session.execute(in_passing(gone))

    @reads
    async def to(self, message_ids: Collection[int], most: int) -> tuple[AnswerReaction, ...]:
        """Return the newest reactions to these messages, verdicts excluded, oldest first."""
        rows = select(AnswerReactionRow).where(
            AnswerReactionRow.message_id.in_(message_ids), AnswerReactionRow.verdict == 0
        )
        async with self._store.read() as session:
            newest = rows.order_by(AnswerReactionRow.at.desc()).limit(most)
            found = [_reaction(row) for row in await session.scalars(newest)]
        return tuple(reversed(found))

    @reads
    async def verdicts(self, server_id: int, since: datetime) -> tuple[int, int]:
        """Return how often people in a server called an answer good, and how often bad."""
        rows = select(AnswerReactionRow.verdict, func.count()).where(
            AnswerReactionRow.server_id == server_id, AnswerReactionRow.at >= since
        )
        async with self._store.read() as session:
            counted = await session.execute(rows.group_by(AnswerReactionRow.verdict))
            found = {row[0]: row[1] for row in counted}
        return found.get(1, 0), found.get(-1, 0)

    async def forget_messages(self, channel_id: int, message_ids: Sequence[int]) -> None:
        """Delete the reactions to deleted messages.

        Raises StorageAwayError if the database is away; it then deletes them later.
        """
        steps = (WriteStep(_FORGET_REACTIONS, {"its_message": one}) for one in message_ids)
        lane = turns_lane(channel_id)
        await self._store.writer.write(*steps, lane=lane, repeatable=True)

    def pruning(self) -> WriteEntry:
        grown, self._grown = self._grown, set()
        values = {"last_kept": REACTIONS_PER_CHANNEL - 1}
        steps = [
            WriteStep(_REACTIONS_BEYOND_NEWEST, {"its_channel": one, **values}) for one in grown
        ]
        edge = self._store.now() - timedelta(KEPT_DAYS)
        return WriteEntry((*steps, WriteStep(_OLD_REACTIONS, {"edge": edge})), repeatable=True)


def _reaction(row: AnswerReactionRow) -> AnswerReaction:
    return AnswerReaction(
        row.channel_id,
        row.server_id,
        row.message_id,
        row.user_id,
        row.emoji,
        cast(Verdict, row.verdict),
    )
