"""Remembers the sources of tables that became files, to store them with the message ids."""

from __future__ import annotations

from collections.abc import Iterable

from oshaberi.delivery.bookkeeping.character_ledger import DELIVERED, Ledger
from oshaberi.delivery.queue.table_attachments import TableRenderer
from oshaberi.events import Table
from oshaberi.render.table_picture import Picture


class DrawnTables:
    """A renderer that remembers the tables of one turn shown as pictures or as a file."""

    def __init__(self, renderer: TableRenderer) -> None:
        self._renderer = renderer
        self._shown: set[str] = set()

    def pictures(self, table: Table) -> list[Picture]:
        return self._renderer.pictures(table)

    def alt_text(self, table: Table) -> str:
        self._shown.add(table.source)
        return self._renderer.alt_text(table)

    def as_code(self, table: Table, max_length: int) -> list[str]:
        return self._renderer.as_code(table, max_length)

    def sources(self, ledgers: Iterable[Ledger]) -> dict[int, str]:
        """Map each message id to the source of the table it shows."""
        return {
            entry.message_id: entry.text
            for ledger in ledgers
            for entry in ledger.entries
            if entry.message_id and entry.fate == DELIVERED and entry.text in self._shown
        }
