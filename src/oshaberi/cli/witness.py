"""A text engine under observation: keeps every decision and every event, in order.

It is fed letter by letter. That changes nothing (L2), and each decision is told where it falls.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from oshaberi import Carry, Decision, Event, TextConfig, TextEngine

Entry = Decision | Event


class Witness:
    """Stands in for the engine of a stream."""

    def __init__(self, config: TextConfig, carried: Carry | None) -> None:
        self.entries: list[Entry] = []
        self._engine = TextEngine(config, carried=carried, observe=self.entries.append)

    def feed(self, text: str) -> list[Event]:
        return [event for letter in text for event in self._kept(self._engine.feed, letter)]

    def flush(self, reason: Literal["tool_call", "stop"]) -> list[Event]:
        return self._kept(self._engine.flush, reason)

    def finish(self) -> list[Event]:
        return self._kept(self._engine.finish)

    def discard(self) -> list[Event]:
        return self._kept(self._engine.discard)

    def carry(self) -> Carry:
        return self._engine.carry()

    def _kept(self, call: Callable[..., list[Event]], *args: str) -> list[Event]:
        events = call(*args)
        self.entries += events
        return events
