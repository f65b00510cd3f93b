"""A SQLite driver that stops before one of its calls, as on a slow disk, until it may go on."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import aiosqlite
import pytest


class HeldSqliteDriver:
    """The file is a real one. Only the chosen call waits, in the thread of its connection."""

    def __init__(self) -> None:
        self.at = ""
        """What the last held call was about to do."""
        self._left: int | None = None
        self._name: str | None = None
        self._is_held = asyncio.Event()
        self._may_go_on = threading.Event()

    def hold(self, *, after: int = 0, name: str | None = None) -> None:
        """Hold one call: the one after `after` others of that name, or of any."""
        self.at = ""
        self._left, self._name = after, name
        self._is_held.clear()
        self._may_go_on.clear()

    @property
    def is_holding(self) -> bool:
        return bool(self.at) and not self._may_go_on.is_set()

    async def held(self) -> None:
        await self._is_held.wait()

    def go_on(self) -> None:
        self._left = None
        self._may_go_on.set()

    def call(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return what the driver's thread calls instead of `function`."""
        name = function.__name__
        if self._left is None or self._name not in (None, name):
            return function
        self._left -= 1
        if self._left >= 0:
            return function
        self._left, self.at = None, name
        loop = asyncio.get_running_loop()

        def slow(*args: Any, **kwargs: Any) -> Any:
            loop.call_soon_threadsafe(self._is_held.set)
            self._may_go_on.wait()
            return function(*args, **kwargs)

        return slow


@contextmanager
def held_sqlite_driver() -> Iterator[HeldSqliteDriver]:
    """Every connection of the block is one of this driver."""
    driver = HeldSqliteDriver()
    execute: Callable[..., Any] = aiosqlite.Connection._execute

    async def held_execute(self: Any, function: Any, *args: Any, **kwargs: Any) -> Any:
        return await execute(self, driver.call(function), *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(aiosqlite.Connection, "_execute", held_execute)
        try:
            yield driver
        finally:
            driver.go_on()
