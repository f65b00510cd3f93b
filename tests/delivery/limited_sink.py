"""A recording sink with Discord's buckets: what meets an empty one is counted and repeated."""

from __future__ import annotations

import asyncio

from discord_stage.refusals import RefusalError
from discord_stage.requests.rate_limits import (
    MESSAGE_CREATE_LIMIT,
    MESSAGE_EDIT_LIMIT,
    RateLimit,
    RateLimits,
)
from oshaberi.delivery.recording_sink import RecordingSink
from oshaberi.delivery.sink import Post, RequestKind, RequestRoom, Sent, WireState
from oshaberi.discord_io.requests.limits import room_of_headers


class LimitedSink(RecordingSink):
    """Make it inside the loop. A window lasts its usual time, divided by `scale`."""

    def __init__(self, request_seconds: float = 0.1, scale: float = 1.0) -> None:
        super().__init__()
        self.refused = 0
        self._request_seconds = request_seconds
        self._limits = RateLimits(_now, scale=scale)
        self._rooms: dict[RequestKind, RequestRoom | None] = {}

    def room(self, kind: RequestKind) -> RequestRoom | None:
        return self._rooms.get(kind)

    async def send(self, post: Post, wire: WireState) -> Sent:
        await self._enter(MESSAGE_CREATE_LIMIT, "send", wire)
        return await super().send(post, wire)

    async def edit(self, sent: Sent, post: Post, wire: WireState) -> None:
        await self._enter(MESSAGE_EDIT_LIMIT, "edit", wire)
        await super().edit(sent, post, wire)

    async def _enter(self, limit: RateLimit, kind: RequestKind, wire: WireState) -> None:
        while True:
            await asyncio.sleep(self._request_seconds)
            try:
                headers = self._limits.enter(limit, "", global_too=False)
            except RefusalError as refused:
                self.refused += 1
                wire.hold()
                await asyncio.sleep(float(refused.headers["Retry-After"]))
                wire.leave(_now())
                continue
            self._rooms[kind] = room_of_headers(headers, _now())
            return


def _now() -> float:
    return asyncio.get_running_loop().time()
