"""Passes events to listeners. The events of a request can be held back until its answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from discord_stage.world.records import Json


@dataclass(frozen=True, slots=True)
class GatewayEvent:
    """A gateway dispatch, before intents are applied."""

    name: str
    data: Json
    guild_id: int | None = None
    channel_id: int | None = None
    only_for: int | None = None
    """The only person who sees the event on the page; the bot does not get it."""


Listener = Callable[[GatewayEvent], None]
_held: ContextVar[list[GatewayEvent] | None] = ContextVar("held_events", default=None)


class EventBus:
    """Passes events synchronously: when `emit` returns, every listener has the event."""

    def __init__(self) -> None:
        self._listeners: list[Listener] = []
        self._witnesses: list[Listener] = []

    def listen(self, listener: Listener) -> None:
        self._listeners.append(listener)

    def witness(self, listener: Listener) -> None:
        """Add a listener that gets every event at once, even if events are held back."""
        self._witnesses.append(listener)

    def emit(self, event: GatewayEvent) -> None:
        for witness in tuple(self._witnesses):
            witness(event)
        held = _held.get()
        if held is not None:
            held.append(event)
            return
        self.release(event)

    def release(self, event: GatewayEvent) -> None:
        """Pass on an event that was held back."""
        for listener in tuple(self._listeners):
            listener(event)

    @contextmanager
    def holding(self) -> Iterator[list[GatewayEvent]]:
        """Collect the events of this task in the list; call `release` for them afterwards."""
        events: list[GatewayEvent] = []
        token = _held.set(events)
        try:
            yield events
        finally:
            _held.reset(token)
