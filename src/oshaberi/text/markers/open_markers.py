"""Spec 05, semantic hold: which markers are open, and which boundaries wait for them.

Pure bookkeeping: `rules` decides what opens and closes, `cuts` what follows from a release.
Positions are indexes into the text that the caller reads; `shift` adjusts them when that text
moves.
"""

from __future__ import annotations

from typing import Final, Literal

from oshaberi.events import Boundary
from oshaberi.text.copied_state import CopiedState, SharedValue
from oshaberi.text.decision_observer import Observer

_ROUND: Final = frozenset({"(", "]("})

Rule = Literal["H1", "H2", "H3"]
"""Why a boundary waits no longer: the marker was closed, or is literal because of a blank line or
its age."""

CLOSERS: Final = {
    "(": ")", "（": "）", '"': '"', "「": "」", "『": "』", "“": "”", "„": "“", "«": "»",
    "»": "«", "《": "》", "*": "*", "**": "**", "***": "***", "~~": "~~", "||": "||", "](": ")",
}  # fmt: skip
"""What a forced flush appends for each kind of opener."""

KINDS: Final = (*CLOSERS, "[", "\\]", "\\end", ">>>")


class HeldBoundary(SharedValue):
    """A boundary that waits for an open marker."""

    __slots__ = ("at", "cut", "mend", "reason")

    def __init__(self, at: int, cut: int, reason: Boundary, mend: int = 0) -> None:
        self.at = at
        self.cut = cut
        self.reason = reason
        self.mend = mend
        """Where the carried punctuation begins: the white space from `at` to here is dropped
        (B3)."""

    def moved(self, by: int) -> HeldBoundary:
        mend = self.mend - by if self.mend else 0
        return HeldBoundary(self.at - by, self.cut - by, self.reason, mend)


