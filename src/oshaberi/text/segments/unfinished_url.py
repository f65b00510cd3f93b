"""Reads a URL while it arrives, so that nothing of it is read twice (L7)."""

from __future__ import annotations

from oshaberi.text.atoms import URL_STOP, bracket_end
from oshaberi.text.copied_state import CopiedState


class UnfinishedUrl(CopiedState):
    """How far a URL was read, and how many brackets are open there."""

    def __init__(self) -> None:
        self._read = 0
        self._brackets = 1

    def clear(self) -> None:
        self._read = 0
        self._brackets = 1

    def shift(self, by: int) -> None:
        """Adjust the position, because the buffer dropped its first `by` characters."""
        self._read -= by

    def stop(self, text: str, begin: int, after: int, known: int) -> int:
        """Return where the URL from `begin` stops, or `known` if it goes on there.

        Its scheme ends at `after`. Right behind a `(` it stops where that closes.
        """
        unread = max(after, self._read)
        found = URL_STOP.search(text, unread, known)
        if found:
            return found.start()
        if text[begin - 1 : begin] != "(":
            self._read = known
            return known
        close = bracket_end(text, unread, known, self._brackets)
        if close == known:
            opened, closed = text.count("(", unread, known), text.count(")", unread, known)
            self._brackets += opened - closed
            self._read = known
        return close
