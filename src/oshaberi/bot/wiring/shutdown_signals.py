"""SIGINT and SIGTERM: what they end, and how long the process may take.

What a signal means depends on what the process does (`Life`):

- opening: the work is cancelled, and what is open by then is closed;
- listening: the work decides (`bot_wiring.run` lets running answers finish, a second signal skips
  that);
- closing: the process is already ending.

Cancelled or closing work can hang: in a DNS query, at a gateway that does not confirm the end of a
connection. So a process that runs only the bot has a `HardEnd` as well.
"""

from __future__ import annotations

import asyncio
import logging
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, suppress
from enum import Enum
from types import FrameType, TracebackType
from typing import Any

log = logging.getLogger(__name__)

SIGNALS = (signal.SIGINT, signal.SIGTERM)
ENDS_WITHIN_SECONDS = 4.5
"""How long after a signal a process that answers nothing may take to end: less than the five
seconds that operators are promised."""
CLOSES_WITHIN_SECONDS = 4.0
"""How long everything may take to close after the last answer has ended."""
AT_ONCE_SECONDS = 1.5
"""The same after a second signal. A third one does not wait at all."""
LAST_WORDS_SECONDS = 0.2


class Life(Enum):
    """What the process is doing."""

    OPENING = "opening"
    LISTENING = "listening"
    CLOSING = "closing"


class ShutdownSignals:
    """Catches the signals for a block of the main thread, in a running loop or around one.

    While no loop runs there is nothing to close, so a process with a `hard_end` ends at once.
    Without a `hard_end`, the process also runs other things and is never ended from here.
    """

    def __init__(self, hard_end: HardEnd | None = None) -> None:
        self._hard_end = hard_end
        self._before: dict[int, Any] = {}
        self._asked: asyncio.Queue[None] = asyncio.Queue()
        self._life = Life.OPENING
        self._patience_s = 0.0
        self._count = 0
        self._first_at = 0.0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[Any] | None = None
        self._has_cancelled = False

    def __enter__(self) -> ShutdownSignals:
        if self._hard_end is not None:
            self._hard_end.start()
        with suppress(RuntimeError):
            self._loop = asyncio.get_running_loop()
        for number in SIGNALS:
            self._before[number] = signal.signal(number, self._heard)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if self._hard_end is not None:
            self._hard_end.stop()

    async def over(self, work: Coroutine[Any, Any, None]) -> None:
        """Do the work. A signal cancels it, unless the work listens for signals.

        An error that comes after a signal is a consequence of the end, such as that of a
        transaction that was cancelled: it is logged, and the process has ended as it was asked to.
        """
        before, task = (self._loop, self._task), asyncio.current_task()
        assert task is not None
        self._loop, self._task = asyncio.get_running_loop(), task
        try:
            await work
        except asyncio.CancelledError:
            if not self._has_cancelled:
                raise
            self._has_cancelled = False
            task.uncancel()
        except Exception as error:
            if not self._count:
                raise
            log.warning("while the bot was ending: %s", str(error) or repr(error))
        finally:
            self._loop, self._task = before

    @contextmanager
    def listening(self, patience_s: float) -> Iterator[None]:
        """Decide in this block what a signal ends (`or_done`). Afterwards the process closes.

        After a signal the block may take `patience_s` seconds.
        """
        self._life, self._patience_s = Life.LISTENING, patience_s
        try:
            yield
        finally:
            self._life = Life.CLOSING
            if self._count == 1:
                now = time.monotonic()
                self._end_by(max(self._first_at + ENDS_WITHIN_SECONDS, now + CLOSES_WITHIN_SECONDS))

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

    def _heard(self, _number: int, _frame: FrameType | None) -> None:
        """Handle a signal. Python calls this in the main thread, between any two instructions."""
        self._count += 1
        now = time.monotonic()
        if self._count == 1:
            self._first_at = now
            is_listening = self._life is Life.LISTENING
            self._end_by(now + (self._patience_s if is_listening else ENDS_WITHIN_SECONDS))
        else:
            self._end_by(now + (AT_ONCE_SECONDS if self._count == 2 else 0.0))
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._wake)
        elif self._hard_end is not None:
            end_process(0)

    def _wake(self) -> None:
        self._asked.put_nowait(None)
        if self._life is Life.OPENING and self._task is not None:
            self._life, self._has_cancelled = Life.CLOSING, True
            self._task.cancel()

    def _end_by(self, moment: float) -> None:
        if self._hard_end is not None:
            self._hard_end.set(moment)


class HardEnd:
    """Ends the process at a given time, even if something in it hangs.

    Only for a process that has nothing to do but this. Messages and questions are stored before
    they matter, so this loses as much as a crash does: what the database had not stored yet.
    """

    def __init__(self) -> None:
        # Its `put` may be called in a signal handler.
        self._moments: queue.SimpleQueue[float | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._wait, name="hard end", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._moments.put(None)

    def set(self, moment: float) -> None:
        """End the process at this time (of `time.monotonic`) instead of an earlier choice."""
        self._moments.put(moment)

    def _wait(self) -> None:
        moment: float | None = self._moments.get()
        while moment is not None:
            try:
                moment = self._moments.get(timeout=max(0.0, moment - time.monotonic()))
            except queue.Empty:
                _say_last_words()
                os._exit(0)  # without a flush, which the main thread may be stuck in


def _say_last_words() -> None:
    """Log, but do not wait for it: the log itself may be what hangs."""
    words = "closing takes too long; the process ends without it"
    line = threading.Thread(target=log.warning, args=(words,), daemon=True)
    line.start()
    line.join(LAST_WORDS_SECONDS)


def end_process(status: int) -> None:
    """End the process now. Nothing is closed, and no thread is waited for."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError, RuntimeError):
            stream.flush()
    os._exit(status)
