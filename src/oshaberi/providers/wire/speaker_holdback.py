"""Holds back the last characters of a stream, to catch another speaker's label in time.

Spec 02, speaker hold-back. The text engine's guard comes later and knows more (spec 06 S7); the
hold-back only ends the stream early, and only for known names.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from oshaberi.providers.request.stop_strings import RESERVED

_FENCE = re.compile(r"\n[ \t>]*(?:```|~~~)")
_BOLD = r"(?:\*{1,3}|__)?"
_SEAM = 40
"""How many characters of a line show whether it is a code fence."""


class SpeakerHoldback:
    """Takes text and returns what may be shown; `found` is the label that ended it."""

    def __init__(self, speakers: Sequence[str], chars: int) -> None:
        names = sorted({*map(str.strip, speakers), *RESERVED} - {""}, key=len, reverse=True)
        alternatives = "|".join(map(re.escape, names))
        label = rf"\n[ \t]*{_BOLD}({alternatives})[ \t]?{_BOLD}[ \t]?[:：]"
        # Not `::`, not `://`: that takes a character or two more, unless it is the end.
        self._label = re.compile(rf"{label}(?=[^:：/]|/[^/])", re.IGNORECASE)
        self._last_label = re.compile(rf"{label}(?=[^:：/]|/[^/]|/?\Z)", re.IGNORECASE)
        self.found: str | None = None
        self._chars = chars
        self._held = ""
        self._line = "\n"
        self._fences = 0

    def feed(self, text: str) -> str:
        """Return the text that may be shown now; nothing after a label was found."""
        held = self._held + text
        label = self._foreign(self._label, held)
        if label is not None:
            return self._cut(held, label)
        out = held[: -self._chars] if self._chars else held
        self._held = held[len(out) :]
        self._leave(out)
        return out

    def finish(self) -> str:
        """Return the held-back text at the end, up to a label."""
        tail, self._held = self._held, ""
        label = self._foreign(self._last_label, tail)
        return tail if label is None else self._cut(tail, label)

    def _cut(self, held: str, label: re.Match[str]) -> str:
        self.found = label[1]
        self._held = ""
        return held[: label.start()].rstrip()

    def _foreign(self, pattern: re.Pattern[str], held: str) -> re.Match[str] | None:
        if "\n" not in held:
            return None
        seen, at = self._line, 0
        fences = self._fences
        for found in pattern.finditer(held):
            fences += len(_FENCE.findall(seen + held[at : found.start()]))
            if fences % 2 == 0:
                return found
            seen, at = "", found.start()
        return None

    def _leave(self, out: str) -> None:
        """Count the code fences in returned text, and keep the start of the unfinished line."""
        if not out:
            return
        seen = self._line + out
        last = seen.rfind("\n")
        self._fences += len(_FENCE.findall(seen[:last]))
        self._line = seen[last : last + _SEAM]
