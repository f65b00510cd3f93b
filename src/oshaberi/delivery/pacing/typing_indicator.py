"""Shows and hides the typing indicator. It never blocks a message and never gets stuck."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from oshaberi.delivery.sink import Sink

log = logging.getLogger(__name__)

KEEP_ALIVE_SECONDS = 8.0
"""Discord shows the indicator for ten seconds."""


class TypingIndicator:
    """The indicator before a paced message; also kept alive until something is visible."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._keeper: asyncio.Task[None] | None = None

    def keep_alive(self) -> None:
        self._keeper = asyncio.create_task(self._keep())

    def rest(self) -> None:
        """Stop the indicator: something is visible, or nothing more will come."""
        if self._keeper is not None:
            self._keeper.cancel()

    async def close(self) -> None:
        await _end(self._keeper)

    @asynccontextmanager
    async def shown(self, seconds: float) -> AsyncIterator[None]:
        task = asyncio.create_task(self._show(round(seconds * 1000)))
        try:
            yield
        finally:
            await _end(task)

    async def _keep(self) -> None:
        while True:
            await self._show(None)
            await asyncio.sleep(KEEP_ALIVE_SECONDS)

    async def _show(self, ms: int | None) -> None:
        try:
            await self._sink.typing(ms)
        except Exception as error:
            # A reader who sees no indicator still gets the message.
            log.debug("no typing indicator: %s", error)


async def _end(task: asyncio.Task[None] | None) -> None:
    if task is not None:
        task.cancel()
        await asyncio.wait({task}, timeout=1)
