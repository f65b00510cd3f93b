"""Live mode: decides which message grows and with what text (spec 07).

Finished text joins the last message or begins a new one. What is not finished yet is only shown:
behind what the last message keeps, or in a message of its own, of which nothing is kept so far.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from oshaberi.delivery.outgoing_message import OutgoingMessage
from oshaberi.delivery.sink import Post, Sent, WebhookFace
from oshaberi.events import Identity, Message
from oshaberi.text.text_measure import utf16_len

EDIT_SECONDS = 1.0
LEAST_SHOWN = 16
"""A message is not begun for less than so many characters."""

_OPEN_QUOTE = re.compile(r"^>>> ", re.MULTILINE)


@dataclass(slots=True)
class LiveMessage:
    """A message that may still grow. Its post is what is kept of it."""

    sent: Sent
    post: Post
    identity: Identity | None
    changed_at: float
    shown: str
    """What can be read in it now."""
    spoken_before: WebhookFace | None = None
    """Who spoke as the bot before it, should it be taken away."""
    notice: Sent | None = None
    """Who is answered, told for it alone."""

    @property
    def differs(self) -> bool:
        """It shows what is not kept."""
        return self.shown != self.post.content

    def wait_from(self, now: float) -> float:
        """Seconds until it may be edited again."""
        return self.changed_at + EDIT_SECONDS - now


class LiveMode:
    """`last` keeps finished text; `draft` is a message that only shows what is not finished."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.last: LiveMessage | None = None
        self.draft: LiveMessage | None = None

    def home_of(self, item: OutgoingMessage) -> LiveMessage | None:
        """The message into which finished text goes, unless it begins a new one."""
        for live in (self.last, self.draft):
            if live is not None and self.with_item(live, live.post.content, item) is not None:
                return live
        return None

    def with_item(self, live: LiveMessage, text: str, item: OutgoingMessage) -> str | None:
        """The message's text with the item's, or None if they do not go together."""
        if item.table is not None or item.identity != live.identity:
            return None
        return joined(text, item.text, self._limit)

    def place_of(self, parts: Sequence[Message]) -> tuple[LiveMessage | None, str]:
        """Where unfinished text is shown, and how that message would read; None for a new one."""
        for live in (self.last, self.draft):
            if live is not None:
                text = self._with_parts(live.post.content, live.identity, parts)
                if text != live.post.content:
                    return live, text
        text = self._with_parts("", parts[0].identity, parts)
        return None, text if len(text) >= LEAST_SHOWN else ""

    def forget(self, live: LiveMessage) -> None:
        if live is self.last:
            self.last = None
        else:
            self.draft = None

    def _with_parts(self, text: str, identity: Identity | None, parts: Sequence[Message]) -> str:
        for part in parts:
            longer = joined(text, part.text, self._limit) if part.identity == identity else None
            if longer is None:
                break
            text = longer
        return text


def joined(text: str, more: str, limit: int) -> str | None:
    """Both in one message; None where the second has to stand by itself.

    Edits never notify, so a mention has to.
    """
    both = f"{text}\n{more}" if text else more
    if "<@" in more or utf16_len(both) > limit:
        return None
    # `>>> ` quotes everything to the end of its message.
    return None if ">>> " in text and _OPEN_QUOTE.search(text) else both
