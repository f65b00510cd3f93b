"""The spans of the running turn: what it does and for how long, for traces.

Code that does a step of a turn wraps it: `with turn_span("context"): …`. If the turn is not traced,
that only reads one variable.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from types import TracebackType
from typing import Protocol

from oshaberi.turn_ids import TurnIds

SpanValue = str | int | float | bool
SpanValues = Mapping[str, SpanValue]


class TurnSpan(Protocol):
    """A span that has begun. Never add what people or models wrote."""

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
    """Record the turn inside the block, with all its steps, also those of tasks that start there.

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
