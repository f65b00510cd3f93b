"""Spec 05, semantic hold: which markers are open, and which boundaries wait for them.

Pure bookkeeping: `marks` decides what opens and closes, `boundaries` what a release leads to.
Positions are indexes into the text that the caller reads; `shift` follows when it moves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

from oshaberi.events import Boundary

_CODE_LIMIT = 500

_ROUND = frozenset({"(", "]("})

Rule = Literal["H1", "H2", "H3"]
"""Why a boundary waits no longer: closed, or literal because of a blank line, or of its age."""

CLOSERS = {
    "(": ")", "（": "）", '"': '"', "「": "」", "『": "』", "“": "”", "„": "“", "«": "»",
    "»": "«", "《": "》", "*": "*", "**": "**", "***": "***", "~~": "~~", "||": "||", "](": ")",
}  # fmt: skip
"""What a forced flush appends for each kind of opener."""

KINDS = (*CLOSERS, "\\]", "\\end", ">>>")


class HeldBoundary(NamedTuple):
    """A boundary that waits for an open marker."""

    at: int
    cut: int
    reason: Boundary
    mend: int = 0
    """Where the carried punctuation begins: the white space from `at` to here goes (B3)."""

    def moved(self, by: int) -> HeldBoundary:
        mend = self.mend - by if self.mend else 0
        return HeldBoundary(self.at - by, self.cut - by, self.reason, mend)


def code_limit(hold_limit: int) -> int:
    """How far inline code may reach: capped, so that an undecided backtick stalls no one (L6)."""
    return min(hold_limit, _CODE_LIMIT)


class OpenLink(NamedTuple):
    """A `[` that may begin a link; `target` once `](` was read. Atoms do not expire (L5)."""

    at: int
    target: bool = False


class OpenMarkers:
    """The stack of openers, oldest first, and the boundaries that they hold back."""

    def __init__(self, limit: int, report: Callable[[str, Rule], None] | None = None) -> None:
        self.limit = limit
        self._report = report
        self.open: dict[str, int] = dict.fromkeys(KINDS, 0)
        self.stack: list[tuple[str, int]] = []
        self.links: list[OpenLink] = []
        self.held: list[HeldBoundary] = []
        self.free: list[HeldBoundary] = []
        self.spans: list[tuple[int, int, bool]] = []

    def push(self, kind: str, at: int) -> None:
        self.stack.append((kind, at))
        self.open[kind] += 1

    def close(self, kind: str, end: int) -> None:
        """H1: closes the newest of its kind and discards the openers inside the pair."""
        stack = self.stack
        while True:
            opened, at = stack.pop()
            self.open[opened] -= 1
            if opened == kind:
                break
        while self.links and self.links[-1].at > at:
            self.links.pop()
        self._pair(kind, at, end)

    def shorten(self, kind: str, to: str) -> None:
        """Part of a longer opener is closed: `***a**` leaves a `*` open, from the same place."""
        at = self.stack[max(i for i, (opened, _) in enumerate(self.stack) if opened == kind)][1]
        self._discard_inside(at - 1)
        self.push(to, at)

    def link_text_closed(self, is_link: bool) -> None:
        """`]`: the newest `[` becomes a link, or was only a bracket; in a target it is a letter."""
        if not self.links or self.links[-1].target:
            return
        at = self.links.pop().at
        if is_link:
            self._discard_inside(at)
            self.links.append(OpenLink(at, target=True))
            self.push("](", at)
        else:
            self._release("[", "H2")

    def round_closed(self, end: int) -> None:
        """`)`: closes the newest of `(` and `[text](`, else a link that no longer holds."""
        links = self.links
        if self.open["("] or self.open["]("]:
            kind, at = next(opener for opener in reversed(self.stack) if opener[0] in _ROUND)
            if kind == "(":
                self.close("(", end)
                return
        elif links and links[-1].target:
            at = links[-1].at
        else:
            return
        while links and links[-1].at >= at:
            links.pop()
        self._discard_inside(at - 1)
        self._pair("](", at, end)

    def wait(self, boundary: HeldBoundary) -> None:
        self.held.append(boundary)

    def expiry(self) -> int:
        """H3: where the oldest opener turns out to have been literal."""
        return self.stack[0][1] + self.limit + 1

    def expire(self, rule: Rule = "H3") -> None:
        """The oldest opener was literal."""
        kind = self._drop_oldest()
        self._release(kind, rule)

    def line_break(self) -> None:
        """A link's text does not go over the end of a line; its target may, for a while."""
        self.links = [link for link in self.links if link.target and self.open["]("]]
        self._release("[", "H2")

    def blank_line(self, at: int) -> None:
        """H2: what is open was literal; a `>>> ` quote ends here."""
        self.links = []
        while self.stack:
            if self.stack[0][0] == ">>>":
                self.close(">>>", at)
                return
            self.expire("H2")

    def literal(self) -> None:
        """H2: a fence or a table: nothing that is open spans it."""
        kind = self.stack[0][0] if self.stack else "["
        self._drop_all()
        self._release(kind, "H2")

    def force(self, line_start: int, end: int) -> list[tuple[str, int]]:
        """A forced flush: openers of earlier lines were literal; returns those of the last."""
        self.links = []
        while self.stack and self.stack[0][1] < line_start:
            if self.stack[0][0] == ">>>":
                last = [opener for opener in self.stack if opener[1] >= line_start]
                self.close(">>>", end)
                return last
            self.expire("H2")
        return self.stack

    def cut(self, at: int) -> None:
        """The text before `at` has left."""
        kind = self.stack[0][0] if self.stack else "["
        while self.stack and self.stack[0][1] < at:
            self._drop_oldest()
        self.links = [link for link in self.links if link.at >= at]
        self.held = [boundary for boundary in self.held if boundary.cut > at]
        self._release(kind, "H2")
        self.passed(at)

    def passed(self, at: int) -> None:
        """Spans before `at` no longer matter."""
        self.spans = [span for span in self.spans if span[1] > at]

    def shift(self, by: int) -> None:
        self.stack = [(kind, at - by) for kind, at in self.stack]
        self.links = [OpenLink(link.at - by, link.target) for link in self.links]
        self.held = [boundary.moved(by) for boundary in self.held]
        self.spans = [(start - by, end - by, atom) for start, end, atom in self.spans]

    def clear(self) -> None:
        self._drop_all()
        self.held, self.free, self.spans = [], [], []

    def _pair(self, kind: str, at: int, end: int) -> None:
        self.spans.append((at, end, kind == "]("))
        held = self.held
        if self._report and held and held[-1].at > at:
            self._report(kind, "H1")
        while held and held[-1].at > at:
            held.pop()

    def _discard_inside(self, at: int) -> None:
        while self.stack and self.stack[-1][1] > at:
            self.open[self.stack.pop()[0]] -= 1

    def _drop_oldest(self) -> str:
        kind, _ = self.stack.pop(0)
        self.open[kind] -= 1
        return kind

    def _drop_all(self) -> None:
        for kind, _ in self.stack:
            self.open[kind] = 0
        self.stack, self.links = [], []

    def _release(self, kind: str, rule: Rule) -> None:
        held = self.held
        if not held:
            return
        floor = held[-1].at
        if self.stack:
            floor = min(floor, self.stack[0][1])
        if self.links:
            floor = min(floor, self.links[0].at)
        count = 0
        while count < len(held) and held[count].at <= floor:
            count += 1
        if count:
            self.free += held[:count]
            del held[:count]
            if self._report:
                self._report(kind, rule)
