"""A message that waits to be sent: its text, where the text came from, and its delay."""

from __future__ import annotations

import re

from oshaberi.delivery.delivery_plug_ins import RenderedBlock
from oshaberi.delivery.pacing.typing_pace import Wait
from oshaberi.events import Identity, Message, Table

_EMOJI_RUN = re.compile(r"(?:<a?:\w+:\d+>\s*)+")


class OutgoingMessage:
    """A Discord message that waits. After the first attempt it does not change.

    `entries` are its places in the ledger. `history` is how it reads in the model's history: with
    its label, a table as its source. A `block` is a code block that becomes a file.
    """

    __slots__ = (
        "attempted",
        "block",
        "entries",
        "history",
        "identity",
        "number",
        "ready_at",
        "table",
        "text",
        "wait",
    )

    def __init__(
        self,
        number: int,
        text: str,
        identity: Identity | None,
        entries: tuple[int, ...],
        history: str,
        ready_at: float,
        wait: Wait,
        table: Table | None = None,
        block: RenderedBlock | None = None,
    ) -> None:
        self.number = number
        self.text = text
        self.identity = identity
        self.entries = entries
        self.history = history
        self.ready_at = ready_at
        self.wait = wait
        self.table = table
        self.block = block
        self.attempted = False

    @property
    def becomes_file(self) -> bool:
        return self.table is not None or self.block is not None

    @property
    def joinable(self) -> bool:
        """Tell whether it is plain text that may be joined with its neighbour."""
        plain = self.table is None and not self.attempted and "```" not in self.text
        return plain and _EMOJI_RUN.fullmatch(self.text) is None


def as_text(item: OutgoingMessage, number: int, text: str, history: str) -> OutgoingMessage:
    """Return a message with this text instead of the item's table or block."""
    plain = OutgoingMessage(
        number, text, item.identity, item.entries, history, item.ready_at, item.wait
    )
    plain.attempted = item.attempted
    return plain


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
