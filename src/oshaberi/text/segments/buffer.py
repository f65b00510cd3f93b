"""The part of V that is not yet in a segment, and how segments leave it.

Positions are indexes into `text`, which keeps a little of the released text as context. What has
left waits in the buffer until the splitter returns it.
"""

from __future__ import annotations

from typing import Final, Literal

from oshaberi.events import Boundary
from oshaberi.text.copied_state import CopiedState
from oshaberi.text.decision_observer import Decision, Observer
from oshaberi.text.markers.open_markers import HeldBoundary

NEVER: Final = 1 << 60
"""A position beyond any text. Larger numbers would be slower in compiled code."""
CONTEXT: Final = 128
_GOES_ON: Final = frozenset({"period", "overflow", "code_open"})

SegmentKind = Literal["text", "code", "table", "trimmed"]
Trim = Literal["nothing", "clause", "unfinished"]
"""What a forced flush keeps back: half a clause after what was shown, or all that is half."""


class Segment:
    """A stretch of V that leaves step 05."""

    __slots__ = ("boundary", "end", "ends_line", "gap", "kind", "line_start", "text")

    def __init__(
        self,
        kind: SegmentKind,
        text: str,
        boundary: Boundary,
        end: int,
        gap: str,
        line_start: bool,
        ends_line: bool,
    ) -> None:
        self.kind = kind
        self.text = text
        self.boundary = boundary
        self.end = end
        """Where it ends in V."""
        self.gap = gap
        """The white space between the text before it and its own."""
        self.line_start = line_start
        self.ends_line = ends_line


Found = Segment | Decision
"""The results of splitting, in order. They include decisions only if there is an observer."""


class SplitObserver(Observer):
    """Puts the decisions of step 05 between the segments, so that both are returned in order."""

    def __init__(self, found: list[Found]) -> None:
        super().__init__()
        self._found = found

    def report(self, decision: Decision) -> None:
        self._found.append(decision)


class VisibleBuffer(CopiedState):
    """A buffer. `start` is where the current segment begins, `limit` where it is too long."""

    def __init__(self, reach: int, *, is_observed: bool = False) -> None:
        self._reach = reach
        self._found: list[Found] = []
        self.observer = SplitObserver(self._found) if is_observed else None
        self._base = 0
        self.text = ""
        self.start = 0
        self._begins_line = True
        self.limit = reach
        self.line = 0
        """Where the current line begins; before `start` if its beginning has been released."""
        self.gap = ""
        """White space that was released since the last segment's text."""
        self.has_left = False
        """A segment has been released, so what comes next does not begin the text."""
        self.is_mid_clause = False
        """An overflow has cut a clause in two, and its second half comes now."""
        self._owes_newline = False  # one came before carried punctuation

    @property
    def end(self) -> int:
        """The length of V so far."""
        return self._base + len(self.text)

    def at(self, place: int) -> int:
        """Convert an index of the buffer into one of V."""
        return self._base + place

    def place(self, at: int) -> int:
        """Convert an index of V into one of the buffer."""
        return at - self._base

    def whole_line(self) -> bool:
        """Return whether nothing of the current line has been released."""
        return self.line >= self.start

    def take(self) -> list[Found]:
        """Remove and return the segments that have left."""
        found = self._found
        if not found:
            return []
        if self.observer is None:
            self._found = []
            return found
        segments = found.copy()
        found.clear()  # the observer keeps writing into this list
        return segments

    def leave(self, boundary: HeldBoundary, suffix: str = "") -> None:
        """Release the text up to the boundary as a segment, if there is any (B8)."""
        text, start, cut = self.text, self.start, boundary.cut
        if boundary.mend:
            raw = text[start : boundary.at].rstrip() + text[boundary.mend : cut]
        else:
            raw = text[start:cut]
        begun = raw.lstrip()
        body = begun.rstrip()
        if body:
            trail = begun[len(body) :]
            if len(begun) < len(raw):
                self.gap += raw[: len(raw) - len(begun)]
            ends_line = "\n" in trail or boundary.reason not in _GOES_ON
            self.emit("text", body + suffix if suffix else body, boundary.reason, cut, ends_line)
            self.gap = trail
            self._owes_newline = boundary.mend > 0
        else:
            self.gap = short_gap(self.gap + raw)
            self.move_start(cut)

    def emit(
        self, kind: SegmentKind, text: str, reason: Boundary, end: int, ends_line: bool
    ) -> None:
        if self._owes_newline:
            self._owes_newline = False
            if "\n" not in self.gap:
                self.gap = "\n" + self.gap
        line_start = self._begins_line or "\n" in self.gap
        segment = Segment(kind, text, reason, self._base + end, self.gap, line_start, ends_line)
        self.gap = ""
        self.has_left = True
        self.is_mid_clause = reason == "overflow"
        self.move_start(end)
        if self.observer:
            self.observer.boundary(segment.end, reason, text, kind)
        self._found.append(segment)

    def move_start(self, cut: int) -> None:
        self.start = cut
        self._begins_line = self.text[cut - 1 : cut] == "\n"
        self.limit = cut + self._reach if self._reach != NEVER else NEVER

    def forget(self, by: int) -> None:
        """Drop released text, once per piece instead of at each cut (L7)."""
        self.text = self.text[by:]
        self._base += by
        self.start -= by
        self.line = max(self.line - by, -1)
        if self.limit != NEVER:
            self.limit -= by

    def retract(self, to: int) -> str:
        """Remove what is after `to` in V (C3). Return the part not in a segment."""
        text, self.gap = self.gap + self.text[self.start :], ""
        self._owes_newline = self.has_left = False
        self.text = self.text[: self.start]
        self._base = to - self.start
        self.move_start(self.start)
        self._begins_line = True
        return text


def short_gap(gap: str) -> str:
    """Reduce a long gap to its meaning: a space, a line break or a paragraph break."""
    if len(gap) <= CONTEXT:
        return gap
    return "\n" * min(gap.count("\n"), 2) or " "
