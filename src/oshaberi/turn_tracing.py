"""The running turn: its ids, for every line logged during it, and its spans, for traces.

Code that does a step of a turn wraps it: `with turn_span("context"): …`. If the turn is not traced,
that only reads one variable.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol


@dataclass(frozen=True, slots=True)
class TurnIds:
    """Where a turn runs and for whom. `server_id` is 0 in a direct message.

    `turn` is empty while the question waits. It is also the id of the turn's streams.
    """

    server_id: int
    channel_id: int
    user_id: int
    turn: str = ""

    def fields(self) -> Mapping[str, str]:
        """Return the known ids by name."""
        every = {
            "server": str(self.server_id or ""),
            "channel": str(self.channel_id),
            "user": str(self.user_id),
            "turn": self.turn,
        }
        return {name: value for name, value in every.items() if value}


_CURRENT: ContextVar[TurnIds | None] = ContextVar("turn_ids", default=None)


@contextmanager
def of_turn(ids: TurnIds) -> Iterator[None]:
    """Put these ids on all lines logged inside the block, also by tasks that start in it."""
    token = _CURRENT.set(ids)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def turn_fields() -> Mapping[str, str]:
    """Return the ids of the current turn by name; nothing outside of a turn."""
    ids = _CURRENT.get()
    return {} if ids is None else ids.fields()


SpanValue = str | int | float | bool
SpanValues = Mapping[str, SpanValue]


class TurnSpan(Protocol):
    """A running span. Never add anything that people or models wrote."""

    def note(self, values: SpanValues) -> None:
        """Add attributes."""

    def fail(self, kind: str) -> None:
        """Mark it as failed, with the kind of the error in one word."""


class TurnTracer(Protocol):
    """Records spans. A span that begins inside another is its child."""

    def span(self, name: str, values: SpanValues) -> AbstractContextManager[TurnSpan]: ...


class _NoSpan:
    """The span of a turn that is not traced."""

    def __enter__(self) -> _NoSpan:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None: ...

    def note(self, values: SpanValues) -> None: ...

    def fail(self, kind: str) -> None: ...


_NO_SPAN = _NoSpan()
_TRACER: ContextVar[TurnTracer | None] = ContextVar("turn_tracer", default=None)


@contextmanager
def traced_turn(tracer: TurnTracer | None, ids: TurnIds, values: SpanValues) -> Iterator[TurnSpan]:
    """Record the turn inside the block with all its steps, including those of tasks started there.

    Without a tracer nothing is recorded.
    """
    if tracer is None:
        yield _NO_SPAN
        return
    named = {f"oshaberi.{name}": value for name, value in ids.fields().items()}
    token = _TRACER.set(tracer)
    try:
        with tracer.span("turn", {**named, **values}) as span:
            yield span
    finally:
        _TRACER.reset(token)


def is_traced() -> bool:
    """Return whether the running turn is recorded."""
    return _TRACER.get() is not None


def turn_span(name: str, values: SpanValues | None = None) -> AbstractContextManager[TurnSpan]:
    """Return the span of one step of the running turn."""
    tracer = _TRACER.get()
    return _NO_SPAN if tracer is None else tracer.span(name, values or {})
