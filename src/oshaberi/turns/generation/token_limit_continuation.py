"""Continues an answer that ran out of tokens, if its API says how (NovelAI).

The next request begins with everything said so far (`continuation_prefill`), and its answer belongs
to the same stream: no message has to end where a request ended. (`/continue` is in
`turns.turn_control`.)
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from oshaberi.providers.request.model_request import Request
from oshaberi.stream.provider_protocol import Provider, WrappedProvider

MOST_CONTINUATIONS = 8

MayContinue = Callable[[Request], Awaitable[bool]]
"""Tells whether one more request may be made."""


class ContinuedAnswer(WrappedProvider):
    """A provider that asks its model again as often as one answer needs, within limits."""

    def __init__(
        self, provider: Provider, may_continue: MayContinue, most: int = MOST_CONTINUATIONS
    ) -> None:
        super().__init__(provider)
        self._may_continue = may_continue
        self._most = most

    async def open(self, request: Request) -> AsyncIterator[Any]:
        """Yield the raw chunks of all requests. Only the last end is passed on."""
        left = self._most
        while True:
            begun, ends = request.prefill, list[Any]()
            stream: Any = self._provider.open(request)
            async with aclosing(stream):
                async for raw in stream:
                    chunk = self._provider.normalise(raw)
                    if chunk is None or chunk.type != "done":
                        yield raw
                        continue
                    ends.append(raw)
                    begun = chunk.continuation_prefill or begun
            is_over = begun == request.prefill or left == 0
            request = replace(request, prefill=begun)
            if is_over or not await self._may_continue(request):
                for raw in ends:
                    yield raw
                return
            left -= 1
