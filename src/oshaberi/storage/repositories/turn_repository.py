"""The newest turns of each channel, for `/continue`, `/regenerate` and the message menu."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from sqlalchemy import Executable, bindparam, delete, func, insert, or_, select, update

from oshaberi.storage.outages.repository_decorators import reads, writes
from oshaberi.storage.schema import table_rows
from oshaberi.storage.schema.table_rows import TurnMessageRow, TurnRow
from oshaberi.storage.stored_records import TAKEN_BACK, TurnRecord
from oshaberi.storage.transactions import Transactions, beyond_newest, in_passing
from oshaberi.storage.write_entries import WriteEntry, WriteStep, turns_lane

KEPT_PER_CHANNEL = 50
MOST_LOOKED_AT = 4 * KEPT_PER_CHANNEL
"""Old turns are deleted now and then, so a channel can have more than are kept."""
KEPT_DAYS = 180
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
        values = {"last_kept": KEPT_PER_CHANNEL - 1}
        steps = [WriteStep(_BEYOND_NEWEST, {"its_channel": one, **values}) for one in grown]
        old = WriteStep(_OLD, {"edge": self._store.now() - timedelta(KEPT_DAYS)})
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
        """Return why this question was answered or not, by each of its turns, newest first."""
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
        """Mark a turn as deleted. Its question is kept, its messages are not."""
        values = {"message_ids": [], "undelivered": "", "status": TAKEN_BACK}
        async with self._store.write() as session:
            await session.execute(update(TurnRow).where(TurnRow.id == turn.id).values(**values))

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
