"""Live mode: decides which message grows and with what text (spec 07).

Finished text joins the last message or begins a new one. Unfinished text is only shown: after the
kept text of the last message, or in a message of its own that keeps nothing so far.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from oshaberi.delivery.outgoing_message import OutgoingMessage
from oshaberi.delivery.sink import Post, Sent, WebhookFace
from oshaberi.events import Identity, Message
from oshaberi.text.text_measure import utf16_len

LEAST_SHOWN = 10
"""A message is begun when it has at least so many characters."""

_OPEN_QUOTE = re.compile(r"^>>> ", re.MULTILINE)


@dataclass(slots=True)
class LiveMessage:
    """A message that may still grow. Its `post` has the text that is kept."""

    sent: Sent
    post: Post
    identity: Identity | None
    changed_at: float
    shown: str
    """What can be read in it now."""
    spoken_before: WebhookFace | None = None
    """The face that the bot had before this message, in case the message is deleted."""
    notice: Sent | None = None
    """A message of its own that notifies the person who is answered."""

    @property
    def differs(self) -> bool:
        """Tell whether it shows text that is not kept."""
        return self.shown != self.post.content


class LiveMode:
    """The growing messages. `last` has finished text; `draft` has only unfinished text."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.last: LiveMessage | None = None
        self.draft: LiveMessage | None = None

    def home_of(self, item: OutgoingMessage) -> LiveMessage | None:
        """Return the message that takes this finished text, or None for a new one."""
        for live in (self.last, self.draft):
            if live is not None and self.with_item(live, live.post.content, item) is not None:
                return live
        return None

    def with_item(self, live: LiveMessage, text: str, item: OutgoingMessage) -> str | None:
        """Return the message's text with the item's, or None if it cannot be added."""
        if item.becomes_file or item.identity != live.identity:
            return None
        return joined(text, item.text, self._limit)

    def takes(self, first: OutgoingMessage, second: OutgoingMessage) -> bool:
        """Tell whether two messages that wait are one message of live mode."""
        if first.becomes_file or second.becomes_file or first.identity != second.identity:
            return False
        return joined(first.text, second.text, self._limit) is not None

    def place_of(self, parts: Sequence[Message]) -> tuple[LiveMessage | None, str]:
        """Return where unfinished text is shown, and that message's text; None for a new one."""
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
    """Return both texts as one message, or None if the second needs its own.

    Edits never notify, so text with a mention gets its own.
    """
    both = f"{text}\n{more}" if text else more
    if "<@" in more or utf16_len(both) > limit:
        return None
    # `>>> ` quotes everything to the end of its message.
    return None if ">>> " in text and _OPEN_QUOTE.search(text) else both
