"""While a database does not answer, calls fail at once: the circuit breaker and its errors.

If a caller waits and the database does nothing for ANSWER_SECONDS, it counts as away. From then on
every call fails at once. The breaker probes the database, and lets calls through again as soon as
it answers. A busy process is not an outage: silence counts only if the event loop had time to
receive something.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, Concatenate, Literal, ParamSpec, Protocol, TypeVar, get_args

from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from oshaberi.bot.storage.database_urls import DatabaseAddress
from oshaberi.bot.storage.errors import StorageAwayError, StorageError
from oshaberi.clocks import loop_clock
from oshaberi.delivery.journal import JournalAwayError
from oshaberi.outage_log import OutageLog, errors_in
from oshaberi.virtual_time import outside_work

log = logging.getLogger(__name__)

ANSWER_SECONDS = 1.5
"""A database that takes longer to answer counts as away."""
LOOKS = 8
"""How often the loop must have run within that time: if the loop is busy, the database is not
silent."""
RETRY_SECONDS = 1.0
ABANDONED_SECONDS = 3.0
"""How long to wait for the end of abandoned calls."""
LISTENING = ("oshaberi.bot.storage.leases", "oshaberi.bot.storage.changes")
"""Loggers of connections that fail by themselves while PostgreSQL is away."""

CallKind = Literal["call", "commit"]
FaultKind = Literal["silent", "away", "error"]
CALLS: tuple[str, ...] = get_args(CallKind)
FAULTS: tuple[str, ...] = get_args(FaultKind)

T = TypeVar("T")
Probe = Callable[[], Awaitable[object]]

_SQLITE_AWAY = ("locked", "busy", "disk i/o", "unable to open", "readonly", "is full")
_STATES_AWAY = ("08", "25006", "53", "55P03", "57P", "58")
"""Prefixes of PostgreSQL's error codes: no connection, read-only, no resources, another process's
long migration, shutdown."""


@contextmanager
def as_storage_errors(address: DatabaseAddress) -> Iterator[None]:
    """Raise driver errors as StorageError, or as StorageAwayError in an outage."""
    try:
        yield
    except (SQLAlchemyError, OverflowError) as error:
        kind = StorageAwayError if is_outage(error) else StorageError
        raise kind(f"the database {address} failed: {_reason(error)}") from error
    except OSError as error:
        reason = _first_line(error) or "no answer in time"
        raise StorageAwayError(f"the database {address} cannot be reached: {reason}") from error


def is_outage(error: Exception) -> bool:
    """Return whether other statements would fail too, and this one may succeed later."""
    if isinstance(error, OSError | PoolTimeoutError):
        return True
    if not isinstance(error, DBAPIError):
        return False
    if error.connection_invalidated:
        return True
    state = getattr(error.orig, "sqlstate", None)
    if isinstance(state, str):
        return state.startswith(_STATES_AWAY)
    words = str(error.orig).lower()
    return type(error).__name__ == "OperationalError" and any(one in words for one in _SQLITE_AWAY)


def _reason(error: Exception) -> str:
    """Return the driver's own text. SQLAlchemy's contains the statement and a link."""
    return _first_line(error.orig if isinstance(error, DBAPIError) and error.orig else error)


def _first_line(error: BaseException) -> str:
    line = next(iter(str(error).splitlines()), "")
    return line.removeprefix("<class '").replace("'>: ", ": ", 1)


class DatabaseMeter:
    """Callbacks for what the database does.

    A call is a `call` of a repository, or a `commit`: a transaction of writes. A fault is `silent`
    (no answer in time), `away`, or `error` (the database refused something).
    """

    def __init__(self) -> None:
        self.on_call: Callable[[CallKind, float], None] = lambda _kind, _s: None
        self.on_fault: Callable[[FaultKind], None] = lambda _kind: None


def database_outage_log(name: str) -> OutageLog:
    """Return the log of a database's outages. The breakers of a database share it."""
    return OutageLog("database", f"the database {name}", log, _is_database_failure)


def _is_database_failure(record: logging.LogRecord) -> bool:
    errors = tuple(errors_in(record))
    away = (StorageAwayError, JournalAwayError)
    return any(isinstance(one, away) or isinstance(one.__cause__, away) for one in errors) or (
        bool(errors) and record.name in LISTENING
    )


