"""What the readers of V have in common: prose, code blocks and tables."""

from __future__ import annotations

from typing import Protocol

from oshaberi.events import Boundary
from oshaberi.text.copied_state import CopiedState


class SegmentReader(CopiedState):
    """Reads the buffer as far as it is decided, and hands over to the next reader."""

    def read(self, final: bool) -> SegmentReader | None:
        """Read on. Return the reader that continues, or None if more text is needed."""
        raise NotImplementedError

    def close(self, reason: Boundary, trim: bool) -> None:
        """Force a flush: release everything."""
        raise NotImplementedError

    def shift(self, by: int) -> None:
        """Adjust positions, because the buffer dropped its first `by` characters."""
        raise NotImplementedError


class BlockSuccessor(Protocol):
    """Knows who reads on behind a code block or a table."""

    def begin(self, at: int) -> SegmentReader:
        """A table has ended; a fresh line begins at `at`."""

    def behind_code(self, at: int) -> SegmentReader:
        """A code block has ended; its line goes on at `at`."""

    def refuse_table(self) -> SegmentReader:
        """The table is too long: it is read again, as text."""