class OpenMarkers(CopiedState):
    """The stack of openers, oldest first, and the boundaries that they hold."""

    def __init__(self, limit: int, observer: Observer | None = None) -> None:
        self.limit = limit
        self._observer = observer
        self.open: dict[str, int] = dict.fromkeys(KINDS, 0)
        self.stack: list[tuple[str, int]] = []
        self.labels: list[int] = []
        """Where a `[` may begin a link: those of this line, and one that holds earlier lines."""
        self.targets: list[int] = []
        """The start of a link whose `](` was read. Atoms last longer than their hold on a line
        (L5)."""
        self._lapsed = -1
        """The start of the newest link whose hold has ended."""
        self.held: list[HeldBoundary] = []
        self.free: list[HeldBoundary] = []
        self.spans: list[tuple[int, int, bool]] = []

    @property
    def waits(self) -> bool:
        """Return whether something is open, or a boundary has waited for it."""
        return bool(self.stack or self.labels or self.targets or self.held or self.free)

    @property
    def has_links(self) -> bool:
        return bool(self.labels or self.targets)

    def links(self) -> list[int]:
        """Return where the first and the last open link begin."""
        ends = [*self.labels[:1], *self.labels[-1:], *self.targets[:1], *self.targets[-1:]]
        return [min(ends), max(ends)] if ends else []

    def push(self, kind: str, at: int) -> None:
        self.stack.append((kind, at))
        self.open[kind] += 1

    def close(self, kind: str, end: int) -> None:
        """Close the newest of its kind and discard the openers inside the pair (H1)."""
        stack = self.stack
        while True:
            opened, at = stack.pop()
            self.open[opened] -= 1
            if opened == kind:
                break
        self._drop_links(at + 1)
        self._pair(kind, at, end)

    def shorten(self, kind: str, to: str) -> None:
        """Close part of a longer opener: `***a**` leaves a `*` open at the same place."""
        at = next(at for opened, at in reversed(self.stack) if opened == kind)
        self._discard_inside(at - 1)
        self.push(to, at)

    def link_text_closed(self, is_link: bool) -> None:
        """Handle `]`: the newest `[` becomes a link or was only a bracket.

        Inside a target it is an ordinary character.
        """
        if not self._newest_is_label():
            return
        at = self.labels.pop()
        if is_link:
            self._discard_inside(at - 1)
            self.targets.append(at)
            self.push("](", at)
        else:
            self._drop_label()
            self._release("[", "H2")

    def round_closed(self, end: int) -> None:
        """Handle `)`: close the newest `(` or `[text](`, else a link whose hold expired."""
        if self.open["("] or self.open["]("]:
            kind, at = next(opener for opener in reversed(self.stack) if opener[0] in _ROUND)
            if kind == "(":
                self.close("(", end)
                return
        elif self.targets and not self._newest_is_label():
            at = self.targets[-1]
        else:
            return
        self._drop_links(at)
        self._discard_inside(at - 1)
        self._pair("](", at, end)

    def wait(self, boundary: HeldBoundary) -> None:
        self.held.append(boundary)

    def expiry(self) -> int:
        """Return where the oldest opener turns out to have been literal (H3)."""
        return self.stack[0][1] + self.limit + 1

    def expire(self, rule: Rule = "H3") -> None:
        """Drop the oldest opener, which was literal."""
        at = self.stack[0][1]
        kind = self._drop_oldest()
        if kind == "[":
            self.labels = [label for label in self.labels if label > at]
        if self.held:
            self._release(kind, rule)

    def line_break(self) -> None:
        """Handle a newline. The text of the newest link may continue, and delays lines from now on.

        A link target that may not delay lines any more ends at the end of its line.
        """
        self.labels = self.labels[-1:] if self._newest_is_label() else []
        lapsed = 0 if self.open["]("] else len(self.targets)
        while lapsed < len(self.targets) and self.targets[lapsed] <= self._lapsed:
            lapsed += 1
        del self.targets[:lapsed]
        self._drop_label()
        if self.labels:
            self._hold_label(self.labels[0])
        self._release("[", "H2")

    def blank_line(self, at: int) -> None:
        """Drop all openers as literal (H2). A `>>> ` quote ends here."""
        self.labels, self.targets = [], []
        while self.stack:
            if self.stack[0][0] == ">>>":
                self.close(">>>", at)
                return
            self.expire("H2")

    def literal(self) -> None:
        """Drop all openers at a fence or a table, which no pair spans (H2)."""
        kind = self.stack[0][0] if self.stack else "["
        self._drop_all()
        self._release(kind, "H2")

    def force(self, line_start: int, end: int) -> list[tuple[str, int]]:
        """Drop the openers of earlier lines for a forced flush. Return those of the last."""
        self.labels, self.targets = [], []
        while self.stack and self.stack[0][1] < line_start:
            if self.stack[0][0] == ">>>":
                last = [opener for opener in self.stack if opener[1] >= line_start]
                self.close(">>>", end)
                return last
            self.expire("H2")
        return self.stack

    def cut(self, at: int) -> None:
        """Drop what belongs to the text before `at`, which has left the buffer."""
        kind = self.stack[0][0] if self.stack else "["
        while self.stack and self.stack[0][1] < at:
            self._drop_oldest()
        self.labels = [link for link in self.labels if link >= at]
        self.targets = [link for link in self.targets if link >= at]
        self.held = [boundary for boundary in self.held if boundary.cut > at]
        self._release(kind, "H2")
        self.passed(at)

    def passed(self, at: int) -> None:
        """Drop the spans before `at`."""
        self.spans = [span for span in self.spans if span[1] > at]

    def shift(self, by: int) -> None:
        self.stack = [(kind, at - by) for kind, at in self.stack]
        self.labels = [link - by for link in self.labels]
        self.targets = [link - by for link in self.targets]
        self._lapsed -= by
        self.held = [boundary.moved(by) for boundary in self.held]
        self.free = [boundary.moved(by) for boundary in self.free]
        self.spans = [(start - by, end - by, atom) for start, end, atom in self.spans]

    def clear(self) -> None:
        self._drop_all()
        self._lapsed = -1
        self.held, self.free, self.spans = [], [], []

    def _pair(self, kind: str, at: int, end: int) -> None:
        self.spans.append((at, end, kind == "]("))
        held = self.held
        if self._observer and held and held[-1].at > at:
            self._observer.release(kind, "H1")
        while held and held[-1].at > at:
            held.pop()

    def _discard_inside(self, at: int) -> None:
        while self.stack and self.stack[-1][1] > at:
            self.open[self.stack.pop()[0]] -= 1

    def _hold_label(self, at: int) -> None:
        place = len(self.stack)
        while place and self.stack[place - 1][1] > at:
            place -= 1
        self.stack.insert(place, ("[", at))
        self.open["["] += 1

    def _drop_label(self) -> None:
        """Drop the `[` that holds lines. There is one at most, among the newest openers."""
        if self.open["["]:
            place = len(self.stack) - 1
            while self.stack[place][0] != "[":
                place -= 1
            del self.stack[place]
            self.open["["] = 0

    def _drop_oldest(self) -> str:
        kind, at = self.stack.pop(0)
        self.open[kind] -= 1
        if kind == "](":
            self._lapsed = at
        return kind

    def _drop_all(self) -> None:
        for kind, _ in self.stack:
            self.open[kind] = 0
        self.stack, self.labels, self.targets = [], [], []

    def _newest_is_label(self) -> bool:
        return bool(self.labels) and (not self.targets or self.labels[-1] > self.targets[-1])

    def _drop_links(self, at: int) -> None:
        """Drop the links that begin at `at` or after it."""
        while self.labels and self.labels[-1] >= at:
            self.labels.pop()
        while self.targets and self.targets[-1] >= at:
            self.targets.pop()

    def _release(self, kind: str, rule: Rule) -> None:
        held = self.held
        if not held:
            return
        floor = held[-1].at
        if self.stack:
            floor = min(floor, self.stack[0][1])
        if self.labels:
            floor = min(floor, self.labels[0])
        if self.targets:
            floor = min(floor, self.targets[0])
        count = 0
        while count < len(held) and held[count].at <= floor:
            count += 1
        if count:
            self.free += held[:count]
            del held[:count]
            if self._observer:
                self._observer.release(kind, rule)
