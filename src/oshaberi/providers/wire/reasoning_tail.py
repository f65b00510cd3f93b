"""Removes the end of a thought that a faulty server put before the answer: `must do.Hello!`.

The text is moved to the thoughts only if reasoning came before, the answer starts in lower case,
and its first sentence ends right before a capital (spec 03). The decision uses text positions
alone, within a bounded look-ahead.
"""

from __future__ import annotations

import re

LOOK_AHEAD = 80
_END = re.compile(r"[.!?…][\"'”’)\]]*(?=(.))|\n", re.DOTALL)


class ReasoningTail:
    """Checks the first visible text after reasoning.

    `feed` and `finish` return the tail that belongs to the thoughts, and the text. `feed` returns
    None while that is undecided.
    """

    def __init__(self) -> None:
        self._held = ""

    def feed(self, text: str) -> tuple[str, str] | None:
        self._held += text
        if not self._held:
            return None
        if not self._held[0].islower():
            return "", self._held
        return self._decide()

    def finish(self) -> tuple[str, str]:
        return "", self._held

    def _decide(self) -> tuple[str, str] | None:
        for found in _END.finditer(self._held, 0, LOOK_AHEAD + 1):
            after = found[1]
            if after is None or after.isspace():
                return "", self._held
            if after.isupper():
                return self._held[: found.end()], self._held[found.end() :]
        return ("", self._held) if len(self._held) > LOOK_AHEAD else None
