"""Pairs the runs of `*`, `_` and `~~` that open and close emphasis, in one pass."""

from __future__ import annotations

from dataclasses import dataclass

_KINDS = {"*": ("**", "*"), "_": ("__", "_"), "~": ("~~",)}
_LONGEST_RUN = 3

Pair = tuple[int, int, str]


@dataclass(frozen=True, slots=True)
class Delimiter:
    """A run of `*`, `_` or `~` that may open or close emphasis."""

    run: str
    opens: bool
    closes: bool


def pair(runs: list[tuple[int, Delimiter]]) -> list[Pair]:
    """Return (opener, closer, kind) for every match.

    Opener and closer are the numbers in `runs`.
    """
    waiting: dict[str, list[int]] = {kind: [] for kinds in _KINDS.values() for kind in kinds}
    pairs: list[Pair] = []
    for at, delimiter in runs:
        if len(delimiter.run) > _LONGEST_RUN:
            continue
        left = len(delimiter.run)
        if delimiter.closes:
            left = _close(waiting, pairs, at, delimiter.run[0], left)
        if delimiter.opens:
            _open(waiting, at, delimiter.run[0], left)
    return pairs


def _close(
    waiting: dict[str, list[int]], pairs: list[Pair], at: int, character: str, left: int
) -> int:
    """Close every emphasis this run can close. Return how many of its characters are left."""
    while kind := _closable(waiting, character, left):
        opener = waiting[kind].pop()
        for others in waiting.values():
            while others and others[-1] > opener:  # opened inside, never closed there
                others.pop()
        pairs.append((opener, at, kind))
        left -= len(kind)
    return left


def _closable(waiting: dict[str, list[int]], character: str, left: int) -> str:
    kinds = [kind for kind in _KINDS[character] if len(kind) <= left and waiting[kind]]
    if left == _LONGEST_RUN:  # `*a **b***`: the inner one first
        kinds.sort(key=lambda kind: -waiting[kind][-1])
    return kinds[0] if kinds else ""


def _open(waiting: dict[str, list[int]], at: int, character: str, left: int) -> None:
    for kind in _KINDS[character]:
        if len(kind) <= left:
            waiting[kind].append(at)
            left -= len(kind)
