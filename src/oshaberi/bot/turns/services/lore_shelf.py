"""The lorebooks of each server, read once, and which of them apply in a turn."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from oshaberi.bot.characters.lorebooks import Lorebook, book_from
from oshaberi.bot.storage import Database
from oshaberi.bot.storage.records import LorebookRecord, ModelRecord, PersonaRecord
from oshaberi.bot.turns.caches import StoredCache
from oshaberi.errors import ConfigError

log = logging.getLogger(__name__)

MOST_SERVERS = 200
MOST_PATTERNS = 400_000
"""How large the patterns of a server's books may be together (`lorebooks.pattern_size`)."""


@dataclass(frozen=True, slots=True)
class PlacedBook:
    """A lorebook, and for whom it is: a persona, a channel, or (0) everybody."""

    book: Lorebook
    persona_id: int
    channel_id: int


class LoreShelf:
    """The enabled lorebooks of each server, kept until they are changed."""

    def __init__(self) -> None:
        self._known: StoredCache[int, tuple[PlacedBook, ...]] = StoredCache(
            MOST_SERVERS, "lorebooks"
        )

    async def of(self, db: Database, server_id: int) -> tuple[PlacedBook, ...]:
        async def load() -> tuple[PlacedBook, ...]:
            records = await db.lorebooks.of(server_id)
            return await asyncio.to_thread(placed, records) if records else ()

        return await self._known.get(db.changes, server_id, server_id, load)


def placed(records: Iterable[LorebookRecord]) -> tuple[PlacedBook, ...]:
    return tuple(_read(records))


def _read(records: Iterable[LorebookRecord]) -> Iterator[PlacedBook]:
    room = MOST_PATTERNS
    for record in records:
        if not record.is_enabled:
            continue
        try:
            book = replace(book_from(record.content), name=record.name)
        except ConfigError:
            continue  # stored by another version; `/lore list` shows it without entries
        room -= book.pattern_size
        if room < 0:
            log.warning(
                "a lorebook of server %s is left out: the patterns of all are too large",
                record.server_id,
            )
            room += book.pattern_size
            continue
        yield PlacedBook(book, record.persona_id, record.channel_id)


def books_in(
    books: Sequence[PlacedBook], persona: PersonaRecord, place_ids: Sequence[int]
) -> tuple[Lorebook, ...]:
    """Return the books that apply: the persona's own first, then the channel's, the server's."""
    applying = [
        one
        for one in books
        if one.persona_id in (0, persona.id) and (not one.channel_id or one.channel_id in place_ids)
    ]
    applying.sort(key=lambda one: (not one.persona_id, not one.channel_id))
    return tuple(one.book for one in applying)


def smallest_window(models: Iterable[ModelRecord]) -> int | None:
    """Return the smallest window in the options of these models."""
    named = (model.params.get("window") for model in models)
    return min((one for one in named if isinstance(one, int)), default=None)
