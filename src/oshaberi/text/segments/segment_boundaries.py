"""Stage 05: V in pieces goes in, segments come out: where one ends, and why (B1-B8, H1-H3).

One forward pass. Every decision depends on positions in V and a bounded look-ahead alone: when
what has arrived does not decide, reading stops there and goes on with the next piece.
"""

from __future__ import annotations

from collections.abc import Callable

from oshaberi.events import Boundary
from oshaberi.text.decision_observer import Observer
from oshaberi.text.segments.overflow_cuts import CutWindow
from oshaberi.text.segments.prose_reader import ProseReader
from oshaberi.text.segments.reader_protocol import SegmentReader
from oshaberi.text.segments.visible_buffer import CONTEXT, NEVER, Segment, VisibleBuffer
from oshaberi.text.text_config import TextConfig

_WORTH_IT = 2048


class SegmentBoundaries:
    """Feeds the buffer and lets the current reader read it."""

    def __init__(
        self,
        config: TextConfig,
        observer: Observer | None = None,
        deliver: Callable[[Segment], None] | None = None,
    ) -> None:
        reach = CutWindow.of(config.flush_buffer_size).limit if config.humanizer_degree else NEVER
        self._buffer = VisibleBuffer(reach, observer, deliver)
        self._prose = ProseReader(self._buffer, config, observer)
        self._reader: SegmentReader = self._prose

    @property
    def unsent(self) -> int:
        """How many characters of V are not yet in a segment."""
        return len(self._buffer.text) - self._buffer.start

    @property
    def end(self) -> int:
        """The length of V so far."""
        return self._buffer.end

    @property
    def waits_for_next(self) -> bool:
        """A line or sentence has ended, and the next character says how."""
        return self._prose.waits_for_next

    @property
    def reads_prose(self) -> bool:
        """No code block and no table is open."""
        return self._reader is self._prose

    @property
    def ends_in_word(self) -> bool:
        """What came last is not white space, so its word may go on."""
        return not self._buffer.text[-1:].isspace()

    def rest(self) -> str:
        """The text that is not yet in a segment, with the white space before it."""
        return self._buffer.gap + self._buffer.text[self._buffer.start :]

    def feed(self, text: str) -> list[Segment]:
        """Read on. Segments are delivered as they leave; without a receiver, returned."""
        self._forget()
        self._buffer.text += text
        self._read(final=False)
        return self._buffer.take()

    def close(self, reason: Boundary, trim: bool = False) -> list[Segment]:
        """The forced flush: everything leaves, what is open is closed."""
        self._read(final=True)
        self._reader.close(reason, trim)
        return self._buffer.take()

    def retract(self, to: int) -> str:
        """C3: what is behind `to` in V never was visible. Returns what is not in a segment."""
        text = self._buffer.retract(to)
        self._reader = self._prose.begin(self._buffer.start)
        return text

    def _read(self, final: bool) -> None:
        while following := self._reader.read(final):
            self._reader = following

    def _forget(self) -> None:
        by = self._buffer.start - CONTEXT
        if by > _WORTH_IT:
            self._prose.shift(by)
            if self._reader is not self._prose:
                self._reader.shift(by)
            self._buffer.forget(by)
