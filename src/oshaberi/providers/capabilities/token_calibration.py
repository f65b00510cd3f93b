"""Corrects estimated token counts by what an API reported: per model, in this process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

PlaceT = TypeVar("PlaceT")

SMALLEST_REQUEST = 200
"""Smaller requests are not compared: what the API adds around them outweighs their text."""
LEAST, MOST = 0.3, 3.0
MARGIN = 1.05


class TokenCalibration(Generic[PlaceT]):
    """How many tokens a place counts for one token of our estimate. It is 1 until known."""

    def __init__(self) -> None:
        self._ratios: dict[PlaceT, float] = {}

    def note(self, place: PlaceT, estimated_tokens: int, counted_tokens: int) -> None:
        """Compare a request's estimate with the count that the API reported."""
        if estimated_tokens < SMALLEST_REQUEST or counted_tokens <= 0:
            return
        ratio = min(max(counted_tokens / estimated_tokens, LEAST), MOST)
        known = self._ratios.get(place, ratio)
        self._ratios[place] = (known + ratio) / 2

    def ratio(self, place: PlaceT) -> float:
        known = self._ratios.get(place)
        return 1.0 if known is None else known * MARGIN

    def corrected(self, place: PlaceT, estimate: Callable[[str], int]) -> Callable[[str], int]:
        """Return `estimate`, corrected by how this place counts."""
        ratio = self.ratio(place)
        return estimate if ratio == 1.0 else lambda text: -int(-estimate(text) * ratio // 1)
