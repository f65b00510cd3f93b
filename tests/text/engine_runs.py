"""Runs a text through the engine whole, by character and in tokens: all must agree (L2)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import cycle
from typing import Any, NamedTuple

from oshaberi.events import Details, Event, Message, Table, Thought, Withheld
from oshaberi.text.config import TextConfig
from oshaberi.text.engine import TextEngine
from oshaberi.text.segments.buffer import Segment
from oshaberi.text.segments.splitter import SegmentSplitter

Ending = Callable[[TextEngine], list[Event]]


def finish(engine: TextEngine) -> list[Event]:
    return engine.finish()


def tokens(text: str) -> list[str]:
    """Pieces of three to five characters, as a model writes them."""
    pieces, at, sizes = [], 0, cycle((4, 3, 5))
    while at < len(text):
        size = next(sizes)
        pieces.append(text[at : at + size])
        at += size
    return pieces


def split(pieces: Iterable[str], config: TextConfig) -> list[Segment]:
    """The segments of step 05, before they are normalised."""
    splitter = SegmentSplitter(config)
    found = [one for piece in pieces for one in splitter.feed(piece)]
    found += splitter.settle() + splitter.close("final")
    return [one for one in found if isinstance(one, Segment)]


def run(text: str, ending: Ending = finish, **settings: Any) -> list[Event]:
    """The events of `text`, the same however it is cut."""
    config = TextConfig(**settings)
    whole = fed([text], config, ending)
    assert fed(list(text), config, ending) == whole
    assert fed(tokens(text), config, ending) == whole
    return whole


def fed(pieces: list[str], config: TextConfig, ending: Ending = finish) -> list[Event]:
    engine = TextEngine(config)
    events = [event for piece in pieces for event in engine.feed(piece)]
    return events + ending(engine)


class Outcome(NamedTuple):
    """What became of a text, by kind of event."""

    messages: list[str]
    thoughts: list[str]
    details: list[str]
    tables: list[str]
    withheld: list[tuple[str, str]]


def outcome(events: list[Event]) -> Outcome:
    found = Outcome([], [], [], [], [])
    for event in events:
        if isinstance(event, Message):
            found.messages.append(event.text)
        elif isinstance(event, Thought):
            found.thoughts.append(event.text)
        elif isinstance(event, Details):
            found.details.append(event.text)
        elif isinstance(event, Table):
            found.tables.append(event.source)
        elif isinstance(event, Withheld):
            found.withheld.append((event.text, event.reason))
    return found


def messages(text: str, ending: Ending = finish, **settings: Any) -> list[str]:
    """What a reader gets to see; degree 1 unless told otherwise, so that lines are messages."""
    return outcome(run(text, ending, **{"humanizer_degree": 1, **settings})).messages


def shown(events: list[Event]) -> list[tuple[str, str]]:
    """Messages and tables in order: (text, boundary)."""
    found: list[tuple[str, str]] = []
    for event in events:
        if isinstance(event, Message):
            found.append((event.text, event.boundary))
        elif isinstance(event, Table):
            found.append((event.source, "table"))
    return found
