"""Work of a turn that a stop ends at once (spec 04 O1), and small tasks that nobody waits for."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, TypeVar

from oshaberi.stream.result import StreamResult
from oshaberi.stream.stops import ActiveChannel, StopRequest

log = logging.getLogger(__name__)

T = TypeVar("T")

LAST_WORDS_SECONDS = 0.02
"""How long cancelled work may take to end before the turn goes on without it."""


class InterruptedTurnError(Exception):
    """A stop was requested; it has been consumed."""

    def __init__(self, request: StopRequest) -> None:
        super().__init__(request.reason)
        self.request = request


def result_of_stop(request: StopRequest) -> StreamResult:
    """Return the result of a turn that was stopped while no stream was running."""
    if request.follow_up:
        return StreamResult("follow_up_interrupt")
    if request.at_boundary:
        return StreamResult("interrupted", request.reason)
    return StreamResult("stopped_by_user", request.reason)


def check(channel: ActiveChannel) -> None:
    """Raise InterruptedTurnError if a stop was requested."""
    request = channel.consume()
    if request is not None:
        raise InterruptedTurnError(request)


async def until_stopped(channel: ActiveChannel, work: Coroutine[Any, Any, T]) -> T:
    """Return the result of the work. If a stop comes first, cancel the work and raise."""
    task = asyncio.create_task(work)
    over = asyncio.get_running_loop().create_future()

    def end(_task: object = None) -> None:
        if not over.done():
            over.set_result(None)

    task.add_done_callback(end)
    try:
        with channel.heard_by(end):
            await over
        if not task.done() or channel.pending is not None:
            check(channel)
        return await task
    finally:
        await _end(task)


async def _end(task: asyncio.Task[T]) -> None:
    if not task.done():
        task.cancel()
        await asyncio.wait({task}, timeout=LAST_WORDS_SECONDS)
    if not task.done():
        log.warning("cancelled work does not end; the turn goes on without it")
        task.add_done_callback(_retrieve_error)
    else:
        _retrieve_error(task)


def _retrieve_error(task: asyncio.Task[T]) -> None:
    if not task.cancelled():
        task.exception()  # retrieved, so that asyncio does not log it


class BackgroundTasks:
    """Runs such tasks, logs their failures, and waits for the rest at the end."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._tasks)

    def start(self, work: Coroutine[Any, Any, object]) -> asyncio.Task[None]:
        task = asyncio.create_task(self._guarded(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def settle(self, seconds: float) -> None:
        """Wait for running tasks, and cancel those that take longer than `seconds`."""
        if self._tasks:
            _, late = await asyncio.wait(set(self._tasks), timeout=seconds)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late)

    async def _guarded(self, work: Coroutine[Any, Any, object]) -> None:
        try:
            await work
        except Exception as error:
            # The answer does not depend on it.
            log.info("a reaction or the thought log failed: %s", error)
