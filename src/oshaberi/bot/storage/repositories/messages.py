"""The bot's messages and turns, and the newest handled message of each channel."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from typing import Any

from sqlalchemy import Executable, bindparam, delete, func, insert, or_, select, update

from oshaberi.bot.storage.group_commit import WriteEntry, WriteStep, turns_lane
from oshaberi.bot.storage.outages import reads, writes
from oshaberi.bot.storage.records import TAKEN_BACK, TurnRecord
from oshaberi.bot.storage.schema import table_rows
from oshaberi.bot.storage.schema.table_rows import (
    SeenMessageRow,
    SpriteMessageRow,
    TableSourceRow,
    TurnMessageRow,
    TurnRow,
)
from oshaberi.bot.storage.transactions import Transactions, beyond_newest, in_passing

# What a message of the bot shows: its sprite, or the source of a table's picture.


MESSAGES_PER_CHANNEL = 1000
"""No turn looks back further in a channel."""
MESSAGES_KEPT_DAYS = 180
"""The most that `retention_turns_days` can be."""

MessageRow = type[SpriteMessageRow | TableSourceRow]


class _MessageNotes:
    """Statements for one of the two tables; `words` are its text columns."""

    def __init__(self, store: Transactions, model: MessageRow, *words: str) -> None:
        self._store = store
        self._grown: set[int] = set()
        row = store.insert(model)
        self._add: Executable = row.on_conflict_do_update(
            index_elements=["message_id"], set_={name: row.excluded[name] for name in words}
        )
        self._beyond_newest = beyond_newest(model.message_id, model.channel_id)
        self._old = in_passing(delete(model).where(model.at < bindparam("edge")))

    def adding(self, channel_id: int, notes: Mapping[int, Mapping[str, Any]]) -> WriteEntry:
        """Return the entry that stores `notes`: the texts by message."""
        self._grown.add(channel_id)
        common = {"channel_id": channel_id, "at": self._store.now()}
        steps = (
            WriteStep(self._add, {"message_id": message_id, **common, **words})
            for message_id, words in notes.items()
        )
        return WriteEntry(tuple(steps), repeatable=True)

    def pruning(self) -> WriteEntry:
        grown, self._grown = self._grown, set()
        values = {"last_kept": MESSAGES_PER_CHANNEL - 1}
        steps = [WriteStep(self._beyond_newest, {"its_channel": one, **values}) for one in grown]
        old = WriteStep(self._old, {"edge": self._store.now() - timedelta(days=MESSAGES_KEPT_DAYS)})
        return WriteEntry((*steps, old), repeatable=True)


class SpriteMessageRepository:
    def __init__(self, store: Transactions) -> None:
        self._store = store
        self._notes = _MessageNotes(store, SpriteMessageRow, "persona", "sprite")
        self.pruning = self._notes.pruning

    async def remember(self, message_id: int, channel_id: int, persona: str, sprite: str) -> None:
        entry = self.adding(channel_id, {message_id: (persona, sprite)})
        await self._store.writer.write_entry(entry)

    def adding(self, channel_id: int, labels: Mapping[int, tuple[str, str]]) -> WriteEntry:
        """Return the entry that stores `labels`: persona and sprite by message."""
        notes = {key: {"persona": one, "sprite": two} for key, (one, two) in labels.items()}
        return self._notes.adding(channel_id, notes)

    @reads
    async def labels(self, message_ids: Collection[int]) -> dict[int, tuple[str, str]]:
        """Return persona and sprite of the messages that had a sprite."""
        rows = select(SpriteMessageRow).where(SpriteMessageRow.message_id.in_(message_ids))
        async with self._store.read() as session:
            found = await session.scalars(rows)
            return {row.message_id: (row.persona, row.sprite) for row in found}


class TableSourceRepository:
    def __init__(self, store: Transactions) -> None:
        self._store = store
        self._notes = _MessageNotes(store, TableSourceRow, "source")
        self.pruning = self._notes.pruning

    async def remember(self, message_id: int, channel_id: int, source: str) -> None:
        await self._store.writer.write_entry(self.adding(channel_id, {message_id: source}))

    def adding(self, channel_id: int, sources: Mapping[int, str]) -> WriteEntry:
        """Return the entry that stores `sources`: the table by message."""
        notes = {message_id: {"source": source} for message_id, source in sources.items()}
        return self._notes.adding(channel_id, notes)

    @reads
    async def sources(self, message_ids: Collection[int]) -> dict[int, str]:
        rows = select(TableSourceRow).where(TableSourceRow.message_id.in_(message_ids))
        async with self._store.read() as session:
            return {row.message_id: row.source for row in await session.scalars(rows)}


# The newest handled message of each channel: where to continue after a restart.


class LastSeenRepository:
    def __init__(self, store: Transactions) -> None:
        self._store = store
        row = store.insert(SeenMessageRow)
        self._note: Executable = row.on_conflict_do_update(
            index_elements=["channel_id"],
            set_={"message_id": row.excluded.message_id},
            where=SeenMessageRow.message_id < row.excluded.message_id,
        )

    @reads
    async def last(self, channel_id: int) -> int | None:
        async with self._store.read() as session:
            row = await session.get(SeenMessageRow, channel_id)
            return None if row is None else row.message_id

    async def note(self, channel_id: int, message_id: int) -> None:
        """Store the newest message. One that is older than the stored message changes nothing."""
        values = {"channel_id": channel_id, "message_id": message_id}
        step = WriteStep(self._note, values, ("seen", channel_id))
        await self._store.writer.write(step, repeatable=True)


# The newest turns of each channel, for `/continue`, `/regenerate` and the message menu.


TURNS_PER_CHANNEL = 50
MOST_LOOKED_AT = 4 * TURNS_PER_CHANNEL
"""Old turns are deleted now and then, so a channel can have more than are kept."""
TURNS_KEPT_DAYS = 180
"""The most that `retention_turns_days` can be."""

_TURNS = table_rows.Base.metadata.tables[TurnRow.__tablename__]
_LINKS = table_rows.Base.metadata.tables[TurnMessageRow.__tablename__]
_ADD = insert(_TURNS).inline()
_SET_MESSAGES = (
    update(_TURNS)
    .where(_TURNS.c.channel_id == bindparam("its_channel"), _TURNS.c.at == bindparam("its_moment"))
    .values(message_ids=bindparam("its_messages"))
)
_BEYOND_NEWEST = beyond_newest(TurnRow.id, TurnRow.channel_id)
_OLD = in_passing(delete(_TURNS).where(_TURNS.c.at < bindparam("edge")))


class TurnRepository:
    def __init__(self, store: Transactions) -> None:
        self._store = store
        self._link = _linking(store)
        self._grown: set[int] = set()
        """Channels that had turns since the last pruning."""

    async def remember(self, turn: TurnRecord) -> None:
        await self._store.writer.write_entry(self.adding(turn))

    def adding(self, turn: TurnRecord) -> WriteEntry:
        """Return the entry that stores a turn. A message belongs to its newest turn."""
        self._grown.add(turn.channel_id)
        values = _values(turn, self._store)
        its = {"its_channel": turn.channel_id, "its_moment": values["at"]}
        links = [WriteStep(self._link, {"message_id": one, **its}) for one in turn.message_ids]
        return WriteEntry((WriteStep(_ADD, values), *links), lane=turns_lane(turn.channel_id))

    async def set_messages(self, turn: TurnRecord) -> None:
        """Replace the messages of the stored turn that has this channel and time."""
        its = {"its_channel": turn.channel_id, "its_moment": turn.at}
        links = [WriteStep(self._link, {"message_id": one, **its}) for one in turn.message_ids]
        changed = WriteStep(_SET_MESSAGES, {"its_messages": list(turn.message_ids), **its})
        lane = turns_lane(turn.channel_id)
        await self._store.writer.write(changed, *links, lane=lane, repeatable=True)

    def pruning(self) -> WriteEntry:
        grown, self._grown = self._grown, set()
        values = {"last_kept": TURNS_PER_CHANNEL - 1}
        steps = [WriteStep(_BEYOND_NEWEST, {"its_channel": one, **values}) for one in grown]
        old = WriteStep(_OLD, {"edge": self._store.now() - timedelta(TURNS_KEPT_DAYS)})
        return WriteEntry((*steps, old), repeatable=True)

    @reads
    async def of_message(self, message_id: int) -> TurnRecord | None:
        """Return the turn that wrote this message, or None."""
        found = select(TurnRow).join(TurnMessageRow, TurnMessageRow.turn_id == TurnRow.id)
        async with self._store.read() as session:
            row = await session.scalar(found.where(TurnMessageRow.message_id == message_id))
            return None if row is None else _record(row)

    @reads
    async def reasons(self, channel_id: int, message_id: int) -> tuple[str, ...]:
        """Return why this question was or was not answered, for each of its turns, newest first."""
        here = select(TurnRow.questions).where(TurnRow.channel_id == channel_id)
        async with self._store.read() as session:
            newest = await session.scalars(here.order_by(TurnRow.id.desc()).limit(MOST_LOOKED_AT))
            found = (questions.get(str(message_id)) for questions in newest)
            return tuple(why for why in found if why is not None)

    @reads
    async def whole(self, turn: TurnRecord) -> tuple[TurnRecord, ...]:
        """Return all turns of the answer to which this turn belongs, oldest first."""
        first = turn.first_id
        here = select(TurnRow).where(TurnRow.channel_id == turn.channel_id)
        parts = here.where(or_(TurnRow.id == first, TurnRow.answer_id == first))
        async with self._store.read() as session:
            return tuple(map(_record, await session.scalars(parts.order_by(TurnRow.id))))

    @writes
    async def take_back(self, turn: TurnRecord) -> None:
        """Mark a turn as deleted. Its question is kept, but its messages are not."""
        values = {"message_ids": [], "undelivered": "", "status": TAKEN_BACK}
        async with self._store.write() as session:
            await session.execute(update(TurnRow).where(TurnRow.id == turn.id).values(**values))

    @writes
    async def replace_messages(
        self, whole: Sequence[TurnRecord], message_ids: Sequence[int], undelivered: str
    ) -> None:
        """Store that the whole answer consists of these messages; they belong to its last turn."""
        last, values = whole[-1], {"message_ids": list(message_ids), "undelivered": undelivered}
        earlier = [part.id for part in whole[:-1]]
        row = self._store.insert(TurnMessageRow)
        link = row.on_conflict_do_update(
            index_elements=["message_id"], set_={"turn_id": row.excluded.turn_id}
        )
        async with self._store.write() as session:
            emptied = update(TurnRow).where(TurnRow.id.in_(earlier))
            await session.execute(emptied.values(message_ids=[], undelivered=""))
            changed = update(TurnRow).where(TurnRow.id == last.id)
            await session.execute(changed.values(status="completed", **values))
            links = [{"message_id": one, "turn_id": last.id} for one in message_ids]
            if links:
                await session.execute(link, links)

    @writes
    async def unlink(self, message_ids: Sequence[int]) -> None:
        """Forget which turn these messages belong to, before the bot deletes them itself."""
        async with self._store.write() as session:
            gone = delete(TurnMessageRow).where(TurnMessageRow.message_id.in_(message_ids))
            await session.execute(gone)

    @reads
    async def direct_channels(self, most: int) -> tuple[int, ...]:
        """Return the DM channels with the newest turns, newest first."""
        found = (
            select(TurnRow.channel_id).where(TurnRow.server_id == 0).group_by(TurnRow.channel_id)
        )
        async with self._store.read() as session:
            newest = found.order_by(func.max(TurnRow.id).desc()).limit(most)
            return tuple(await session.scalars(newest))

    async def last(self, channel_id: int) -> TurnRecord | None:
        return next(iter(await self.newest(channel_id, 1)), None)

    @reads
    async def newest(self, channel_id: int, count: int) -> tuple[TurnRecord, ...]:
        """Return the channel's turns, newest first."""
        here = select(TurnRow).where(TurnRow.channel_id == channel_id)
        async with self._store.read() as session:
            rows = await session.scalars(here.order_by(TurnRow.id.desc()).limit(count))
            return tuple(map(_record, rows))


