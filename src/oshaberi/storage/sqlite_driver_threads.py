"""Waits for aiosqlite's threads. Each must end before the event loop of its connection does.

Work that was cancelled leaves its thread behind, which may wait for somebody else's lock. A thread
that reports its result to a closed loop ends with a traceback.
"""

from __future__ import annotations

import asyncio
from threading import Thread
from typing import Any
from weakref import WeakSet

import aiosqlite


class SqliteDriverThreads:
    """The threads of the connections of one engine."""

    def __init__(self) -> None:
        self._threads: WeakSet[Thread] = WeakSet()

    def connect(self, *args: Any, **kwargs: Any) -> aiosqlite.Connection:
        """Make a connection, as SQLAlchemy does, and remember its thread."""
        connection = aiosqlite.connect(*args, **kwargs)
        thread = connection._thread  # noqa: SLF001
        thread.daemon = True
        self._threads.add(thread)
        return connection

    async def ended(self, wait_s: float) -> None:
        """Wait until the threads of closed connections have ended, but no longer than `wait_s`."""
        deadline_s = asyncio.get_running_loop().time() + wait_s
        for thread in list(self._threads):
            if thread.is_alive():
                left_s = deadline_s - asyncio.get_running_loop().time()
                await asyncio.to_thread(thread.join, max(0.0, left_s))
