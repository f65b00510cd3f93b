"""Whom stored models and API keys serve: one server, or one person in direct messages.

Nothing that is stored serves everybody. What does stands in the operator's settings (`models`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

ScopeKind = Literal["server", "direct"]
NOBODY = 0


@dataclass(frozen=True, slots=True)
class KeyScope:
    """`owner_id` is a server's id, or the id of the person whose direct messages they are.

    `direct` with the owner 0 is what older versions stored in direct messages without saying
    whose: it serves nobody until it is adopted.
    """

    kind: ScopeKind
    owner_id: int

    @property
    def is_somebodys(self) -> bool:
        return self.owner_id != NOBODY

    @property
    def server_id(self) -> int:
        return self.owner_id if self.kind == "server" else 0

    @property
    def user_id(self) -> int:
        return self.owner_id if self.kind == "direct" else 0


UNOWNED = KeyScope("direct", NOBODY)


def key_scope(server_id: int, user_id: int) -> KeyScope:
    """The scope of a place: `server_id` is 0 in direct messages, and then the person counts."""
    return KeyScope("server", server_id) if server_id else KeyScope("direct", user_id)
