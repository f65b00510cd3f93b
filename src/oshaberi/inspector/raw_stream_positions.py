"""Maps positions in the visible text (V) back to the raw stream.

It runs the engine's own intake, prefill and capture once more, and notes which characters pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import NamedTuple

from oshaberi.events import Span
from oshaberi.text.atoms import code_limit
from oshaberi.text.intake.captured_blocks import Capture, Captured, StrayClose
from oshaberi.text.intake.character_intake import CharacterIntake
from oshaberi.text.text_config import TextConfig
from oshaberi.text.text_engine import prefill_of

NOWHERE = -1
"""The position of a character that is not in the raw stream: of a prefill, or a space at a seam."""

Place = tuple[int, int, int]


class TakenOut(NamedTuple):
    """A captured block, and its stretch of the raw text, tags included."""

    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class VisibleTextOrigin:
    """`text` is V; `places[i]` is the position of its character `i` in `raw`."""

    raw: str
    text: str
    places: tuple[int, ...]
    taken: tuple[TakenOut, ...]

    def runs(self) -> list[Place]:
        """Return the places as runs (in V, in raw, length), for drawing."""
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
    """Return the pieces with one kind of newline and whole characters, as the engine reads."""
    intake = CharacterIntake()
    plain = [intake.feed(piece) for piece in pieces]
    return [*plain[:-1], plain[-1] + intake.finish()] if plain else []


def source_of(raw: str, config: TextConfig, took_back: Callable[[str], bool]) -> VisibleTextOrigin:
    """Map V to `raw`. `took_back`: the engine took back visible text (spec 05 C3)."""
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
    """Remove the prefill's echo and insert the prefill. Return the text and its positions."""
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
    """Runs the capture character by character, to see which characters it lets pass."""

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
        """Do one step. Blocks get their positions at its end, when its length is known."""
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
    """Return the position in the stretch for each character that was let pass."""
    places = [NOWHERE] * len(shown)
    for match in SequenceMatcher(None, stretch, shown, autojunk=False).get_matching_blocks():
        for nth in range(match.size):
            places[match.b + nth] = match.a + nth
    return places
