"""Usernames that Discord accepts from a webhook: 1-80 long, without refused words."""

from __future__ import annotations

import re
from typing import Final

from oshaberi.errors import Sentence
from oshaberi.text.text_measure import grapheme_edge, has_visible, utf16_len, utf16_offset

MAX_UNITS: Final = 80
_MAX_ENDING_UNITS: Final = 64
_NAMELESS: Final = "Unnamed"
_CONTROLS: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_ZERO_WIDTH: Final = re.compile(r"[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff]")
_BLANKS: Final = re.compile(r"\s+")
_REFUSED_WORDS: Final = ("clyde", "discord")
# Discord drops joiners before it looks, so they don't hide a word.
_REFUSED: Final = re.compile(
    "|".join("[\u200c\u200d]*".join(word) for word in _REFUSED_WORDS), re.IGNORECASE
)
_REFUSED_WHOLE: Final = frozenset(("here", "everyone"))
_REFUSED_SIGNS: Final = {
    "@": Sentence("it contains an @"),
    ":": Sentence("it contains a colon"),
    "```": Sentence("it contains three backticks"),
}
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


def name_problem(name: str, limit: int = MAX_UNITS) -> Sentence | None:
    """Return why a name cannot be used, or None: Discord refuses it, or a label cannot have it."""
    if not has_visible(name):
        return Sentence("it is empty")
    if utf16_len(name) > limit:
        return Sentence("it is longer than {limit} characters", limit=limit)
    if name.casefold().lstrip("@") in _REFUSED_WHOLE:
        return Sentence("Discord does not allow {name!r} as a name", name=name)
    for sign, said in _REFUSED_SIGNS.items():
        if sign in name:
            return said
    if webhook_username(name) != name:
        return _refused_word(name)
    return None


def _refused_word(name: str) -> Sentence:
    """Return why Discord refuses the name as it is."""
    bare = "".join(sign for sign in name.casefold() if sign.isprintable())
    for word in _REFUSED_WORDS:
        if word in bare:
            return Sentence("Discord does not allow the word {word!r} in names", word=word)
    return Sentence("it contains characters that cannot be seen")


def _clean(name: str) -> str:
    name = _BLANKS.sub(" ", _CONTROLS.sub(" ", _ZERO_WIDTH.sub("", name))).strip()
    name = _REFUSED.sub(lambda word: word[0].translate(_LOOKALIKE_C), name)
    if name.casefold() in _REFUSED_WHOLE:
        name = name.translate(_LOOKALIKE_E)
    return name if has_visible(name) else _NAMELESS


def _cut(name: str, units: int) -> str:
    if utf16_len(name) <= units:
        return name
    return name[: grapheme_edge(name, 0, utf16_offset(name, 0, units))].rstrip()
