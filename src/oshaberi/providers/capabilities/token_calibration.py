"""Corrects estimated token counts by what an API reported: per model, in this process.

A count that cannot be right is dropped, so that one bad answer does not spoil the next ones.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

from oshaberi.checked_json import whole_count

log = logging.getLogger(__name__)

PlaceT = TypeVar("PlaceT")

SMALLEST_REQUEST = 200
"""Smaller requests are not compared: what the API adds around them outweighs their text."""
LEAST, MOST = 0.3, 3.0
LEAST_POSSIBLE, MOST_POSSIBLE = 0.05, 20.0
"""A count outside these is not a count of our request."""
MARGIN = 1.05
MOST_PLACES = 1000


class TokenCalibration(Generic[PlaceT]):
    """How many tokens a place counts for one token of our estimate. It is 1 until known."""

    def __init__(self) -> None:
        self._ratios: OrderedDict[PlaceT, float] = OrderedDict()
        self._doubted: OrderedDict[PlaceT, None] = OrderedDict()

    def note(self, place: PlaceT, estimated_tokens: int, counted_tokens: object) -> None:
        """Compare a request's estimate with the count that the API reported."""
        if estimated_tokens < SMALLEST_REQUEST or counted_tokens == 0:
            return
        counted = whole_count(counted_tokens)
        ratio = 0.0 if counted is None else counted / estimated_tokens
        if not LEAST_POSSIBLE <= ratio <= MOST_POSSIBLE:
            self._doubt(place, estimated_tokens, counted_tokens)
            return
        ratio = min(max(ratio, LEAST), MOST)
        known = self._ratios.get(place, ratio)
        _keep(self._ratios, place, (known + ratio) / 2)

    def ratio(self, place: PlaceT) -> float:
        known = self._ratios.get(place)
        return 1.0 if known is None else known * MARGIN

    def corrected(self, place: PlaceT, estimate: Callable[[str], int]) -> Callable[[str], int]:
        """Return `estimate`, corrected by how this place counts."""
        ratio = self.ratio(place)
        return estimate if ratio == 1.0 else lambda text: -int(-estimate(text) * ratio // 1)

    def _doubt(self, place: PlaceT, estimated_tokens: int, counted_tokens: object) -> None:
        """Log a count that cannot be right, once for each place."""
        if place not in self._doubted:
            log.warning(
                "%s counts %.40r tokens for about %d: its counts are not trusted",
                place,
                counted_tokens,
                estimated_tokens,
            )
        _keep(self._doubted, place, None)


ValueT = TypeVar("ValueT")


def _keep(places: OrderedDict[PlaceT, ValueT], place: PlaceT, value: ValueT) -> None:
    places[place] = value
    places.move_to_end(place)
    if len(places) > MOST_PLACES:
        places.popitem(last=False)
