"""Chooses the username of a sprite, so that Discord shows its avatar (spec 06 S2.5).

Discord groups neighbouring webhook messages of one name under the first one's avatar. So when the
sprite changes between neighbours, the plain name and the decorated `Tomori (mad)` alternate.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, NamedTuple

from oshaberi.events import Identity
from oshaberi.text.copied_state import CopiedState
from oshaberi.text.normalize.names.webhook_usernames import webhook_username
from oshaberi.text.text_config import Persona

_BASE_FACE: Final = ""
_BASE_NAME: Final = "default"


class SpriteUsernameState(NamedTuple):
    """The last message's sprite (`face`), and whether its name was decorated.

    Without a `face` there is nothing to group with.
    """

    face: str | None = None
    decorated: bool = False


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
            self.state = SpriteUsernameState()
            return None
        if not self._wear(_BASE_FACE):
            return None
        username = webhook_username(persona.name, _BASE_NAME)
        return Identity(username, persona.avatar_url, "sprite", persona.name)

    def _wear(self, face: str) -> bool:
        """Tell whether the name of this sprite is decorated here."""
        last = self.state
        if last.face is None:
            decorated = False
        elif last.face == face:
            decorated = last.decorated
        else:
            decorated = not last.decorated
        self.state = SpriteUsernameState(face, decorated)
        return decorated
