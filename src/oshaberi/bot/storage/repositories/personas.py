"""Personas and their sprites. Names are not case-sensitive."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from sqlalchemy import delete, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from oshaberi.bot.storage.changes import StoredChange
from oshaberi.bot.storage.errors import StorageError
from oshaberi.bot.storage.outages import reads, writes
from oshaberi.bot.storage.records import PersonaRecord, SpriteRecord
from oshaberi.bot.storage.schema.table_rows import (
    FactRow,
    GreetingRow,
    PersonaRow,
    SpriteRow,
    TurnRow,
)
from oshaberi.bot.storage.transactions import Transactions


class PersonaRepository:
    def __init__(self, store: Transactions) -> None:
        self._store = store

    @reads
    async def of(self, server_id: int) -> tuple[PersonaRecord, ...]:
        """Return the personas with their sprites, the default one first."""
        async with self._store.read() as session:
            return tuple(persona_record(row) for row in await _rows(session, server_id))

    @reads
    async def get(self, server_id: int, name: str) -> PersonaRecord | None:
        """Find a persona by its name, else by an alias."""
        async with self._store.read() as session:
            row = _find(await _rows(session, server_id), name, aliases=True)
            return None if row is None else persona_record(row)

    @writes
    async def save(self, record: PersonaRecord) -> PersonaRecord:
        """Store a persona: with this id, or (without an id) with this name, or a new one.

        Sprites are added and changed, never removed; `delete_sprite` removes them.
        """
        async with self._alone(record.server_id) as session:
            rows = await _rows(session, record.server_id)
            row = _to_change(rows, record)
            if record.is_default:
                await _clear_default(session, record.server_id)
            if row is None:
                row = PersonaRow(server_id=record.server_id, sprites=[])
                session.add(row)
            _fill(row, record)
            for sprite in record.sprites:
                _fill_sprite(row, sprite)
            await session.flush()
            return persona_record(row)

    @writes
    async def delete(self, server_id: int, name: str) -> bool:
        async with self._alone(server_id) as session:
            row = _find(await _rows(session, server_id), name)
            if row is not None:
                await session.execute(delete(FactRow).where(FactRow.persona_id == row.id))
                await session.delete(row)
            return row is not None

    @writes
    async def begin_greeting(
        self, persona: PersonaRecord, channel_id: int, question_id: int
    ) -> bool:
        """Return whether the persona greets the channel now: only once, at its first question.

        After a crash a question is answered again. The greeting is then repeated, unless it was
        stored as sent.
        """
        sent = select(TurnRow.id).where(
            TurnRow.channel_id == channel_id,
            TurnRow.asked_id == question_id,
            TurnRow.persona == persona.name,
        )
        async with self._store.write() as session:
            await self._store.alone(session, f"greetings {channel_id}")
            if await session.get(PersonaRow, persona.id) is None:
                return False
            row = await session.get(GreetingRow, (persona.id, channel_id))
            if row is not None:
                is_repeated = row.question_id == question_id
                return is_repeated and (await session.scalar(sent.limit(1))) is None
            session.add(
                GreetingRow(persona_id=persona.id, channel_id=channel_id, question_id=question_id)
            )
            return True

    @writes
    async def make_default(self, server_id: int, name: str) -> bool:
        async with self._alone(server_id) as session:
            row = _find(await _rows(session, server_id), name)
            if row is not None:
                await _clear_default(session, server_id)
                row.is_default = True
            return row is not None

    @writes
    async def save_sprite(self, server_id: int, persona: str, sprite: SpriteRecord) -> None:
        """Store a sprite by its name. Raises StorageError if the persona does not exist."""
        async with self._alone(server_id) as session:
            row = _find(await _rows(session, server_id), persona)
            if row is None:
                raise StorageError(f"there is no persona named {persona!r}: create it first")
            _fill_sprite(row, sprite)

    @writes
    async def delete_sprite(self, server_id: int, persona: str, name: str) -> bool:
        async with self._alone(server_id) as session:
            row = _find(await _rows(session, server_id), persona)
            sprites = [] if row is None else row.sprites
            found = next((one for one in sprites if one.name_key == _key(name)), None)
            if found is not None:
                sprites.remove(found)
            return found is not None

    @asynccontextmanager
    async def _alone(self, server_id: int) -> AsyncIterator[AsyncSession]:
        async with self._store.write(StoredChange("personas", server_id)) as session:
            await self._store.alone(session, f"personas {server_id}")
            yield session


async def _rows(session: AsyncSession, server_id: int) -> Sequence[PersonaRow]:
    found = select(PersonaRow).where(PersonaRow.server_id == server_id)
    ordered = found.order_by(PersonaRow.is_default.desc(), PersonaRow.id)
    return (await session.scalars(ordered)).all()


async def _clear_default(session: AsyncSession, server_id: int) -> None:
    await session.execute(
        update(PersonaRow).where(PersonaRow.server_id == server_id).values(is_default=False)
    )


def _find(rows: Sequence[PersonaRow], name: str, *, aliases: bool = False) -> PersonaRow | None:
    key = _key(name)
    named = next((row for row in rows if row.name_key == key), None)
    if named is not None or not aliases:
        return named
    return next((row for row in rows if key in map(_key, row.aliases)), None)


def _to_change(rows: Sequence[PersonaRow], record: PersonaRecord) -> PersonaRow | None:
    namesake = _find(rows, record.name)
    if not record.id:
        return namesake
    if namesake is not None and namesake.id != record.id:
        raise StorageError(f"there is already a persona named {namesake.name!r}: take another name")
    row = next((row for row in rows if row.id == record.id), None)
    if row is None:
        raise StorageError(f"the persona {record.name!r} is gone: create it again")
    return row


def _fill(row: PersonaRow, record: PersonaRecord) -> None:
    row.name = record.name.strip()
    row.name_key = _key(record.name)
    row.prompt = record.prompt
    row.aliases = list(record.aliases)
    row.triggers = list(record.triggers)
    row.avatar_url = record.avatar_url
    row.samples = [list(pair) for pair in record.samples]
    row.is_default = record.is_default
    row.is_age_restricted = record.is_age_restricted
    row.card = None if record.card is None else dict(record.card)
    row.options = dict(record.options) or None


def _fill_sprite(row: PersonaRow, sprite: SpriteRecord) -> None:
    found = next((one for one in row.sprites if one.name_key == _key(sprite.name)), None)
    if found is None:
        found = SpriteRow()
        row.sprites.append(found)
    found.name = sprite.name.strip()
    found.name_key = _key(sprite.name)
    found.avatar_url = sprite.avatar_url
    found.is_identity = sprite.is_identity


def persona_record(row: PersonaRow) -> PersonaRecord:
    """Return a row as a record. A row of another instance may raise anything about its shape."""
    return PersonaRecord(
        server_id=row.server_id,
        name=row.name,
        prompt=row.prompt,
        aliases=tuple(row.aliases),
        triggers=tuple(row.triggers),
        avatar_url=row.avatar_url,
        samples=tuple((asked, answered) for asked, answered in row.samples),
        sprites=tuple(SpriteRecord(s.name, s.avatar_url, s.is_identity) for s in row.sprites),
        is_default=row.is_default,
        is_age_restricted=row.is_age_restricted,
        id=row.id,
        card=row.card,
        options=row.options or {},
    )


def _key(name: str) -> str:
    return name.strip().casefold()
