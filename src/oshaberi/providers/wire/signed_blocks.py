"""Keeps blocks that an API signs and wants back unchanged, as one opaque text.

Only the family that packed them can read them. Its `request` sends them back, and only to the model
that made them (`ToolRound.signature_for`). The text of an answer is not among them: a text block
says only where in the answer it begins.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from oshaberi.checked_json import parse_json
from oshaberi.providers.wire.steps import SignedBlock

TEXT_BEGINS = "text_begins"
"""The field of a text block that says at which byte of the answer's text it begins."""


@dataclass(slots=True)
class _GrowingBlock:
    fixed: dict[str, Any] = field(default_factory=dict)
    grown: dict[str, list[str]] = field(default_factory=dict)

    def whole(self) -> dict[str, Any]:
        return {**self.fixed, **{name: "".join(texts) for name, texts in self.grown.items()}}


class SignedBlocks:
    """The blocks of one answer, in order. Pieces are joined only at the end."""

    def __init__(self) -> None:
        self._begun: list[_GrowingBlock] = []
        self._open: dict[int | str, _GrowingBlock] = {}
        self._worth_keeping = False
        self._is_dropped = False

    def drop(self) -> None:
        """Forget everything, and keep nothing more: a part of it would be refused."""
        self._is_dropped = True
        self._begun.clear()
        self._open.clear()

    def add(self, piece: SignedBlock, text_bytes: int = 0) -> None:
        """Add a part. `text_bytes` is how much visible text came before it."""
        if self._is_dropped:
            return
        block = self._open.get(piece.key)
        if block is None:
            if piece.only_continues:
                return
            block = _GrowingBlock()
            if piece.fixed.get("type") == "text":
                block.fixed[TEXT_BEGINS] = text_bytes
            self._begun.append(block)
            self._open[piece.key] = block
        self._worth_keeping = self._worth_keeping or not (piece.optional or piece.only_continues)
        block.fixed.update(piece.fixed)
        for name, text in piece.grows.items():
            block.grown.setdefault(name, []).append(text)
        if piece.ends:
            del self._open[piece.key]

    def packed(self) -> str | None:
        """Return the blocks as one text; None if there are none to keep."""
        if not self._worth_keeping or self._is_dropped:
            return None
        blocks = [block.whole() for block in self._begun]
        return json.dumps(blocks, ensure_ascii=False, separators=(",", ":"))


def unpacked(signature: str | None) -> list[dict[str, Any]]:
    """Return the blocks in a signature; none if it was not made by `packed`."""
    if not signature:
        return []
    try:
        blocks = parse_json(signature)
    except ValueError:
        return []
    if not isinstance(blocks, list):
        return []
    return [block for block in blocks if isinstance(block, dict)]
