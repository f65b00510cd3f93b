"""How large a lorebook may be, and how many a server may have: alone or in a card."""

from __future__ import annotations

import json
from collections.abc import Iterable

from oshaberi.bot.commands.command_context import CommandRefusedError
from oshaberi.bot.storage.records import LorebookRecord
from oshaberi.languages import translated

MOST_BOOKS = 50
LARGEST_BOOK = 1024 * 1024
"""How many bytes a book may have, as a file and as it is stored."""


def check_book(record: LorebookRecord, books: Iterable[LorebookRecord]) -> None:
    """Refuse a book that is too large, or more books than a server may have."""
    if len(json.dumps(record.content, ensure_ascii=False)) > LARGEST_BOOK:
        raise CommandRefusedError(translated("The lorebook would be larger than 1 MB."))
    names = {one.name.casefold() for one in books}
    if not record.id and len(names) >= MOST_BOOKS and record.name.casefold() not in names:
        raise CommandRefusedError(
            translated("At most {most} lorebooks; remove one first.", most=MOST_BOOKS)
        )
