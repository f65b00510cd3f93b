"""What the bench measures: anything that is fed and finished, and one stream through it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from oshaberi import TextConfig, TextEngine

TOKEN = 4


class Engine(Protocol):
    def feed(self, text: str, /) -> Sequence[object]: ...

    def finish(self) -> Sequence[object]: ...


MakeEngine = Callable[[int], Engine]
"""Takes the degree."""


def text_engine(degree: int) -> Engine:
    return TextEngine(TextConfig(humanizer_degree=degree))


def cut(text: str) -> list[str]:
    """The text as a model would stream it: tokens of four characters."""
    return [text[at : at + TOKEN] for at in range(0, len(text), TOKEN)]


def play(make: MakeEngine, degree: int, pieces: list[str]) -> None:
    """One whole stream, its events dropped as they come."""
    engine = make(degree)
    feed = engine.feed
    for piece in pieces:
        feed(piece)
    engine.finish()
