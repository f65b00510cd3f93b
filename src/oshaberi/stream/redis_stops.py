"""Stops that reach every process: a request is published, whoever runs the stream answers.

Nothing is stored but the answer: who is active is known only by whoever is, so it is never stale.
Anybody may publish `{"channel": "123", "by": "456"}` on `oshaberi:stops`, a dashboard for example.
"""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import RedisError

from oshaberi.stream.stops import RequestReason, StopRegistry

log = logging.getLogger(__name__)

TOPIC = "oshaberi:stops"
ANSWER_SECONDS = 1.0
RETRY_SECONDS = 1.0


class RedisStops(StopRegistry):
    """The channels of this process, which can be stopped from all."""

    def __init__(self, redis: Redis) -> None:
        super().__init__()
        self._redis = redis

    async def request_stop_anywhere(
        self, channel: str, by: str, reason: RequestReason = "user_request"
    ) -> bool:
        if self.request_stop(channel, by, reason):
            return True
        answer_to = f"{TOPIC}:answer:{secrets.token_hex(8)}"
        asked = {"channel": channel, "by": by, "reason": reason, "answer_to": answer_to}
        try:
            await self._redis.publish(TOPIC, json.dumps(asked))
            return await self._redis.blpop([answer_to], timeout=ANSWER_SECONDS) is not None
        except RedisError as error:
            log.warning("a stop could not be passed on: %s", error)
            return False

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[RedisStops]:
        """Hear what other processes ask for, until the end of the block."""
        ready = asyncio.Event()
        task = asyncio.create_task(self._listen(ready), name="redis stops")
        try:
            await ready.wait()
            yield self
        finally:
            task.cancel()
            await asyncio.wait({task})

    async def _listen(self, ready: asyncio.Event) -> None:
        """Never ends by itself: a Redis that goes away may come back."""
        while True:
            try:
                async with self._redis.pubsub(ignore_subscribe_messages=True) as subscription:
                    await subscription.subscribe(TOPIC)
                    ready.set()
                    async for message in subscription.listen():
                        await self._hear(message["data"])
            except (RedisError, OSError) as error:
                log.warning("stops of other processes are not heard: %s", error)
            ready.set()
            await asyncio.sleep(RETRY_SECONDS)

    async def _hear(self, said: bytes | str) -> None:
        asked = _read(said)
        if asked is None:
            log.warning("not a stop: %.200r", said)
            return
        reason: RequestReason = (
            "system_request" if asked.get("reason") == "system_request" else "user_request"
        )
        if self.request_stop(str(asked["channel"]), str(asked["by"]), reason):
            answer_to = asked.get("answer_to")
            if isinstance(answer_to, str) and answer_to.startswith(f"{TOPIC}:answer:"):
                async with self._redis.pipeline() as pipeline:
                    pipeline.rpush(answer_to, "stopped")
                    pipeline.expire(answer_to, 10)
                    await pipeline.execute()


def _read(said: bytes | str) -> dict[str, Any] | None:
    try:
        asked = json.loads(said)
    except ValueError:
        return None
    whole = isinstance(asked, dict) and {"channel", "by"} <= asked.keys()
    return asked if whole else None
