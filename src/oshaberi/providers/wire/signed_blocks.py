"""Keeps blocks that an API signs and wants back unchanged, as one opaque text.

Only the family that packed them can read them. Its `*_request_body` sends them back, and only to
the model that made them (`ToolRound.signature_for`).
"""

from __future__ import annotations

import json
from typing import Any

from oshaberi.checked_json import parse_json
from oshaberi.providers.wire.steps import SignedBlock


class SignedBlocks:
    """The blocks of one answer, in order. Pieces are joined only at the end."""

    def __init__(self) -> None:
        self._fixed: dict[int | str, dict[str, Any]] = {}
        self._grown: dict[int | str, dict[str, list[str]]] = {}
        self._worth_keeping = False

    def add(self, piece: SignedBlock) -> None:
        self._worth_keeping = self._worth_keeping or not piece.optional
        self._fixed.setdefault(piece.key, {}).update(piece.fixed)
        grown = self._grown.setdefault(piece.key, {})
        for name, text in piece.grows.items():
            grown.setdefault(name, []).append(text)

    def packed(self) -> str | None:
        """Return the blocks as one text; None if there are none to keep."""
        if not self._worth_keeping:
            return None
        blocks = [self._block(key) for key in self._fixed]
        return json.dumps(blocks, ensure_ascii=False, separators=(",", ":"))

    def _block(self, key: int | str) -> dict[str, Any]:
        grown = {name: "".join(texts) for name, texts in self._grown[key].items()}
        return {**self._fixed[key], **grown}


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
