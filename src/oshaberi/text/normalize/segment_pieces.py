"""A segment while the normalizers work on it, and the text pieces it becomes."""

from __future__ import annotations

from dataclasses import dataclass, field

from oshaberi.events import Identity


@dataclass(slots=True)
class TextPiece:
    """A stretch of prose with one identity."""

    text: str
    identity: Identity | None = None
    labelled: bool = False
    """Begins a line on which the model wrote its render-modifier label."""
    line_start: bool = True
    """Begins at a real start of a line of V, not behind an overflow or sentence cut."""


@dataclass(slots=True)
class SegmentWork:
    """One prose segment. Each normalizer changes it in place."""

    pieces: list[TextPiece]
    ends_line: bool = True
    """The segment ends where its line ends (else the line goes on in the next segment)."""
    opens_response: bool = False
    """Nothing visible came before it in the whole response."""
    withheld: list[tuple[str, str]] = field(default_factory=list)
    """What was taken out on purpose: (text, reason)."""
    stop: str | None = None
    """The foreign speaker's label at which the text was cut (S7)."""
