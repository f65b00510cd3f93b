"""A model that costs next to nothing and a channel that takes everything: what is left is ours.

One timer serves all streams, so that a thousand of them do not need fifty thousand sleeps a second.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from itertools import count
from typing import Any

from bench.engines import cut
from bench.readmes import readmes
from oshaberi.chunks import Chunk, ProviderError
from oshaberi.delivery.sink import Post, RequestKind, RequestRoom, Sent, WebhookFace, WireState

_TICK_SECONDS = 0.002


class Tap:
    """A provider that says the next chunk whenever it is let; from `start` on, round and round."""

    name = "tap"
    model = "tap"
    reemits = False

    def __init__(self, chunks: Sequence[Chunk], start: int = 0) -> None:
        self.taken = 0
        self._chunks = chunks
        self._start = start
        self._let = 0
        self._waiter: asyncio.Future[None] | None = None

    def let(self) -> None:
        self._let += 1
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def open(self, _request: Any = None) -> AsyncIterator[Chunk]:
        chunks, loop = self._chunks, asyncio.get_running_loop()
        for number in count(self._start):
            while self.taken >= self._let:
                self._waiter = loop.create_future()
                await self._waiter
            self.taken += 1
            yield chunks[number % len(chunks)]

    def normalise(self, raw: Any) -> Chunk | None:
        return raw  # type: ignore[no-any-return]

    def classify(self, error: Exception) -> ProviderError:
        return ProviderError("api_error", str(error))


class NullSink:
    """Takes everything at once."""

    display_name = None

    def __init__(self) -> None:
        self.sent = 0

    def room(self, _kind: RequestKind) -> RequestRoom | None:
        return None

    async def send(self, _post: Post, _wire: WireState) -> Sent:
        self.sent += 1
        return Sent(self.sent)

    async def edit(self, _sent: Sent, _post: Post, _wire: WireState) -> None:
        pass

    async def delete(self, _sent: Sent, _wire: WireState) -> None:
        pass

    async def typing(self, _ms: int | None) -> None:
        pass

    async def reply_notice(self, _face: WebhookFace, _wire: WireState) -> None:
        pass

    async def open_webhook(self) -> None:
        pass

    async def forget_webhook(self) -> None:
        pass

    async def find_arrivals(self, _post: Post, _since: float) -> Sequence[Sent]:
        return ()


async def pump(taps: Sequence[Tap], per_second: float) -> None:
    """Let each tap speak so often, one after the other, whether or not it was heard."""
    loop = asyncio.get_running_loop()
    began, given = loop.time(), 0
    while True:
        await asyncio.sleep(_TICK_SECONDS)
        due = int((loop.time() - began) * per_second * len(taps))
        for number in range(given, due):
            taps[number % len(taps)].let()
        given = due


def markdown_chunks() -> list[Chunk]:
    """The descriptions of installed packages, one after the other, in tokens."""
    return [Chunk("text", token) for token in cut("\n\n".join(readmes()["markdown"]))]
