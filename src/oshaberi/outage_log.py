"""Logs outages: a line when one begins, a count every minute, a line when it ends.

While something is away, everything that needs it fails, and each failure would be a line. So the
handlers of the log ask `is_counted`: a record that an outage explains is counted instead. What the
lines say is in their fields too: `outage`, `seconds`, `failures`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Hashable, Iterator, Mapping
from types import MappingProxyType
from weakref import WeakSet

from oshaberi.clocks import loop_time_s

COUNT_SECONDS = 60.0

WORDS = ("{what} is away ({reason})", "{what} is still away", "{what} answers again")
"""The texts of the lines: the outage begins, lasts, and is over."""

Explains = Callable[[logging.LogRecord], bool]
"""Returns whether a record is about a failure that the outage explains."""

_OUTAGES: WeakSet[OutageLog] = WeakSet()


class OutageLog:
    """The log of one thing that can be away, such as the database.

    Several parts can notice the same outage (`by`): it begins with the first of them, and ends when
    it has ended for all. With `counts_only`, a minute without a failure is not logged.
    """

    def __init__(
        self,
        name: str,
        what: str,
        log: logging.Logger,
        explains: Explains = lambda _record: False,
        *,
        level: int = logging.ERROR,
        words: tuple[str, str, str] = WORDS,
        is_noticed_by_records: bool = False,
        counts_only: bool = False,
    ) -> None:
        self._name = name
        self._what = what
        self._log = log
        self._explains = explains
        self._level = level
        self._words = words
        self._is_noticed_by_records = is_noticed_by_records
        self._counts_only = counts_only
        self._by: set[Hashable] = set()
        self._began_s = 0.0
        self._announced_s: float | None = None
        self._is_announced = False
        self._failures = 0
        self._counted = 0
        self._timer: asyncio.TimerHandle | None = None
        _OUTAGES.add(self)

    @property
    def is_on(self) -> bool:
        return bool(self._by)

    def begins(self, reason: str, consequence: str = "", *, by: Hashable = "") -> None:
        """Note that the thing is away. If that is already known, count a failure."""
        if self.is_on:
            if by not in self._by or by == "":
                self.count()
            self._by.add(by)
            return
        self._by.add(by)
        self._began_s = loop_time_s()
        self._failures, self._counted = 1, 0
        # An outage that comes and goes every second is logged once a minute.
        self._is_announced = (
            self._announced_s is None or self._began_s - self._announced_s >= COUNT_SECONDS
        )
        if self._is_announced:
            self._announced_s = self._began_s
            then = f": {consequence}" if consequence else ""
            self._log_line(self._level, 0, reason, then)
        self._timer = asyncio.get_running_loop().call_later(COUNT_SECONDS, self._log_count)

    def count(self) -> None:
        """Count one more failure."""
        self._failures += 1
        self._counted += 1

    def ends(self, *, by: Hashable = "") -> None:
        """Note that it works again for one of those that noticed the outage."""
        self._by.discard(by)
        if not self._by:
            self.over()

    def over(self) -> None:
        """Note that it works again for everybody."""
        if self._timer is None:
            return
        self.close()
        if self._is_announced:
            self._log_line(logging.INFO, 2, fields=self._numbers())

    def close(self) -> None:
        """Log nothing more: the process ends."""
        self._by.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def takes(self, record: logging.LogRecord) -> bool:
        """Count a record if the outage explains it. Return whether it did."""
        if not self._explains(record):
            return False
        if self.is_on:
            self.count()
        elif self._is_noticed_by_records and _has_loop():
            reason = next(map(str, errors_in(record)), "") or record.getMessage()
            self.begins(reason, by="log")
        else:
            return False
        return True

    def _log_count(self) -> None:
        counted, self._counted = self._counted, 0
        if counted or not self._counts_only:
            self._is_announced = True
            self._log_line(logging.WARNING, 1, fields=self._numbers() | {"failures": counted})
        self._timer = asyncio.get_running_loop().call_later(COUNT_SECONDS, self._log_count)

    def _numbers(self) -> dict[str, object]:
        return {"seconds": round(loop_time_s() - self._began_s, 1), "failures": self._failures}

    def _log_line(
        self,
        level: int,
        which: int,
        reason: str = "",
        then: str = "",
        fields: Mapping[str, object] = MappingProxyType({}),
    ) -> None:
        message = self._words[which].format(what=self._what, reason=reason) + then
        self._log.log(level, "%s", message, extra={"outage": self._name, **fields})


def is_counted(record: logging.LogRecord) -> bool:
    """Return whether an outage explains a record. Handlers leave such a record out."""
    known = getattr(record, "is_counted", None)  # several handlers ask
    if known is None:
        ours = hasattr(record, "outage")
        known = not ours and any(outage.takes(record) for outage in tuple(_OUTAGES))
        record.is_counted = known
    return bool(known)


def errors_in(record: logging.LogRecord) -> Iterator[BaseException]:
    """Yield the exceptions of a record."""
    if record.exc_info and record.exc_info[1] is not None:
        yield record.exc_info[1]
    for value in record.args if isinstance(record.args, tuple) else ():
        if isinstance(value, BaseException):
            yield value


def _has_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
