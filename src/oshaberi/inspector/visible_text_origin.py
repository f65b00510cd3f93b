"""Maps positions in the visible text (V) back to the raw stream.

Runs the engine's own front end (intake, prefill, capture) once more, watching what it lets pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import NamedTuple

from oshaberi.events import Span
from oshaberi.text.intake.captured_blocks import Capture, Captured, StrayClose
from oshaberi.text.intake.character_intake import CharacterIntake
from oshaberi.text.segments.open_markers import code_limit
from oshaberi.text.text_config import TextConfig
from oshaberi.text.text_engine import prefill_of

NOWHERE = -1
"""The place of a character that did not arrive: a prefill, a space at a seam."""

Place = tuple[int, int, int]


class TakenOut(NamedTuple):
    """A block that was captured, and the stretch of the raw text that it and its tags are."""

    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class VisibleTextOrigin:
    """`text` is V; `places[i]` is where in `raw` its character `i` stands."""

    raw: str
    text: str
    places: tuple[int, ...]
    taken: tuple[TakenOut, ...]

    def runs(self) -> list[Place]:
        """The places as (in V, in raw, length), for whoever has to draw them."""
        runs: list[Place] = []
        for at, place in enumerate(self.places):
            if place == NOWHERE:
                continue
            if runs and runs[-1][0] + runs[-1][2] == at and runs[-1][1] + runs[-1][2] == place:
                runs[-1] = (*runs[-1][:2], runs[-1][2] + 1)
            else:
                runs.append((at, place, 1))
        return runs


def plain_pieces(pieces: Sequence[str]) -> list[str]:
    """The pieces of a stream with one kind of newline and whole characters, as the engine reads."""
    intake = CharacterIntake()
    plain = [intake.feed(piece) for piece in pieces]
    return [*plain[:-1], plain[-1] + intake.finish()] if plain else []


def source_of(raw: str, config: TextConfig, took_back: Callable[[str], bool]) -> VisibleTextOrigin:
    """`took_back` says whether the engine took back what had been visible (spec 05 C3)."""
    head, places = _past_prefill(raw, config)
    capturing = _Capturing(config, head, took_back)
    capturing.run()
    taken = [TakenOut(one.text, _moved(one.span, places, len(raw))) for one in capturing.taken]
    back = tuple(NOWHERE if at == NOWHERE else places[at] for at in capturing.places)
    return VisibleTextOrigin(raw, "".join(capturing.shown), back, tuple(taken))


def _moved(span: Span, places: Sequence[int], end: int) -> Span:
    found = [place for place in places[span[0] : span[1]] if place != NOWHERE]
    return (found[0], found[-1] + 1) if found else (end, end)


def _past_prefill(raw: str, config: TextConfig) -> tuple[str, Sequence[int]]:
    """An echo of the prefill goes, the prefill itself comes: all at one place."""
    prefill = prefill_of(config)
    if prefill is None:
        return raw, range(len(raw))
    text = prefill.feed(raw) + prefill.finish()
    before = _shared(raw, text)
    most = min(len(raw), len(text)) - before
    after = min(_shared(raw[::-1], text[::-1]), most)
    inside = [NOWHERE] * (len(text) - before - after)
    return text, [*range(before), *inside, *range(len(raw) - after, len(raw))]


def _shared(one: str, other: str) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


class _Capturing:
    """One pass through the capture, letter by letter: what it has read is what it let pass."""

    def __init__(self, config: TextConfig, text: str, took_back: Callable[[str], bool]) -> None:
        self.shown: list[str] = []
        self.places: list[int] = []
        self.taken: list[TakenOut] = []
        self._text = text
        self._took_back = took_back
        self._read = 0
        self._capture = Capture(code_limit(config.hold_limit), config.starts_in_thought)

    def run(self) -> None:
        for fed, letter in enumerate(self._text, start=1):
            self._pass(self._capture.feed(letter), fed)
        self._pass(self._capture.finish(), len(self._text))

    def _pass(self, found: Iterator[Captured], fed: int) -> None:
        """One step. How far it read is known only at its end, so blocks find their place then."""
        shown = ""
        blocks: list[tuple[str, int]] = []
        for one in found:
            if isinstance(one, str):
                shown += one
            elif not isinstance(one, StrayClose):
                blocks.append((one.text, len(shown)))
            elif self._takes_back(shown):
                self._capture.forget()
                blocks.append((("".join(self.shown) + shown).strip(), 0))
                self.shown, self.places, shown = [], [], ""
        until = fed - self._capture.held
        places = self._aligned(shown, until)
        for text, at in blocks:
            end = next((place for place in places[at:] if place != NOWHERE), until)
            self.taken.append(TakenOut(text, (self._last_end(places[:at]), end)))
        self.shown.append(shown)
        self.places += places
        self._read = until

    def _aligned(self, shown: str, until: int) -> list[int]:
        stretch = self._text[self._read : until]
        if shown == stretch:
            return list(range(self._read, until))
        return [at if at == NOWHERE else self._read + at for at in _aligned(shown, stretch)]

    def _last_end(self, places: list[int]) -> int:
        known = (at + 1 for at in (*reversed(places), *reversed(self.places)) if at != NOWHERE)
        return max(next(known, 0), self.taken[-1].span[1] if self.taken else 0)

    def _takes_back(self, shown: str) -> bool:
        text = "".join(self.shown) + shown
        return not text.strip() or self._took_back(text)


def _aligned(shown: str, stretch: str) -> list[int]:
    """Where each character that was let pass stands in the stretch that was read."""
    places = [NOWHERE] * len(shown)
    for match in SequenceMatcher(None, stretch, shown, autojunk=False).get_matching_blocks():
        for nth in range(match.size):
            places[match.b + nth] = match.a + nth
    return places
