"""Ways an engine could go wrong, planted behind one that is right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from oshaberi.events import Event, Message, Thought
from oshaberi.text.config import TextConfig

from .engine_feeding import Engine, MakeEngine

Change = Callable[[list[Event]], list[Event]]


class Mutant:
    """Runs another engine and spoils all its events at the end."""

    def __init__(self, inner: Engine, change: Change) -> None:
        self._inner = inner
        self._change = change
        self._events: list[Event] = []

    def feed(self, text: str) -> list[Event]:
        self._events += self._inner.feed(text)
        return []

    def finish(self) -> list[Event]:
        return self._change(self._events + self._inner.finish())


def mutant(make: MakeEngine, change: Change) -> MakeEngine:
    def planted(config: TextConfig) -> Engine:
        return Mutant(make(config), change)

    return planted


def replaced(old: str, new: str) -> Change:
    """In the first message that has it, `old` becomes `new`."""

    def change(events: list[Event]) -> list[Event]:
        for k, event in enumerate(events):
            if isinstance(event, Message) and old in event.text:
                return [
                    *events[:k],
                    _with(event, event.text.replace(old, new, 1)),
                    *events[k + 1 :],
                ]
        raise AssertionError(f"no message has {old!r}")

    return change


def cut_at(left: str, right: str) -> Change:
    """The first message that has `left` + `right` is cut between them."""

    def change(events: list[Event]) -> list[Event]:
        for k, event in enumerate(events):
            if isinstance(event, Message) and left + right in event.text:
                at = event.text.index(left + right) + len(left)
                halves = [
                    _with(event, event.text[:at].strip()),
                    _with(event, event.text[at:].strip()),
                ]
                return [*events[:k], *halves, *events[k + 1 :]]
        raise AssertionError(f"no message has {left + right!r}")

    return change


def doubled(events: list[Event]) -> list[Event]:
    return [events[0], *events]


def dropped(events: list[Event]) -> list[Event]:
    return events[:-1]


def swapped(events: list[Event]) -> list[Event]:
    return [events[1], events[0], *events[2:]]


def joined(events: list[Event]) -> list[Event]:
    """All in one message."""
    said = [e for e in events if isinstance(e, Message)]
    return [_with(said[0], "\n".join(e.text for e in said))]


def leaked(events: list[Event]) -> list[Event]:
    return [Message(e.text, "newline") if isinstance(e, Thought) else e for e in events]


def shifted(events: list[Event]) -> list[Event]:
    """Every span one further, the last segment behind V."""
    return [
        replace(e, span=(e.span[0] + 1, e.span[1] + 1)) if isinstance(e, Message) else e
        for e in events
    ]


def renumbered(events: list[Event]) -> list[Event]:
    return [replace(e, segment=1) if isinstance(e, Message) else e for e in events]


def appended(text: str) -> Change:
    def change(events: list[Event]) -> list[Event]:
        return [*events, Message(text, "final", segment=len(events) + 1, span=(0, 0))]

    return change


def _with(event: Message, text: str) -> Message:
    return replace(event, text=text)


class ChunkEngine:
    """Sends whatever one `feed` brought: what L2 forbids."""

    def __init__(self, _config: TextConfig) -> None:
        self._at = 0
        self._count = 0

    def feed(self, text: str) -> list[Event]:
        span = (self._at, self._at + len(text))
        self._at = span[1]
        self._count += 1
        return (
            [Message(text.strip(), "newline", segment=self._count, span=span)]
            if text.strip()
            else []
        )

    def finish(self) -> list[Event]:
        return []


class HoardingEngine:
    """Sends nothing before the end: what L6 forbids."""

    def __init__(self, _config: TextConfig) -> None:
        self._text = ""

    def feed(self, text: str) -> list[Event]:
        self._text += text
        return []

    def finish(self) -> list[Event]:
        return [Message(self._text.strip(), "final", span=(0, len(self._text)))]
