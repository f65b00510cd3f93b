"""Usernames that Discord accepts from a webhook: 1-80 long, without refused words."""

from __future__ import annotations

import re
from typing import Final

from oshaberi.text.text_measure import grapheme_edge, has_visible, utf16_len, utf16_offset

MAX_UNITS: Final = 80
_MAX_ENDING_UNITS: Final = 64
_NAMELESS: Final = "Unnamed"
_CONTROLS: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_ZERO_WIDTH: Final = re.compile(r"[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff]")
_BLANKS: Final = re.compile(r"\s+")
REFUSED_WORDS: Final = ("clyde", "discord")
# Discord drops joiners before it looks, so they don't hide a word.
_REFUSED: Final = re.compile(
    "|".join("[\u200c\u200d]*".join(word) for word in REFUSED_WORDS), re.IGNORECASE
)
REFUSED_WHOLE: Final = frozenset(("here", "everyone"))
# Cyrillic letters that look like the Latin ones: the name reads the same and is accepted.
# (Zero-width characters would not help: Discord strips them.)
_LOOKALIKE_C: Final = str.maketrans({"c": "\u0441", "C": "\u0421"})
_LOOKALIKE_E: Final = str.maketrans({"e": "\u0435", "E": "\u0415"})


def webhook_username(name: str, ending: str | None = None) -> str:
    """Return `name`, or `name (ending)`. The name is cut first, so that the ending stays."""
    name = _clean(name)
    if ending is None:
        return _cut(name, MAX_UNITS)
    tail = f" ({_cut(_clean(ending), _MAX_ENDING_UNITS)})"
    return _cut(name, MAX_UNITS - utf16_len(tail)) + tail


def _clean(name: str) -> str:
    name = _BLANKS.sub(" ", _CONTROLS.sub(" ", _ZERO_WIDTH.sub("", name))).strip()
    name = _REFUSED.sub(lambda word: word[0].translate(_LOOKALIKE_C), name)
    if name.casefold() in REFUSED_WHOLE:
        name = name.translate(_LOOKALIKE_E)
    return name if has_visible(name) else _NAMELESS


def _cut(name: str, units: int) -> str:
    if utf16_len(name) <= units:
        return name
    return name[: grapheme_edge(name, 0, utf16_offset(name, 0, units))].rstrip()
