"""Live mode: the last message grows by edits, until something has to stand by itself."""

from __future__ import annotations

import re
from dataclasses import dataclass

from oshaberi.delivery.outgoing import Outgoing
from oshaberi.delivery.sink import Post, Sent
from oshaberi.events import Identity
from oshaberi.text.measure import utf16_len

EDIT_SECONDS = 1.0

_OPEN_QUOTE = re.compile(r"^>>> ", re.MULTILINE)


@dataclass(slots=True)
class LiveMessage:
    """The message that may still grow."""

    sent: Sent
    post: Post
    identity: Identity | None
    changed_at: float

    def wait_from(self, now: float) -> float:
        """Seconds until it may be edited again."""
        return self.changed_at + EDIT_SECONDS - now

    def accepts(self, item: Outgoing, text: str, limit: int) -> bool:
        """Whether the item may join the text. Edits never notify, so a mention may not."""
        if item.table is not None or item.identity != self.identity or "<@" in item.text:
            return False
        if utf16_len(text) + 1 + utf16_len(item.text) > limit:
            return False
        # `>>> ` quotes everything to the end of its message.
        return ">>> " not in text or _OPEN_QUOTE.search(text) is None
