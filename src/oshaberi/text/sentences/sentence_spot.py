"""A place where a sentence may end, and what comes after it: a capital, a digit, nothing yet."""

from __future__ import annotations

import re
from typing import Final

_MAX_GAP: Final = 16
_MAX_WORD: Final = 24
_GAP: Final = re.compile(r"[^\S\n]*")
OPENING_SIGNS: Final = "\"'“„‘‚«‹([{*_~|「『《〈（【¿¡"
"""What may stand in front of a sentence's first word. French closes with ` »`, so that does not."""
_OPENING: Final = frozenset(OPENING_SIGNS)
_OPENERS: Final = re.compile(f"[{re.escape(OPENING_SIGNS)}]+")
_WORD: Final = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_EMPHASIS: Final = frozenset("*_~|")
_JOINTS: Final = frozenset(",)]}、，—–»”’」』")


class SentenceSpot:
    """A run of terminators, the closers after it, and what comes next."""

    __slots__ = ("ahead", "at", "close", "end", "final", "kind", "low", "text")

    def __init__(
        self,
        text: str,
        at: int,
        end: int,
        close: int,
        low: int,
        final: bool,
        kind: str = "end",
        ahead: int = 0,
    ) -> None:
        self.text = text
        self.at = at
        self.end = end
        self.close = close
        self.low = low
        """How far back one may look."""
        self.final = final
        self.kind = kind
        """Of what follows: end, lower, upper, digit, joint, other."""
        self.ahead = ahead
        """Where it is."""

    @property
    def quoted(self) -> bool:
        """Tell whether a quote or bracket closes after the run (emphasis does not count)."""
        return self.close > self.end and not _EMPHASIS.issuperset(self.text[self.end : self.close])


def following(text: str, at: int, final: bool) -> tuple[str, int]:
    """Return the kind and index of what follows the white space at `at`.

    `more` means that it has not arrived.
    """
    if text.startswith("\n", at):
        return "end", at
    ahead = at + 1
    if not text.startswith(" ", at) or text[ahead : ahead + 1].isspace():
        gap = _GAP.match(text, at, at + _MAX_GAP + 1)
        ahead = gap.end() if gap else at
        if ahead - at > _MAX_GAP:
            return "end", ahead
    if ahead < len(text) and text[ahead] in _OPENING:
        openers = _OPENERS.match(text, ahead, ahead + 8)
        ahead = openers.end() if openers else ahead
    if ahead == len(text):
        return ("end" if final else "more"), ahead
    return _kind(text[ahead]), ahead


def _kind(char: str) -> str:
    if char.islower():
        return "lower"
    if char.isupper() or char.istitle():
        return "upper"
    if char.isdigit():
        return "digit"
    if char == "\n":
        return "end"
    return "joint" if char in _JOINTS else "other"


def word_at(spot: SentenceSpot, at: int) -> str | None:
    """Return the word at `at`, or None while its end is not certain."""
    found = _WORD.match(spot.text, at, at + _MAX_WORD)
    if found is None:
        return ""
    end = found.end()
    if not spot.final and end < at + _MAX_WORD and end + 1 >= len(spot.text):
        return None
    return found.group()
