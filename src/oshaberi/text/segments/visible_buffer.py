"""The part of V that has not left yet, and how segments leave it.

Positions are indexes into `text`, which keeps a little of what has left, for its neighbours' sake.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Literal, NamedTuple

from oshaberi.events import Boundary
from oshaberi.text.decision_observer import Observer
from oshaberi.text.segments.open_markers import HeldBoundary

NEVER = sys.maxsize
CONTEXT = 128
_GOES_ON = frozenset({"period", "overflow", "code_open"})

SegmentKind = Literal["text", "code", "table", "trimmed"]


class Segment(NamedTuple):
    """A stretch of V that leaves stage 05."""

    kind: SegmentKind
    text: str
    boundary: Boundary
    end: int
    """Where it ends in V."""
    gap: str
    """The white space between the text before it and its own."""
    line_start: bool
    ends_line: bool


class VisibleBuffer:
    """`start` is where the segment in the making begins, `limit` where it is too long."""

    def __init__(
        self,
        reach: int,
        observer: Observer | None = None,
        deliver: Callable[[Segment], None] | None = None,
    ) -> None:
        self._reach = reach
        self._observer = observer
        self._out: list[Segment] = []
        self._deliver = deliver or self._out.append
        self._base = 0
        self.text = ""
        self.start = 0
        self.limit = reach
        self.line = 0
        """Where the current line begins; before `start` where its beginning has left."""
        self.gap = ""
        """White space that has left since the last segment's text."""

    @property
    def end(self) -> int:
        """The length of V so far."""
        return self._base + len(self.text)

    def at(self, place: int) -> int:
        """A place in the buffer, as a place in V."""
        return self._base + place

    def place(self, at: int) -> int:
        """A place in V, as a place in the buffer."""
        return at - self._base

    def whole_line(self) -> bool:
        """Nothing of the current line has left."""
        return self.line >= self.start

    def take(self) -> list[Segment]:
        """The segments that nobody received."""
        out = self._out[:]
        self._out.clear()
        return out

    def leave(self, boundary: HeldBoundary, suffix: str = "") -> None:
        """The text up to the boundary leaves as a segment, if there is any (B8)."""
        text, start, cut = self.text, self.start, boundary.cut
        if boundary.mend:
            raw = text[start : boundary.at].rstrip() + text[boundary.mend : cut]
        else:
            raw = text[start:cut]
        begun = raw.lstrip()
        body = begun.rstrip()
        if body:
            trail = begun[len(body) :]
            self.gap += raw[: len(raw) - len(begun)]
            ends_line = "\n" in trail or boundary.reason not in _GOES_ON
            self.emit("text", body + suffix, boundary.reason, cut, ends_line)
            self.gap = trail
        else:
            self.gap = _short(self.gap + raw)
            self.move_start(cut)

    def emit(
        self, kind: SegmentKind, text: str, reason: Boundary, end: int, ends_line: bool
    ) -> None:
        line_start = self.whole_line() or self.text[self.start - 1] == "\n"
        segment = Segment(kind, text, reason, self.at(end), self.gap, line_start, ends_line)
        self.gap = ""
        self.move_start(end)
        if self._observer:
            self._observer.boundary(segment)
        self._deliver(segment)

    def move_start(self, cut: int) -> None:
        self.start = cut
        self.limit = cut + self._reach if self._reach != NEVER else NEVER

    def forget(self, by: int) -> None:
        """Drop what has left, once per piece: no re-slicing at each cut (L7)."""
        self.text = self.text[by:]
        self._base += by
        self.start -= by
        self.line = max(self.line - by, -1)
        if self.limit != NEVER:
            self.limit -= by

    def retract(self, to: int) -> str:
        """C3: what is behind `to` in V never was there. Returns what is not in a segment."""
        text, self.gap = self.gap + self.text[self.start :], ""
        self.text = self.text[: self.start]
        self._base = to - self.start
        self.move_start(self.start)
        return text


def _short(gap: str) -> str:
    """What matters of a long gap: whether lines or paragraphs end in it."""
    if len(gap) <= CONTEXT:
        return gap
    return "\n" * min(gap.count("\n"), 2) or " "
