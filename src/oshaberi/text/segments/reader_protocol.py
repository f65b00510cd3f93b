"""The protocol of the readers of V: prose, code blocks and tables."""

from __future__ import annotations

from typing import Protocol

from oshaberi.events import Boundary


class SegmentReader(Protocol):
    """Reads the buffer as far as it is decided, and hands over to the next reader."""

    def read(self, final: bool) -> SegmentReader | None:
        """Read on. Returns who goes on reading, or None when more text is needed."""

    def close(self, reason: Boundary, trim: bool) -> None:
        """The forced flush: everything leaves."""

    def shift(self, by: int) -> None:
        """The buffer has forgotten its first `by` characters."""
