"""The scope of stored models and API keys: one server, or one person's direct messages.

Stored models and keys are never for everybody. Models for everybody are in the operator's settings
(`models`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

ScopeKind = Literal["server", "direct"]
NOBODY = 0


@dataclass(frozen=True, slots=True)
class KeyScope:
    """A scope. `owner_id` is a server's id, or a person's id for their direct messages.

    `direct` with the owner 0 is what older versions stored in direct messages without an owner. It
    is not used until the bot's owner adopts it.
    """

    kind: ScopeKind
    owner_id: int

    @property
    def is_somebodys(self) -> bool:
        return self.owner_id != NOBODY

    @property
    def name(self) -> int | str:
        """Return the owner for `StoredChange`."""
        return self.owner_id if self.kind == "server" else f"user {self.owner_id}"

    @property
    def server_id(self) -> int:
        return self.owner_id if self.kind == "server" else 0

    @property
    def user_id(self) -> int:
        return self.owner_id if self.kind == "direct" else 0


UNOWNED = KeyScope("direct", NOBODY)


def key_scope(server_id: int, user_id: int) -> KeyScope:
    """Return the scope of a place. In direct messages `server_id` is 0 and `user_id` decides."""
    return KeyScope("server", server_id) if server_id else KeyScope("direct", user_id)
