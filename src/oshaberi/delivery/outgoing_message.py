"""A message that waits to be sent: its text, where the text came from, and its delay."""

from __future__ import annotations

import re
from dataclasses import dataclass

from oshaberi.delivery.delivery_plug_ins import RenderedBlock
from oshaberi.delivery.pacing.typing_pace import Wait
from oshaberi.events import Identity, Message, Table

_EMOJI_RUN = re.compile(r"(?:<a?:\w+:\d+>\s*)+")


@dataclass(slots=True)
class OutgoingMessage:
    """A Discord message that waits. After the first attempt it does not change."""

    number: int
    text: str
    identity: Identity | None
    entries: tuple[int, ...]
    """Its places in the ledger."""
    history: str
    """How it reads in the model's history: with its label, a table as its source."""
    ready_at: float
    wait: Wait
    table: Table | None = None
    block: RenderedBlock | None = None
    """A code block that becomes a file."""
    attempted: bool = False

    @property
    def becomes_file(self) -> bool:
        return self.table is not None or self.block is not None

    @property
    def joinable(self) -> bool:
        """Tell whether it is plain text that may be joined with its neighbour."""
        plain = self.table is None and not self.attempted and "```" not in self.text
        return plain and _EMOJI_RUN.fullmatch(self.text) is None


def history_of(event: Message | Table) -> str:
    """Return the text for the model's history, with the label the model wrote (spec 06 S2.3)."""
    text = event.source if isinstance(event, Table) else event.text
    if event.labelled and event.identity is not None:
        return f"{event.identity.label}: {text}"
    return text


def joined(first: OutgoingMessage, second: OutgoingMessage) -> OutgoingMessage:
    """Join two neighbours into one message, with the number of the first."""
    return OutgoingMessage(
        number=first.number,
        text=f"{first.text}\n{second.text}",
        identity=first.identity,
        entries=first.entries + second.entries,
        history=f"{first.history}\n{second.history}",
        ready_at=first.ready_at,
        wait=first.wait,
    )
