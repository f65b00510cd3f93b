"""Stops requests to a channel that keeps answering 403: 403s count towards a ban (facts)."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from oshaberi.delivery.sink import DiscordRefusalError

FORBIDDEN = frozenset({50001, 50013})
MOST_REFUSALS = 3
OPEN_SECONDS = 300.0


@dataclass(slots=True)
class _ChannelFailures:
    refusals: int = 0
    code: int = 0
    open_until: float = 0.0


class CircuitBreaker:
    """Blocks a channel for a while after several 403s in a row.

    After that, requests are tried again: one more 403 blocks the channel again, a success resets
    the count.
    """

    def __init__(self, most: int = MOST_REFUSALS, open_seconds: float = OPEN_SECONDS) -> None:
        self._most = most
        self._open_seconds = open_seconds
        self._channels: dict[int, _ChannelFailures] = {}

    def check(self, channel_id: int) -> None:
        channel = self._channels.get(channel_id)
        if channel is not None and _now() < channel.open_until:
            raise DiscordRefusalError(channel.code, "refused too often; not asked again for now")

    def refused(self, channel_id: int, code: int) -> None:
        if code not in FORBIDDEN:
            return
        channel = self._channels.setdefault(channel_id, _ChannelFailures())
        channel.refusals += 1
        channel.code = code
        if channel.refusals >= self._most:
            channel.open_until = _now() + self._open_seconds

    def passed(self, channel_id: int) -> None:
        self._channels.pop(channel_id, None)


def _now() -> float:
    return asyncio.get_running_loop().time()
