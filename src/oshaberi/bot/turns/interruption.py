"""Lets a stop or a follow-up end work between the streams of a turn at once (spec 04 O1)."""

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


def stopped_result(request: StopRequest) -> StreamResult:
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
        task.add_done_callback(_seen)
    else:
        _seen(task)


def _seen(task: asyncio.Task[T]) -> None:
    if not task.cancelled():
        task.exception()  # retrieved, so that asyncio does not log it
