"""Which username a sprite wears, so that Discord shows its face (spec 06 S2.5).

Discord puts neighbouring webhook messages of one name under the first one's avatar. So where the
face changes between neighbours, the clean name and the decorated `Tomori (mad)` take turns.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from oshaberi.events import Identity
from oshaberi.text.config import Persona
from oshaberi.text.normalizers.usernames import webhook_username

_BASE_FACE = ""
_BASE_NAME = "default"


@dataclass(frozen=True, slots=True)
class FaceState:
    """The face of the last message and the name it wore. No face: nothing to be grouped with."""

    face: str | None = None
    decorated: bool = False


class Faces:
    """Called once for each message and table, in the order in which they go out."""

    def __init__(self, persona: Persona | None, state: FaceState | None = None) -> None:
        self._persona = persona
        self._shows_base = persona is not None and persona.is_alter
        self.state = state or FaceState()

    def restore(self, state: FaceState) -> None:
        self.state = state

    def dress(self, identity: Identity | None) -> Identity | None:
        """The identity with the username it wears here."""
        if identity is None:
            return self._dress_base()
        if self._persona is None or identity.kind != "sprite":
            self.state = FaceState()
            return identity
        face = identity.sprite or _BASE_FACE
        if not self._wear(face):
            return identity
        username = webhook_username(self._persona.name, face or _BASE_NAME)
        return replace(identity, username=username)

    def _dress_base(self) -> Identity | None:
        """An alter's own face goes through the webhook too, so it counts as a sprite."""
        persona = self._persona
        if persona is None or not self._shows_base:
            self.state = FaceState()
            return None
        if not self._wear(_BASE_FACE):
            return None
        username = webhook_username(persona.name, _BASE_NAME)
        return Identity(username, persona.avatar_url, "sprite", persona.name)

    def _wear(self, face: str) -> bool:
        """Whether this face's name is decorated."""
        last = self.state
        if last.face is None:
            decorated = False
        elif last.face == face:
            decorated = last.decorated
        else:
            decorated = not last.decorated
        self.state = FaceState(face, decorated)
        return decorated