class DatabaseCircuitBreaker:
    """The circuit breaker. `probe` raises, or takes long, while the database is away."""

    def __init__(self, name: str, probe: Probe, outage_log: OutageLog | None = None) -> None:
        self._name = name
        self._outage_log = outage_log or database_outage_log(name)
        self._probe = probe
        self._activity = 0
        self._reason = ""
        self.is_away = False
        self._is_back = asyncio.Event()
        self._is_back.set()
        self._calls: set[asyncio.Task[Any]] = set()
        self._looking: asyncio.Task[None] | None = None
        self.on_outage: Callable[[], None] = lambda: None
        """Called at the beginning of an outage."""
        self.meter = DatabaseMeter()

    def note_activity(self) -> None:
        """Note that the database did something, which shows that it is up."""
        self._activity += 1

    def error(self) -> StorageAwayError:
        return StorageAwayError(f"the database {self._name} is away: {self._reason}")

    async def answer(self, work: Coroutine[Any, Any, T]) -> T:
        """Return the result of a call. Raises StorageAwayError instead of a long wait."""
        if self.is_away:
            work.close()
            raise self.error()
        task = self._start(work)
        now_s = loop_clock()
        began_s = now_s()
        try:
            with outside_work():
                answered = await self.watch(task)
            self.meter.on_call("call", now_s() - began_s)
        finally:
            task.cancel()  # has no effect if the future is already done
        if not answered:
            raise self.error()
        try:
            return task.result()
        except StorageError as error:
            self.note_failure(error)
            raise

    async def watch(self, task: asyncio.Task[Any]) -> bool:
        """Wait until the task is done and return True; False if the database was silent too long.

        In that case the database counts as away.
        """
        silent, activity, since_s = 0, self._activity, time.monotonic()
        # A loop whose clock runs faster does not make the database faster: real time counts.
        while silent < LOOKS or time.monotonic() - since_s < ANSWER_SECONDS:
            done, _ = await asyncio.wait({task}, timeout=ANSWER_SECONDS / LOOKS)
            if done:
                return True
            silent += 1
            if activity != self._activity:
                silent, activity, since_s = 0, self._activity, time.monotonic()
        if not self.is_away:  # if several wait at the same time, only one of them notices
            self.meter.on_fault("silent")
        self.begin_outage(f"no answer within {ANSWER_SECONDS:g} s")
        return False

    def note_failure(self, error: StorageError) -> None:
        """Count a failed call or transaction. After a StorageAwayError the database is away."""
        is_away = isinstance(error, StorageAwayError)
        self.meter.on_fault("away" if is_away else "error")
        if is_away:
            self.begin_outage(str(error))

    def begin_outage(self, reason: str) -> None:
        """Mark the database as away, unless it is already."""
        if self.is_away:
            return
        self.is_away, self._reason = True, reason
        self._is_back.clear()
        self._outage_log.begins(
            reason,
            "answers go on with what is known, and what is to be stored is kept until it is back",
            by=self,
        )
        self._looking = asyncio.create_task(self._look_until_back(), name="circuit breaker")
        self.on_outage()

    async def wait_until_back(self) -> None:
        """Wait until the database is up; return at once if it is."""
        await self._is_back.wait()

    async def close(self) -> None:
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.wait({self._looking})
        self._outage_log.close()
        for task in self._calls:
            task.cancel()
        if self._calls:
            await asyncio.wait(set(self._calls), timeout=ABANDONED_SECONDS)

    async def _look_until_back(self) -> None:
        while True:
            await asyncio.sleep(RETRY_SECONDS)
            task = self._start(_run_probe(self._probe))
            done, _ = await asyncio.wait({task}, timeout=ANSWER_SECONDS)
            if done and not task.cancelled() and task.exception() is None:
                self._end_outage()
                return
            task.cancel()

    def _end_outage(self) -> None:
        self._outage_log.ends(by=self)
        self.is_away = False
        self._is_back.set()

    def _start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.create_task(work)
        self._calls.add(task)
        task.add_done_callback(self._forget)
        return task

    def _forget(self, task: asyncio.Task[Any]) -> None:
        self._calls.discard(task)
        if not task.cancelled():
            task.exception()  # retrieved, so that asyncio does not log it


async def _run_probe(probe: Probe) -> None:
    await probe()


class _Store(Protocol):
    """The part of `Transactions` that the decorators use."""

    @property
    def reading(self) -> DatabaseCircuitBreaker: ...
    @property
    def writing(self) -> DatabaseCircuitBreaker: ...


class _Repository(Protocol):
    @property
    def _store(self) -> _Store: ...


R = TypeVar("R", bound=_Repository)
P = ParamSpec("P")
Method = Callable[Concatenate[R, P], Coroutine[Any, Any, T]]


def reads(method: Method[R, P, T]) -> Method[R, P, T]:
    """Make a method raise StorageAwayError if the database cannot be read now."""

    @wraps(method)
    async def call(self: R, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._store.reading.answer(method(self, *args, **kwargs))

    return call


def writes(method: Method[R, P, T]) -> Method[R, P, T]:
    """Make a method raise StorageAwayError if the database cannot be written now.

    In that case the data is not kept.
    """

    @wraps(method)
    async def call(self: R, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._store.writing.answer(method(self, *args, **kwargs))

    return call
