"""Finds which boundaries waited for an open marker, how long, and what released them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from oshaberi import Decision
from oshaberi.inspector.decision_steps import quoted
from oshaberi.inspector.decision_words import RELEASES
from oshaberi.inspector.engine_recorder import Entry

Timed = tuple[Entry, int]


@dataclass(slots=True)
class Hold:
    """A line or sentence that could have ended at `at` of V, but had to wait."""

    marker: str
    at: int
    from_ms: int
    until_ms: int | None = None
    rule: str = ""
    why: str = ""

    def release(self, rule: str, marker: str, at_ms: int) -> None:
        self.until_ms, self.rule = at_ms, rule
        self.why = RELEASES[rule].format(quoted(marker)) if rule else "The text was cut first."


def holds_in(entries: Iterable[Timed]) -> list[Hold]:
    holds: list[Hold] = []
    for entry, at_ms in entries:
        if not isinstance(entry, Decision):
            continue
        if entry.kind == "hold":
            holds.append(Hold(entry.what, entry.at, at_ms))
        elif entry.kind == "release":
            for hold in _open(holds):
                hold.release(entry.why, entry.what, at_ms)
        elif entry.kind == "boundary":
            for hold in _open(holds):
                if hold.at < entry.at:
                    hold.release("", hold.marker, at_ms)
    return holds


def _open(holds: list[Hold]) -> list[Hold]:
    return [hold for hold in holds if hold.until_ms is None]
