"""Runs functions in daemon threads, so that a function that hangs does not block the exit."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import ParamSpec, TypeVar

from oshaberi.bot.tools.definition import ToolFailedError

P = ParamSpec("P")
T = TypeVar("T")

MOST_AT_ONCE = 64


class DaemonThreads(Executor):
    """An executor with one daemon thread per job.

    The interpreter does not wait for these threads at exit.
    """

    def __init__(self, most: int = MOST_AT_ONCE) -> None:
        self._free = threading.Semaphore(most)

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        if not self._free.acquire(blocking=False):
            raise ToolFailedError("too many tools are still at work; try again later")
        future: Future[T] = Future()
        context = contextvars.copy_context()

        def work() -> None:
            try:
                _settle(future, lambda: context.run(fn, *args, **kwargs))
            finally:
                self._free.release()

        threading.Thread(target=work, name="oshaberi-tool", daemon=True).start()
        return future


def _settle(future: Future[T], job: Callable[[], T]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = job()
    except BaseException as error:  # SystemExit too: the code that awaits it decides what it means
        future.set_exception(error)
    else:
        future.set_result(result)


THREADS = DaemonThreads()
