"""Decorators for repositories: a method waits no longer than the circuit breaker allows."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from oshaberi.storage.outages.database_circuit_breaker import DatabaseCircuitBreaker


class _Store(Protocol):
    """What the decorators use of a `Transactions`."""

    @property
    def reading(self) -> DatabaseCircuitBreaker: ...
    @property
    def writing(self) -> DatabaseCircuitBreaker: ...


class _Repository(Protocol):
    @property
    def _store(self) -> _Store: ...


R = TypeVar("R", bound=_Repository)
P = ParamSpec("P")
T = TypeVar("T")
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
