"""A segment while the normalizers work on it, and the text pieces it becomes."""

from __future__ import annotations

from oshaberi.events import Identity
from oshaberi.text.copied_state import CopiedState


class TextPiece:
    """A stretch of prose with one identity."""

    __slots__ = ("identity", "labelled", "line_start", "text")

    def __init__(
        self,
        text: str,
        identity: Identity | None = None,
        labelled: bool = False,
        line_start: bool = True,
    ) -> None:
        self.text = text
        self.identity = identity
        self.labelled = labelled
        """Begins a line on which the model wrote its render-modifier label."""
        self.line_start = line_start
        """Begins at a real start of a line of V, not behind an overflow or sentence cut."""


class SegmentWork:
    """One prose segment. Each normalizer changes it in place."""

    __slots__ = ("ends_line", "opens_response", "pieces", "stop", "withheld")

    def __init__(
        self, pieces: list[TextPiece], ends_line: bool = True, opens_response: bool = False
    ) -> None:
        self.pieces = pieces
        self.ends_line = ends_line
        """The segment ends where its line ends (else the line goes on in the next segment)."""
        self.opens_response = opens_response
        """Nothing visible came before it in the whole response."""
        self.withheld: list[tuple[str, str]] = []
        """What was taken out on purpose: (text, reason)."""
        self.stop: str | None = None
        """The foreign speaker's label at which the text was cut (S7)."""


class Normalizer(CopiedState):
    """One rule of step 06."""

    def apply(self, work: SegmentWork) -> None:
        """Change the segment in place."""
        raise NotImplementedError
