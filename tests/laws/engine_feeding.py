"""Drives an engine over one text: whole, letter by letter, and in random pieces."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Protocol

from oshaberi.events import Details, Event, Message, SpeakerStop, Table, Thought, Withheld
from oshaberi.text.config import TextConfig


class Engine(Protocol):
    """What the laws need of a text engine."""

    def feed(self, text: str) -> list[Event]: ...

    def finish(self) -> list[Event]: ...


MakeEngine = Callable[[TextConfig], Engine]


def run(make: MakeEngine, config: TextConfig, chunks: list[str]) -> list[Event]:
    engine = make(config)
    events: list[Event] = []
    for chunk in chunks:
        events += engine.feed(chunk)
    return events + engine.finish()


def pieces_of(text: str, rng: random.Random) -> list[str]:
    """Random cuts: mostly token-sized, now and then empty or huge."""
    chunks, at = [], 0
    while at < len(text):
        size = rng.choice((0, 1, 2, 3, 4, 4, 5, 7, 30, 300))
        chunks.append(text[at : at + size])
        at += size
    return chunks


def shown(events: list[Event]) -> Iterator[tuple[Message | Table, str]]:
    """What a reader gets to see, in order."""
    for event in events:
        if isinstance(event, Message):
            yield event, event.text
        elif isinstance(event, Table):
            yield event, event.source


def described(event: Event) -> str:
    match event:
        case Message():
            return f"{event.boundary} {event.text[:80]!r} #{event.segment}{event.span}"
        case Table():
            return f"table {event.source[:80]!r} #{event.segment}{event.span}"
        case Withheld():
            return f"withheld {event.reason} {event.text[:80]!r} #{event.segment}{event.span}"
        case Thought() | Details():
            return f"{type(event).__name__} {event.text[:80]!r}"
        case SpeakerStop():
            return f"stop at {event.label!r}"
