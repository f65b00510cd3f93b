"""Ends a text at the first stop string, for an API that takes none: `feed` text, `finish`."""

from __future__ import annotations

import re
from collections.abc import Sequence


class StopStringCut:
    """Takes text and returns what may be shown. Holds back a possible stop string."""

    def __init__(self, stops: Sequence[str]) -> None:
        self.is_found = False
        self._stop = re.compile("|".join(map(re.escape, sorted(stops, key=len, reverse=True))))
        beginnings = {stop[:length] for stop in stops for length in range(1, len(stop))}
        ordered = sorted(beginnings, key=len, reverse=True)
        self._beginning = re.compile(f"(?:{'|'.join(map(re.escape, ordered))})\\Z")
        self._longest = max((len(stop) for stop in stops), default=1) - 1
        self._held = ""

    def feed(self, text: str) -> str:
        """Return the text that may be shown now; nothing after a stop string."""
        held = self._held + text
        found = self._stop.search(held)
        if found:
            self.is_found = True
            self._held = ""
            return held[: found.start()]
        start = max(0, len(held) - self._longest)
        begun = self._beginning.search(held, start) if self._longest else None
        at = begun.start() if begun else len(held)
        self._held = held[at:]
        return held[:at]

    def finish(self) -> str:
        """Return the held-back text, which was no stop string."""
        held, self._held = self._held, ""
        return held
