"""Knows which shards of a client are connected to Discord's gateway now.

discord.py's `is_ready` stays true while a shard reconnects. So `GatewayState` follows the events of
the shards, and checks when Discord last acknowledged each shard's heartbeat.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import discord

LATE_SECONDS = 10.0
"""How long after the next heartbeat is due an acknowledgement may come."""


class GatewayState:
    """The state of a client's shards. The client reports when a shard connects or disconnects."""

    def __init__(
        self, client: discord.AutoShardedClient, now_s: Callable[[], float] = time.perf_counter
    ) -> None:
        self._client = client
        self._now_s = now_s
        self._connected: set[int] = set()

    def connected(self, shard_id: int) -> None:
        self._connected.add(shard_id)

    def lost(self, shard_id: int) -> None:
        self._connected.discard(shard_id)

    def shard_ids(self) -> tuple[int, ...]:
        """Return the shards that the client has started."""
        return tuple(sorted(self._client.shards))

    def missing(self) -> tuple[int, ...]:
        """Return the started shards that are not connected."""
        shards = self._client.shards
        return tuple(one for one in sorted(shards) if not self._is_up(shards[one]))

    def is_connected(self, shard_id: int) -> bool:
        """Tell whether a shard is connected, and Discord answers its heartbeats."""
        shard = self._client.shards.get(shard_id)
        return shard is not None and self._is_up(shard)

    def connected_count(self) -> int:
        return len(self.shard_ids()) - len(self.missing())

    def problem(self) -> str | None:
        """Describe what is wrong with the connection to Discord; None if nothing is."""
        if self._client.is_closed():
            return "the bot has ended"
        if not self._client.is_ready():
            return "not connected to Discord"
        missing = self.missing()
        if not missing:
            return None
        count = len(self.shard_ids())
        which = "" if count == 1 else f" (shards {', '.join(map(str, missing))} of {count})"
        return f"not connected to Discord{which}"

    def _is_up(self, shard: discord.ShardInfo) -> bool:
        connected = shard.id in self._connected and not shard.is_closed()
        return connected and self._silence_s(shard) < LATE_SECONDS

    def _silence_s(self, shard: discord.ShardInfo) -> float:
        """Return how many seconds an acknowledgement is overdue; negative if it is not."""
        beats = shard._parent.ws._keep_alive  # noqa: SLF001
        if beats is None or beats.interval is None:
            return 0.0
        return self._now_s() - beats._last_ack - beats.interval  # noqa: SLF001
