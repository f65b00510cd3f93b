"""Sends stops to every process: a request is published, and the process with the turn answers.

Only the answer is stored: each process knows its own active channels, so nothing becomes stale. Any
program may publish `{"channel": "123", "by": "456"}` on `oshaberi:stops`, a dashboard for example;
with `"may_manage": false` only a turn of that user is stopped.
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
from redis.asyncio.client import PubSub
from redis.exceptions import RedisError

from oshaberi.checked_json import parse_json
from oshaberi.clocks import loop_clock
from oshaberi.stream.stops import RequestReason, StopAnswer, StopRegistry

log = logging.getLogger(__name__)

TOPIC = "oshaberi:stops"
ANSWER_SECONDS = 1.0
ANSWER_KEPT_SECONDS = 10
LISTEN_SECONDS = 5.0
RETRY_SECONDS = 1.0
AGAIN_SECONDS = 0.1
FAULTS = (RedisError, OSError)


class RedisStops(StopRegistry):
    """The channels of this process, which any process can stop."""

    def __init__(self, redis: Redis) -> None:
        super().__init__()
        self._redis = redis
        self._name = secrets.token_hex(8)
        self._answering: set[asyncio.Task[None]] = set()

    async def request_stop_anywhere(
        self,
        channel: str,
        by: str,
        reason: RequestReason = "user_request",
        *,
        may_manage: bool = True,
    ) -> StopAnswer:
        """Stop the turn here and ask the others too.

        A turn here may be waiting for one of theirs to end.
        """
        here = self.request_stop_as(channel, by, reason, may_manage=may_manage)
        answer_to = f"{TOPIC}:answer:{secrets.token_hex(8)}"
        asked = {
            "channel": channel,
            "by": by,
            "reason": reason,
            "may_manage": may_manage,
            "from": self._name,
            "answer_to": answer_to,
        }
        try:
            heard_by = await self._redis.publish(TOPIC, json.dumps(asked))
            others = heard_by > 1 and here != "stopped"
            there: StopAnswer = await self._answer(answer_to) if others else "idle"
        except FAULTS as error:
            log.warning("a stop could not be passed on: %s", error)
            there = "idle"
        if here == "stopped":
            await self.settled(channel)
        return here if there == "idle" else there

    async def _answer(self, answer_to: str) -> StopAnswer:
        """Return the best answer. A process that has nothing to stop does not answer."""
        answer: StopAnswer = "idle"
        now = loop_clock()
        until = now() + ANSWER_SECONDS
        while answer != "stopped" and (left := until - now()) > 0:
            popped = await self._redis.blpop([answer_to], timeout=left)
            if popped is not None:
                answer = "stopped" if popped[1] == b"stopped" else "not_yours"
        return answer

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[RedisStops]:
        """Listen to the stops of other processes until the end of the block."""
        ready = asyncio.Event()
        task = asyncio.create_task(self._listen(ready), name="redis stops")
        try:
            await ready.wait()
            yield self
        finally:
            for one in (task, *self._answering):
                await ended(one)

    async def _listen(self, ready: asyncio.Event) -> None:
        """Listen forever. If Redis is down, try again."""
        while True:
            try:
                async with self._redis.pubsub(ignore_subscribe_messages=True) as subscription:
                    await subscription.subscribe(TOPIC)
                    ready.set()
                    await self._attend(subscription)
            except FAULTS as error:
                log.warning("stops of other processes are not heard: %s", error)
            ready.set()
            await asyncio.sleep(RETRY_SECONDS)

    async def _attend(self, subscription: PubSub) -> None:
        while True:
            message = await subscription.get_message(timeout=LISTEN_SECONDS)
            if message is not None:
                self._hear(message["data"])

    def _hear(self, message: bytes | str) -> None:
        asked = _read(message)
        if asked is None:
            log.warning("not a stop: %.200r", message)
            return
        if asked.get("from") == self._name:
            return
        system = asked.get("reason") == "system_request"
        channel = str(asked["channel"])
        answer = self.request_stop_as(
            channel,
            str(asked["by"]),
            "system_request" if system else "user_request",
            may_manage=asked.get("may_manage", True) is True,
        )
        answer_to = str(asked.get("answer_to"))
        if answer != "idle" and answer_to.startswith(f"{TOPIC}:answer:"):
            # Beside the listening: the next stop must not wait for this one's last words.
            task = asyncio.create_task(self._send_answer(answer_to, channel, answer))
            self._answering.add(task)
            task.add_done_callback(self._answering.discard)

    async def _send_answer(self, answer_to: str, channel: str, answer: StopAnswer) -> None:
        if answer == "stopped":
            await self.settled(channel)
        try:
            async with self._redis.pipeline() as pipeline:
                pipeline.rpush(answer_to, answer)
                pipeline.expire(answer_to, ANSWER_KEPT_SECONDS)
                await pipeline.execute()
        except FAULTS as error:
            log.warning("a stop could not be answered: %s", error)


async def ended(task: asyncio.Task[None]) -> None:
    """Cancel a task, repeatedly if needed: redis-py can swallow a cancellation."""
    while not task.done():
        task.cancel()
        await asyncio.wait({task}, timeout=AGAIN_SECONDS)


def _read(message: bytes | str) -> dict[str, Any] | None:
    try:
        asked = parse_json(message)
    except ValueError:
        return None
    whole = isinstance(asked, dict) and {"channel", "by"} <= asked.keys()
    return asked if whole else None
