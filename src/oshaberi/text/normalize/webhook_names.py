"""Usernames that Discord accepts from a webhook, and how they alternate (spec 06 S2.5)."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final, NamedTuple

from oshaberi.events import Identity
from oshaberi.text.config import Persona
from oshaberi.text.copied_state import CopiedState
from oshaberi.text.measure import grapheme_edge, has_visible, utf16_len, utf16_offset

# Usernames that Discord accepts from a webhook: 1-80 long, without refused words.


MAX_UNITS: Final = 80
_MAX_ENDING_UNITS: Final = 64
_NAMELESS: Final = "Unnamed"
_CONTROLS: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_ZERO_WIDTH: Final = re.compile(r"[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff]")
_BLANKS: Final = re.compile(r"\s+")
REFUSED_WORDS: Final = ("clyde", "discord")
# Discord drops joiners before it checks, so they don't hide a word.
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


# Chooses the username of a sprite, so that Discord shows its avatar (spec 06 S2.5).
#
# Discord groups neighbouring webhook messages of one name under the first one's avatar. So when
# the sprite changes between neighbours, the plain name and the decorated `Tomori (mad)`
# alternate.


_BASE_FACE: Final = ""
_BASE_NAME: Final = "default"


class SpriteUsernameState(NamedTuple):
    """The last message's sprite (`face`), and whether its name was decorated.

    Without a `face` there is nothing to group with.
    """

    face: str | None = None
    decorated: bool = False


_NO_FACE: Final = SpriteUsernameState()


class SpriteUsernames(CopiedState):
    """Chooses usernames. Called once for each message and table, in order of sending."""

    def __init__(self, persona: Persona | None, state: SpriteUsernameState | None = None) -> None:
        self._persona = persona
        self._shows_base = persona is not None and persona.is_alter
        self.state = state or SpriteUsernameState()

    def restore(self, state: SpriteUsernameState) -> None:
        self.state = state

    def dress(self, identity: Identity | None) -> Identity | None:
        """Return the identity with its username for this message."""
        if identity is None:
            return self._dress_base()
        if self._persona is None or identity.kind != "sprite":
            self.state = SpriteUsernameState()
            return identity
        face = identity.sprite or _BASE_FACE
        if not self._wear(face):
            return identity
        username = webhook_username(self._persona.name, face or _BASE_NAME)
        return replace(identity, username=username)

    def _dress_base(self) -> Identity | None:
        """Return the identity of an alter without a sprite.

        It uses the webhook too, so it counts as a sprite.
        """
        persona = self._persona
        if persona is None or not self._shows_base:
            self.state = _NO_FACE
            return None
        if not self._wear(_BASE_FACE):
            return None
        username = webhook_username(persona.name, _BASE_NAME)
        return Identity(username, persona.avatar_url, "sprite", persona.name)

    def _wear(self, face: str) -> bool:
        """Return whether the name of this sprite is decorated here."""
        last = self.state
        if last.face is None:
            decorated = False
        elif last.face == face:
            decorated = last.decorated
        else:
            decorated = not last.decorated
        self.state = SpriteUsernameState(face, decorated)
        return decorated
