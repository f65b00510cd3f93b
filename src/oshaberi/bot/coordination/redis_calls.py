"""What every call to Redis needs: cancellation that is not lost, and one kind of error."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from oshaberi.stream.stops.redis_stops import FAULTS


@contextmanager
def cancellable() -> Iterator[None]:
    """Raise CancelledError that redis-py may swallow while it waits."""
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
