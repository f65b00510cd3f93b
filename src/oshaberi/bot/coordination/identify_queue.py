"""The queue for IDENTIFY, over all processes of the bot.

Discord accepts one IDENTIFY in five seconds from each bucket of shards (`shard_id` modulo
`max_concurrency`). A process that sends one too early loses its session, and after too many
IDENTIFYs in a day Discord resets the token.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict

from oshaberi.bot.coordination.shard_lease_table import LeaseTable

PAUSE_SECONDS = 5.2
"""Discord says 5. It is longer because two IDENTIFYs may arrive closer together than they were
sent."""
POLL_SECONDS = 0.25


class IdentifyQueue:
    """The queue as one process sees it. In each bucket, one of its shards waits at a time."""

    def __init__(self, table: LeaseTable, max_concurrency: int) -> None:
        self._table = table
        self._max_concurrency = max(1, max_concurrency)
        self._waiting: defaultdict[int, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._reserved: dict[int, int] = {}
        """Bucket → the shard that may connect now."""

    def bucket(self, shard_id: int) -> int:
        return shard_id % self._max_concurrency

    async def reserve(self, shard_id: int) -> None:
        """Wait until the shard may connect. Connect only then, so that no open connection waits."""
        bucket = self.bucket(shard_id)
        async with self._waiting[bucket]:
            while not await self._table.begin_pause(f"identify:{bucket}", PAUSE_SECONDS):
                await asyncio.sleep(POLL_SECONDS)
            self._reserved[bucket] = shard_id

    async def confirm(self, shard_id: int) -> None:
        """Start the pause again, right before IDENTIFY is sent. Waits again if that is too late."""
        bucket = self.bucket(shard_id)
        if self._reserved.get(bucket) != shard_id or not await self._prolonged(bucket):
            await self.reserve(shard_id)
        self._reserved.pop(bucket, None)

    async def _prolonged(self, bucket: int) -> bool:
        return await self._table.prolong_pause(f"identify:{bucket}", PAUSE_SECONDS)

    async def may_move(self, shard_id: int) -> bool:
        """Tell whether a connected shard may move to another process now.

        It may only when IDENTIFY is allowed, and one shard at a time, so that the process that
        takes the shard can connect it at once.
        """
        bucket = self.bucket(shard_id)
        if await self._table.is_paused(f"identify:{bucket}"):
            return False
        return await self._table.begin_pause(f"move:{bucket}", PAUSE_SECONDS)
