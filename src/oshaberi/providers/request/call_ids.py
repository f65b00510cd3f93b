"""Makes tool call ids that the API accepts: unique and in its format. A valid id stays.

The same call and its result always get the same id, so nothing has to be remembered.
"""

from __future__ import annotations

import re
from hashlib import sha256

from oshaberi.chunks import ToolCall
from oshaberi.providers.capabilities.model_capabilities import CallIdShape
from oshaberi.providers.request.context_items import ToolRound

_SHAPES: dict[CallIdShape, re.Pattern[str]] = {
    "any": re.compile(r".{1,40}", re.DOTALL),
    "words": re.compile(r"[A-Za-z0-9_-]{1,64}"),
    "nine": re.compile(r"[A-Za-z0-9]{9}"),
}


class CallIds:
    """The ids in the history of one request, in order."""

    def __init__(self, shape: CallIdShape) -> None:
        self._shape = _SHAPES[shape]
        self._given: set[str] = set()

    def of(self, turn: ToolRound) -> list[str]:
        """Return one id per call of a round."""
        return [self._next(call) for call in turn.calls]

    def _next(self, call: ToolCall) -> str:
        made = call.id or ""
        while made in self._given or not self._shape.fullmatch(made):
            made = sha256(f"{made} {len(self._given)}".encode()).hexdigest()[:9]
        self._given.add(made)
        return made
