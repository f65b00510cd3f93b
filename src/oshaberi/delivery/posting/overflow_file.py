"""Collects the text beyond `max_flush_count` messages, to be attached as one file."""

from __future__ import annotations

from oshaberi.delivery.outgoing_message import OutgoingMessage
from oshaberi.delivery.sink import File

MOST_CHARACTERS = 25_000
FILE_NAME = "rest.md"


class OverflowFile:
    """Collects text up to a limit."""

    def __init__(self) -> None:
        self.items: list[OutgoingMessage] = []
        self._characters = 0

    def accepts(self, item: OutgoingMessage) -> bool:
        return self._characters + len(item.history) <= MOST_CHARACTERS

    def add(self, item: OutgoingMessage) -> None:
        self.items.append(item)
        self._characters += len(item.history)

    @property
    def text(self) -> str:
        return "\n".join(_markdown(item) for item in self.items)

    def as_file(self) -> File:
        return File(FILE_NAME, f"{self.text}\n".encode(), source=self.text)


def _markdown(item: OutgoingMessage) -> str:
    return item.text if item.table is None else item.table.source
