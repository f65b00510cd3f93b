"""Repeats a request that was refused for its parameters, with fewer of them (spec 02).

Rungs in order: stream options, what the error names, all that is optional, all that is not
mandatory. A rung that changes nothing is skipped, so four retries are the most.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

Body = Mapping[str, Any]

MANDATORY = frozenset({"model", "messages", "stream"})
_USEFUL = frozenset({"tools", "tool_choice"})
RUNGS = 4


class ParameterFallback:
    """The way down from one body. Remembers nothing beyond this request: nothing is cached."""

    def __init__(self, body: Body) -> None:
        self._body = body
        self._rung = 0
        self._complaints = ""

    def down(self, complaint: str) -> Body | None:
        """The next body to try after this refusal, or None: there is nothing left to leave out."""
        self._complaints += f" {complaint}"
        while self._rung < RUNGS:
            self._rung += 1
            fewer = {key: value for key, value in self._body.items() if self._keeps(key)}
            if len(fewer) < len(self._body):
                self._body = fewer
                return fewer
        return None

    def _keeps(self, key: str) -> bool:
        if key in MANDATORY:
            return True
        match self._rung:
            case 1:
                return key != "stream_options"
            case 2:
                return not re.search(rf"\b{re.escape(key)}\b", self._complaints)
            case 3:
                return key in _USEFUL
            case _:
                return False
