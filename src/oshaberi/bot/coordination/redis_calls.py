"""Wraps calls to Redis: no cancellation is lost, and there is one kind of error."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from oshaberi.stream.stops.redis_stops import FAULTS


@contextmanager
def cancellable() -> Iterator[None]:
    """Raise a CancelledError that redis-py may have swallowed while it waited."""
    try:
        yield
    finally:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise asyncio.CancelledError


@contextmanager
def reached() -> Iterator[None]:
    """Raise OSError if Redis cannot be reached."""
    try:
        with cancellable():
            yield
    except OSError:
        raise
    except FAULTS as error:
        raise OSError(f"Redis: {error}") from error
