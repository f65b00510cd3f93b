"""Handles signals: the first ends the program gracefully, the second at once.

`turns.running.queue_runner` lets the running turns finish, or ends them (`close`).
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from types import TracebackType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class ShutdownSignals:
    """Catches signals: `with ShutdownSignals() as ending: await ending.or_done(work)`.

    Needs a running loop.
    """

    def __init__(self) -> None:
        self._asked: asyncio.Queue[None] = asyncio.Queue()

    def __enter__(self) -> ShutdownSignals:
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            loop.add_signal_handler(number, self.ask)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            loop.remove_signal_handler(number)

    def ask(self) -> None:
        """Request a shutdown, as a signal does."""
        self._asked.put_nowait(None)

    async def or_done(self, work: asyncio.Task[None] | Coroutine[Any, Any, None]) -> None:
        """Wait until the work is done or the next signal comes.

        After a signal, a task continues and a coroutine is cancelled. A signal that came before the
        call counts too.
        """
        task = work if isinstance(work, asyncio.Task) else asyncio.create_task(work)
        asked = asyncio.create_task(self._asked.get())
        try:
            await asyncio.wait({task, asked}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            asked.cancel()
            if task is not work:
                task.cancel()
                await asyncio.wait({task})
