"""Shares a table's width among its columns, in pixels or in characters."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

_STEPS = 40


def share(natural: Sequence[float], least: Sequence[float], available: float) -> list[float]:
    """Return widths between `least` and `natural` that add up to `available`, if possible.

    A column gets space by the square root of its natural width: a column with long text gets more
    than the others, but does not squeeze them.
    """
    if sum(natural) <= available:
        return list(natural)
    if sum(least) >= available:
        return list(least)
    low, high = 0.0, max(sqrt(want) for want in natural) + 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if sum(_widths(natural, least, middle)) > available:
            high = middle
        else:
            low = middle
    return _widths(natural, least, low)


def _widths(natural: Sequence[float], least: Sequence[float], factor: float) -> list[float]:
    return [
        min(want, max(need, factor * sqrt(want))) for want, need in zip(natural, least, strict=True)
    ]
