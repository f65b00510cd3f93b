"""Which names a persona or sprite may have: those that Discord accepts and a label can carry."""

from __future__ import annotations

from typing import Final

from oshaberi.errors import Sentence
from oshaberi.text.normalize.names.webhook_usernames import (
    MAX_UNITS,
    REFUSED_WHOLE,
    REFUSED_WORDS,
    webhook_username,
)
from oshaberi.text.text_measure import has_visible, utf16_len

_REFUSED_SIGNS: Final = {
    "@": Sentence("it contains an @"),
    ":": Sentence("it contains a colon"),
    "```": Sentence("it contains three backticks"),
}


def name_problem(name: str, limit: int = MAX_UNITS) -> Sentence | None:
    """Return why a name cannot be used (Discord refuses it, or a label cannot have it), or None."""
    if not has_visible(name):
        return Sentence("it is empty")
    if utf16_len(name) > limit:
        return Sentence("it is longer than {limit} characters", limit=limit)
    if name.casefold().lstrip("@") in REFUSED_WHOLE:
        return Sentence("Discord does not allow {name!r} as a name", name=name)
    for sign, said in _REFUSED_SIGNS.items():
        if sign in name:
            return said
    if webhook_username(name) != name:
        return _refused_word(name)
    return None


def _refused_word(name: str) -> Sentence:
    """Return why Discord refuses the name."""
    bare = "".join(sign for sign in name.casefold() if sign.isprintable())
    for word in REFUSED_WORDS:
        if word in bare:
            return Sentence("Discord does not allow the word {word!r} in names", word=word)
    return Sentence("it contains characters that cannot be seen")
