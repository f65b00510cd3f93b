"""The permissions that the bot uses, and how the overwrites of a channel change them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

ADMINISTRATOR = 1 << 3
VIEW = 1 << 10
SEND = "Send Messages"
NEEDED = {
    "View Channels": VIEW,
    SEND: 1 << 11,
    "Read Message History": 1 << 16,
}
WANTED = {
    "Send Messages in Threads": 1 << 38,
    "Manage Webhooks": 1 << 29,
    "Embed Links": 1 << 14,
    "Attach Files": 1 << 15,
    "Add Reactions": 1 << 6,
    "Use External Emoji": 1 << 18,
}
CHANNEL_NEEDED = {
    SEND: NEEDED[SEND],
    **{name: WANTED[name] for name in ("Embed Links", "Attach Files", "Manage Webhooks")},
    "Read Message History": NEEDED["Read Message History"],
}
EVERYTHING = (1 << 64) - 1


def names_of(wanted: Mapping[str, int], granted: int) -> tuple[str, ...]:
    """Return the names of the wanted permissions that are not granted."""
    return tuple(name for name, bit in wanted.items() if not granted & bit)


@dataclass(frozen=True, slots=True)
class ChannelOverwrites:
    """The overwrites of a channel: what is denied and allowed, by the id of a role or member."""

    by_id: Mapping[str, tuple[int, int]]

    @classmethod
    def of(cls, listed: Iterable[Mapping[str, Any]]) -> ChannelOverwrites:
        return cls(
            {
                str(one.get("id")): (int(one.get("deny", 0)), int(one.get("allow", 0)))
                for one in listed
            }
        )

    def applied(
        self, granted: int, server_id: str, roles: frozenset[str], my_id: str, *, is_owner: bool
    ) -> int:
        """Return the permissions in the channel of a member who has `granted` in the server.

        Discord applies the overwrite of @everyone (its id is the server's), then those of all
        roles together, then the member's own.
        """
        if is_owner or granted & ADMINISTRATOR:
            return EVERYTHING
        for ids in ({server_id}, roles - {server_id}, {my_id}):
            deny, allow = self._together(ids)
            granted = granted & ~deny | allow
        return granted

    def _together(self, ids: Iterable[str]) -> tuple[int, int]:
        deny = allow = 0
        for one in ids:
            denied, allowed = self.by_id.get(one, (0, 0))
            deny, allow = deny | denied, allow | allowed
        return deny, allow
