"""Remembers the sources of tables and code blocks that became files, to store them with the ids."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

from oshaberi.delivery.attachments import (
    AttachmentRenderer,
    DeliveryPlugIns,
    TableRenderer,
    rendered_block,
)
from oshaberi.delivery.ledger import DELIVERED, Ledger
from oshaberi.delivery.sink import File
from oshaberi.events import Table
from oshaberi.render.grid import Picture


class AttachmentSources:
    """A renderer that remembers the tables of one turn that became pictures or files.

    `plug_ins` remember the code blocks that they turned into files.
    """

    def __init__(self, renderer: TableRenderer, plug_ins: DeliveryPlugIns) -> None:
        attachments = {
            language: partial(self._remembering, drawn)
            for language, drawn in plug_ins.attachments.items()
        }
        self.plug_ins = replace(plug_ins, attachments=attachments)
        self._renderer = renderer
        self._shown: set[str] = set()
        self._blocks: set[str] = set()

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
            if entry.message_id and entry.fate == DELIVERED and self._was_shown(entry.text)
        }

    def _was_shown(self, source: str) -> bool:
        block = rendered_block(source, self.plug_ins)
        return source in self._shown or (block is not None and block.code in self._blocks)

    def _remembering(self, draw: AttachmentRenderer, code: str) -> Sequence[File]:
        files = draw(code)
        if files:
            self._blocks.add(code)
        return files
