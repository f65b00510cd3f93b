"""Spec 05, semantic hold: which markers are open, and which boundaries wait for them.

Pure bookkeeping: `marker_rules` decides what opens and closes, `segment_boundaries` what a release
leads to. Positions are indexes into the text that the caller reads; `shift` follows when it moves.
"""

from __future__ import annotations

from typing import Final, Literal

from oshaberi.events import Boundary
from oshaberi.text.copied_state import CopiedState, SharedValue
from oshaberi.text.decision_observer import Observer

_CODE_LIMIT: Final = 500

_ROUND: Final = frozenset({"(", "]("})

Rule = Literal["H1", "H2", "H3"]
"""Why a boundary waits no longer: closed, or literal because of a blank line, or of its age."""

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
        """Where the carried punctuation begins: the white space from `at` to here goes (B3)."""

    def moved(self, by: int) -> HeldBoundary:
        mend = self.mend - by if self.mend else 0
        return HeldBoundary(self.at - by, self.cut - by, self.reason, mend)


def code_limit(hold_limit: int) -> int:
    """Return how far inline code may reach.

    It is capped, so that a backtick stalls nothing (L6).
    """
    return min(hold_limit, _CODE_LIMIT)


class OpenLink(SharedValue):
    """A `[` that may begin a link; `target` once `](` was read. Atoms do not expire (L5)."""

    __slots__ = ("at", "target")

    def __init__(self, at: int, target: bool = False) -> None:
        self.at = at
        self.target = target


class OpenMarkers(CopiedState):
    """The stack of openers, oldest first, and the boundaries that they hold."""

    def __init__(self, limit: int, observer: Observer | None = None) -> None:
        self.limit = limit
        self._observer = observer
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
        """Close the newest of its kind and discard the openers inside the pair (H1)."""
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
        """Close part of a longer opener: `***a**` leaves a `*` open at the same place."""
        at = self.stack[max(i for i, (opened, _) in enumerate(self.stack) if opened == kind)][1]
        self._discard_inside(at - 1)
        self.push(to, at)

    def link_text_closed(self, is_link: bool) -> None:
        """Handle `]`: the newest `[` becomes a link or was only a bracket.

        Inside a target it is an ordinary character.
        """
        if not self.links or self.links[-1].target:
            return
        at = self.links.pop().at
        if is_link:
            self._discard_inside(at - 1)
            self.links.append(OpenLink(at, target=True))
            self.push("](", at)
        else:
            self._drop_label()
            self._release("[", "H2")

    def round_closed(self, end: int) -> None:
        """Handle `)`: close the newest `(` or `[text](`, else a link whose hold expired."""
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
        """Return where the oldest opener turns out to have been literal (H3)."""
        return self.stack[0][1] + self.limit + 1

    def expire(self, rule: Rule = "H3") -> None:
        """Drop the oldest opener, which was literal."""
        kind = self._drop_oldest()
        if kind == "[":
            self.links = [link for link in self.links if link.target]
        self._release(kind, rule)

    def line_break(self) -> None:
        """Handle a newline. The newest link's text may go on, and holds lines from now on."""
        label = self.links[-1:]
        self.links = [link for link in self.links if link.target and self.open["]("]]
        self._drop_label()
        if label and not label[0].target:
            self.links += label
            self._hold_label(label[0].at)
        self._release("[", "H2")

    def blank_line(self, at: int) -> None:
        """Drop all openers as literal (H2). A `>>> ` quote ends here."""
        self.links = []
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
        self.links = []
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
        self.links = [link for link in self.links if link.at >= at]
        self.held = [boundary for boundary in self.held if boundary.cut > at]
        self._release(kind, "H2")
        self.passed(at)

    def passed(self, at: int) -> None:
        """Drop the spans before `at`."""
        self.spans = [span for span in self.spans if span[1] > at]

    def shift(self, by: int) -> None:
        self.stack = [(kind, at - by) for kind, at in self.stack]
        self.links = [OpenLink(link.at - by, link.target) for link in self.links]
        self.held = [boundary.moved(by) for boundary in self.held]
        self.free = [boundary.moved(by) for boundary in self.free]
        self.spans = [(start - by, end - by, atom) for start, end, atom in self.spans]

    def clear(self) -> None:
        self._drop_all()
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
        if self.open["["]:
            self.stack = [opener for opener in self.stack if opener[0] != "["]
            self.open["["] = 0

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
            if self._observer:
                self._observer.release(kind, rule)
