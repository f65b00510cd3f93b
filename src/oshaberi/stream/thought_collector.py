"""Collects the model's thoughts: pieces from chunks become segments, captured blocks are whole."""

from __future__ import annotations

from dataclasses import dataclass, replace

from oshaberi.chunks import ThoughtKind, ThoughtPart


@dataclass(frozen=True, slots=True)
class ThoughtLog:
    """The model's thoughts in one stream. Never part of the reply or the memory (O6)."""

    parts: tuple[ThoughtPart, ...] = ()
    provider: str | None = None
    model: str | None = None
    duration_ms: int = 0
    first_reply_url: str | None = None

    @property
    def texts(self) -> list[str]:
        return [part.text for part in self.parts]

    def of_kind(self, kind: ThoughtKind) -> list[str]:
        return [part.text for part in self.parts if part.kind == kind]


class ThoughtCollector:
    """Joins neighbouring pieces of one kind until something else comes.

    A piece without text and signature separates the pieces before and after it.
    """

    def __init__(self) -> None:
        self._parts: list[ThoughtPart] = []
        self._pieces: list[ThoughtPart] = []

    def piece(self, part: ThoughtPart) -> None:
        divides = not part.text and part.signature is None
        if divides or (self._pieces and self._pieces[-1].kind != part.kind):
            self.interrupt()
        if not divides:
            self._pieces.append(part)

    def block(self, text: str) -> None:
        """Add a complete captured block."""
        self.interrupt()
        self._parts.append(ThoughtPart(text))

    def interrupt(self) -> None:
        """End the segment, because visible text came."""
        if not self._pieces:
            return
        text = "".join(piece.text for piece in self._pieces).strip()
        signatures = [p.signature for p in self._pieces if p.signature is not None]
        if text or signatures:
            signature = signatures[-1] if signatures else None
            self._parts.append(replace(self._pieces[0], text=text, signature=signature))
        self._pieces = []

    def parts(self) -> tuple[ThoughtPart, ...]:
        self.interrupt()
        return tuple(self._parts)