def _linking(store: Transactions) -> Executable:
    """Return the statement that links a message to the turn that was written just before."""
    here = select(_TURNS.c.id).where(
        _TURNS.c.channel_id == bindparam("its_channel"), _TURNS.c.at == bindparam("its_moment")
    )
    turn = here.order_by(_TURNS.c.id.desc()).limit(1).scalar_subquery()
    row = store.insert(_LINKS).values(message_id=bindparam("message_id"), turn_id=turn)
    link: Executable = row.on_conflict_do_update(
        index_elements=["message_id"], set_={"turn_id": row.excluded.turn_id}
    )
    return link


def _values(turn: TurnRecord, store: Transactions) -> dict[str, Any]:
    return {
        "channel_id": turn.channel_id,
        "server_id": turn.server_id,
        "user_id": turn.user_id,
        "asked_id": turn.asked_id,
        "persona": turn.persona,
        "message_ids": list(turn.message_ids),
        "status": turn.status,
        "undelivered": turn.undelivered,
        "why": turn.why,
        "at": turn.at or store.now(),
        "answer_id": turn.answer_id,
        "questions": {str(message_id): why for message_id, why in turn.questions.items()},
    }


def _record(row: TurnRow) -> TurnRecord:
    return TurnRecord(
        channel_id=row.channel_id,
        server_id=row.server_id,
        user_id=row.user_id,
        asked_id=row.asked_id,
        persona=row.persona,
        message_ids=tuple(row.message_ids),
        status=row.status,
        undelivered=row.undelivered,
        why=row.why,
        at=row.at,
        answer_id=row.answer_id,
        questions={int(message_id): why for message_id, why in row.questions.items()},
        id=row.id,
    )
