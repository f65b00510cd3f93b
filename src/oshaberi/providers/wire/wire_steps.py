"""The steps that one wire event can contain. `events.read` returns them for `ChunkAssembler`.

Text and thoughts are `Chunk("text", ...)` as they are; the rest is what needs putting together.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from oshaberi.chunks import Chunk


class CallPiece(NamedTuple):
    """A part of a tool call. Pieces with one `key` belong together; `arguments` is JSON text.

    A call that arrives whole is one piece.
    """

    key: int | str
    name: str = ""
    arguments: str = ""
    id: str | None = None


class SignedBlock(NamedTuple):
    """Part of something opaque that the API wants back with the next round: a signed block, say.

    Those with one `key` are one block: `fixed` fields are set, `grows` fields are appended to.
    An `optional` block is worth nothing without others.
    """

    key: int | str
    fixed: Mapping[str, Any] = {}
    grows: Mapping[str, str] = {}
    optional: bool = False


class TokenCount(NamedTuple):
    """What the API counted so far; None where this event does not say."""

    input_tokens: int | None = None
    output_tokens: int | None = None


class FinishStep(NamedTuple):
    """The answer is complete, for this reason if one is named (`FINISH_REASONS` or the API's own).

    A stream that ends without any `Finish` was cut off.
    """

    reason: str | None = None


Step = Chunk | CallPiece | SignedBlock | TokenCount | FinishStep

BLOCKED = frozenset({"content_filter", "safety"})
"""Reasons that mean that something was withheld: an error, not silence (spec 03)."""
