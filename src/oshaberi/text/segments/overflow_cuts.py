"""Spec 05 B5: chooses where to cut a segment that is too long and has no usable boundary."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from oshaberi.text.sentences.sentence_end_search import TERMINATORS, sentence_end
from oshaberi.text.text_measure import extends, grapheme_edge, has_visible, whole_edge

_SPACE: Final = re.compile(r"\s")
_NEWLINE: Final = re.compile(r"\n")
_TERMINATOR: Final = re.compile(f"[{re.escape(TERMINATORS)}]+")
_LOOK_BACK: Final = 80

Stretch = tuple[int, int]


class CutWindow(NamedTuple):
    """Offsets from a segment's start: where it is too long, and how far around to look."""

    target: int
    before: int
    ahead: int

    @classmethod
    def of(cls, flush_size: int) -> CutWindow:
        """Return 200 after and 300 before; for a small buffer a fifth and a third of it."""
        return cls(flush_size, min(300, flush_size // 3), min(200, flush_size // 5))

    @property
    def limit(self) -> int:
        return self.target + self.ahead


def choose_cut(
    text: str, start: int, window: CutWindow, atoms: list[Stretch], spans: list[Stretch]
) -> int:
    """Return the cut for `text` from `start`; 0 if one atom or cluster reaches the target."""
    low, target = start + window.target - window.before, start + window.target
    limit = start + window.limit
    ranked = _ranked(text, low, target, limit)
    for taken in (atoms + spans, atoms):
        inside = _inside(taken, start, limit)
        for cut in ranked:
            if not inside[cut - start] and _whole(text, cut):
                return cut
    return _edge(text, start, target, atoms)


def _ranked(text: str, low: int, target: int, limit: int) -> list[int]:
    """Return all candidates, best first (B5).

    After a space or a sentence one more character must be known, since it may belong to the one
    before (L2).
    """
    newlines = [found.end() for found in _NEWLINE.finditer(text, low, limit)]
    spaces = [found.end() for found in _SPACE.finditer(text, low, limit - 1)]
    ends = [at for at in _sentence_ends(text, low - _LOOK_BACK, limit) if low < at < limit]
    return [
        *(at for at in newlines if at > target),
        *(at for at in ends if at > target),
        *sorted((at for at in newlines + ends if at <= target), reverse=True),
        *(at for at in reversed(spaces) if at <= target),
        *(at for at in spaces if at > target),
    ]


def _inside(taken: list[Stretch], start: int, limit: int) -> bytearray:
    """Return, for each position from `start` to `limit`, whether a cut splits a taken range."""
    mask = bytearray(limit - start + 1)
    for begin, end in taken:
        first, last = max(begin + 1, start), min(end, limit + 1)
        if first < last:
            mask[first - start : last - start] = b"\1" * (last - first)
    return mask


def _whole(text: str, at: int) -> bool:
    """Tell whether no grapheme cluster spans `at`."""
    return text[at - 1] == "\n" or not extends(text, at)


def _sentence_ends(text: str, start: int, limit: int) -> list[int]:
    """Return the sentence ends that the text before `limit` alone decides (L2)."""
    start = max(start, 0)
    known = text[start:limit]
    ends = []
    for run in _TERMINATOR.finditer(known):
        end = sentence_end(known, run.start(), final=False)
        if end > 0:
            ends.append(start + end)
    return ends


def hard_cut(text: str, start: int, limit: int, atoms: list[Stretch]) -> int:
    """Return the cut for a stretch that was kept whole up to `limit` and must be cut now."""
    inner = [(begin, end) for begin, end in atoms if begin > start]
    half = start + (limit - start) // 2
    space = _last_space(text, half, limit - 1, _inside(inner, half, limit))
    if space:
        return space
    edge = _before_atoms(limit - 1, inner)
    return edge if edge < limit - 1 else _before_atoms(grapheme_edge(text, start, edge), inner)


def _edge(text: str, start: int, target: int, atoms: list[Stretch]) -> int:
    """Return the nearest atom or grapheme edge before the target; 0 if that is the start."""
    cut = _before_atoms(target, atoms)
    if not has_visible(text[start:cut]):
        return 0
    if cut == target:
        edge = whole_edge(text, start, cut)
        cut = _before_atoms(edge, atoms)  # marks may have joined an atom's last character
        if cut == edge or not has_visible(text[start:cut]):
            return cut if cut == edge > start else 0
    low = max(start, cut - _LOOK_BACK)
    return _last_space(text, low, cut, _inside(atoms, low, cut)) or cut


def _last_space(text: str, low: int, high: int, inside: bytearray) -> int:
    """Return the end of the last white space in (low, high] that allows a cut; 0 if none."""
    for at in range(high, low + 1, -1):
        if text[at - 1].isspace() and not inside[at - low] and _whole(text, at):
            return at
    return 0


def _before_atoms(at: int, atoms: list[Stretch]) -> int:
    for begin, end in sorted(atoms, reverse=True):
        if begin < at < end:
            at = begin
    return at
