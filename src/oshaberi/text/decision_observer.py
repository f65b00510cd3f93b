"""Reports each decision of the text engine to an observer, if there is one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from oshaberi.text.copied_state import CopiedState

if TYPE_CHECKING:
    from oshaberi.text.segments.open_markers import Rule
    from oshaberi.text.segments.visible_buffer import Segment

DecisionKind = Literal[
    "boundary", "hold", "release", "transform", "orphan", "cut", "capture", "withhold"
]


@dataclass(frozen=True, slots=True)
class Decision:
    """One decision of the engine, with its reason."""

    kind: DecisionKind
    at: int
    """The place in V up to which it looked."""
    why: str
    before: str = ""
    after: str = ""
    what: str = "text"
    """Of a boundary: the kind of its segment. Of a hold or release: the marker."""


class Observer(CopiedState):
    """Turns the reports of the stages into decisions."""

    def __init__(self, listen: Callable[[Decision], None]) -> None:
        self._listen = listen
        self._at = 0

    def boundary(self, segment: Segment) -> None:
        self._at = segment.end
        self._listen(
            Decision(
                "boundary", segment.end, segment.boundary, after=segment.text, what=segment.kind
            )
        )

    def hold(self, at: int, marker: str) -> None:
        self._listen(Decision("hold", at, "still open", what=marker))

    def release(self, marker: str, rule: Rule) -> None:
        """Report that text held by `marker` is released, by rule H1, H2 or H3."""
        self._listen(Decision("release", self._at, rule, what=marker))

    def transform(self, name: str, before: str, after: str) -> None:
        self._listen(Decision("transform", self._at, name, before, after))

    def note(self, kind: DecisionKind, why: str, before: str = "", after: str = "") -> None:
        self._listen(Decision(kind, self._at, why, before, after))
