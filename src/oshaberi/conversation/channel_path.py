"""The path of a channel in its server: the places whose settings it inherits."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ChannelPath:
    """A channel, thread, category or direct message, with the places above it.

    `channel_id` is the place itself. `parent_id` is a thread's channel.
    """

    server_id: int
    """0 for direct messages."""
    channel_id: int
    parent_id: int | None = None
    category_id: int | None = None

    @property
    def ids(self) -> tuple[int, ...]:
        """Return the ids of the place and of those above it, nearest first, without the server."""
        parent, category = self.parent_id, self.category_id
        if not category:
            return (self.channel_id, parent) if parent else (self.channel_id,)
        return (self.channel_id, parent, category) if parent else (self.channel_id, category)
