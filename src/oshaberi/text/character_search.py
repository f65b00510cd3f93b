"""Finds the first of some characters. Compiled code looks at each; interpreted code asks `re`.

A reader stops every thirty characters or so. For compiled code, a call of `re` would cost more than
looking at them.
"""

from __future__ import annotations

from typing import Final

from oshaberi.text.copied_state import SharedValue

_PLANE: Final = 0x10000


class CharacterTable(SharedValue):
    """A set of characters from the Basic Multilingual Plane."""

    __slots__ = ("_holds",)

    def __init__(self, characters: str) -> None:
        holds = bytearray(_PLANE)
        for character in characters:
            holds[ord(character)] = 1
        self._holds = bytes(holds)

    def first(self, text: str, start: int, end: int) -> int:
        """Return where the first of them is in `text[start:end]`; `end` if there is none."""
        holds, at = self._holds, start
        while at < end:
            code = ord(text[at])
            if code < _PLANE and holds[code]:
                return at
            at += 1
        return end


IS_COMPILED: Final = not hasattr(CharacterTable.first, "__code__")
