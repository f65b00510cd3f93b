"""Step 05: splits V into segments, with the reason for each boundary (B1-B8, H1-H3).

One forward pass. Every decision depends only on positions in V and a bounded look-ahead: if the
text so far does not decide, reading stops there and continues with the next piece.
"""

from __future__ import annotations

from typing import Final

from oshaberi.events import Boundary
from oshaberi.text.config import TextConfig
from oshaberi.text.copied_state import CopiedState
from oshaberi.text.decision_observer import Observer
from oshaberi.text.segments.buffer import (
    CONTEXT,
    NEVER,
    Segment,
    SegmentReader,
    SegmentReceiver,
    Trim,
    VisibleBuffer,
)
from oshaberi.text.segments.code import CodeReader
from oshaberi.text.segments.prose import ProseReader
from oshaberi.text.segments.release import CutWindow

_WORTH_IT: Final = 2048


class SegmentSplitter(CopiedState):
    """Feeds the buffer and lets the current reader read it."""

    def __init__(
        self,
        config: TextConfig,
        observer: Observer | None = None,
        receiver: SegmentReceiver | None = None,
    ) -> None:
        reach = CutWindow.of(config.flush_buffer_size).limit if config.humanizer_degree else NEVER
        self._buffer = VisibleBuffer(reach, observer, receiver)
        self._prose = ProseReader(self._buffer, config, observer)
        self._reader: SegmentReader = self._prose

    @property
    def unsent(self) -> int:
        """Return how many characters of V are not yet in a segment."""
        return len(self._buffer.text) - self._buffer.start

    @property
    def end(self) -> int:
        """Return the length of V so far."""
        return self._buffer.end

    @property
    def waits_for_next(self) -> bool:
        """Return whether the next character decides how a line or sentence ended."""
        return self._prose.waits_for_next

    @property
    def reads_prose(self) -> bool:
        """Return whether no code block and no table is open."""
        return self._reader is self._prose

    @property
    def reads_code(self) -> bool:
        """Return whether a code block is open."""
        return isinstance(self._reader, CodeReader)

    @property
    def ends_in_word(self) -> bool:
        """Return whether the last character may be continued as a word."""
        return not self._buffer.text[-1:].isspace()

    def rest(self) -> str:
        """Return the text that is not yet in a segment, with the white space before it."""
        return self._buffer.gap + self._buffer.text[self._buffer.start :]

    def feed(self, text: str) -> list[Segment]:
        """Read on. Segments go to the receiver at once; without one they are returned."""
        if self._buffer.start > CONTEXT + _WORTH_IT:
            self._forget()
        self._buffer.text += text
        self._read(final=False)
        return self._buffer.take()

    def close(self, reason: Boundary, trim: Trim = "nothing") -> list[Segment]:
        """Force a flush: release everything, close what is open."""
        self._prose.is_cut_off = trim != "nothing"
        self._read(final=True)
        self._reader.close(reason, trim)
        return self._buffer.take()

    def retract(self, to: int) -> str:
        """Remove what is after `to` in V (C3). Return the part not in a segment."""
        text = self._buffer.retract(to)
        self._reader = self._prose.begin(self._buffer.start)
        return text

    def _read(self, final: bool) -> None:
        while following := self._reader.read(final):
            self._reader = following

    def _forget(self) -> None:
        by = self._buffer.start - CONTEXT
        self._prose.shift(by)
        if self._reader is not self._prose:
            self._reader.shift(by)
        self._buffer.forget(by)
