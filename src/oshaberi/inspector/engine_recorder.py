"""Runs a text engine and records every decision and event, in order, with its time.

It feeds the engine character by character. That does not change the messages (L2), and gives each
decision its exact position.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

from oshaberi import Carry, Decision, Event, Message, TextConfig, TextEngine

Entry = Decision | Event


@dataclass(frozen=True, slots=True)
class FedText:
    """One piece of text that was fed to the engine, and when."""

    text: str
    at: float


def _never() -> float:
    return 0.0


class EngineRecorder:
    """Records a stream in place of its engine. `times` are those of the entries."""

    def __init__(
        self, config: TextConfig, carried: Carry | None, now: Callable[[], float] = _never
    ) -> None:
        self.entries: list[Entry] = []
        self.times: list[float] = []
        self.fed: list[FedText] = []
        self._now = now
        self._engine = TextEngine(config, carried=carried, observe=self._note)

    def feed(self, text: str) -> list[Event]:
        self.fed.append(FedText(text, self._now()))
        return [event for letter in text for event in self._kept(self._engine.feed, letter)]

    def flush(
        self,
        reason: Literal["tool_call", "stop"],
        *,
        trim_incomplete_clause: bool = False,
        only_whole: bool = False,
    ) -> list[Event]:
        trimmed = partial(
            self._engine.flush,
            trim_incomplete_clause=trim_incomplete_clause,
            only_whole=only_whole,
        )
        return self._kept(trimmed, reason)

    def finish(self) -> list[Event]:
        return self._kept(self._engine.finish)

    def discard(self) -> list[Event]:
        return self._kept(self._engine.discard)

    @property
    def captures(self) -> bool:
        return self._engine.captures

    def preview(self) -> list[Message]:
        return self._engine.preview()

    def carry(self) -> Carry:
        return self._engine.carry()

    def _kept(self, call: Callable[..., list[Event]], *args: str) -> list[Event]:
        events = call(*args)
        for event in events:
            self._note(event)
        return events

    def _note(self, entry: Entry) -> None:
        self.entries.append(entry)
        self.times.append(self._now())
