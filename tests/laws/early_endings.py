"""A stream that is stopped, flushed for a tool or dropped, and the next stream of its turn."""

from __future__ import annotations

import random

from oshaberi import TextEngine
from oshaberi.events import Event
from oshaberi.text.config import TextConfig

from .law_checks import clusters, conservation, limit, spans, words_counted


def broken_around_an_ending(
    text: str, config: TextConfig, rng: random.Random, make: type[TextEngine] = TextEngine
) -> list[str]:
    """The laws before and behind a place where the stream ended early."""
    cut = rng.randint(0, len(text))
    first, rest = text[:cut], text[cut:]
    engine = make(config)
    events = engine.feed(first)
    if rng.random() < 0.2:
        events += engine.discard()
        broken = [f"{law} at a discard" for law in _counted(first, config, events)]
    else:
        reason = rng.choice(("stop", "process end", "tool_call"))
        events += _flushed(engine, reason, trim=rng.random() < 0.5)
        # The end of a process keeps back half a block of code, which its own laws miss.
        check = _counted if reason == "process end" else _kept
        broken = [f"{law} at {reason}" for law in check(first, config, events)]
    following = make(config, carried=engine.carry())
    more = [*following.feed(rest), *following.finish()]
    broken += [f"{law} behind an ending" for law in _kept(rest, config, more)]
    by_character = make(config, carried=engine.carry())
    again = [event for char in rest for event in by_character.feed(char)]
    if again + by_character.finish() != more:
        broken.append("L2 differs per character behind an ending")
    return broken


def _flushed(engine: TextEngine, reason: str, trim: bool) -> list[Event]:
    if reason == "process end":
        return engine.flush("stop", only_whole=True)
    if reason == "stop":
        return engine.flush("stop", trim_incomplete_clause=trim)
    return engine.flush("tool_call", trim_incomplete_clause=trim)


def _kept(text: str, config: TextConfig, events: list[Event]) -> list[str]:
    return [
        *limit(config, events),
        *conservation(text, config, events),
        *clusters(text, config, events),
        *spans(text, config, events),
    ]


def _counted(text: str, config: TextConfig, events: list[Event]) -> list[str]:
    return [
        *limit(config, events),
        *words_counted(text, config, events),
        *spans(text, config, events),
    ]
