"""Computes when a message may leave so that its bucket does not run empty (pure).

Discord says with each answer how many requests of a kind a channel still takes, and until when.
The first ones leave at once; then they are spread over what is left of the time, and the last one
is kept for the end of the answer, whose reader shall not wait for the next window.
"""

from __future__ import annotations

from oshaberi.delivery.sink import RequestRoom

KEPT_FOR_END = 1
SMALLEST_SPREAD = 3
"""In a smaller bucket no request is kept for the end: too few would be left."""
AT_ONCE = 2
"""How many requests of a window leave at once. The others are spread."""


def leave_at(room: RequestRoom | None, now: float, *, at_end: bool = False) -> float:
    """Return when the next request may be sent: `now`, or later. `at_end`: no more will come."""
    if room is None or now >= room.resets_at:
        return now
    spare = spare_requests(room, now, at_end=at_end)
    if spare <= 0:
        return room.resets_at
    if at_end or spare >= room.limit - KEPT_FOR_END - AT_ONCE + 1:
        return now
    gap = (room.resets_at - room.noted_at) / (spare + 1)
    return max(now, room.noted_at + gap)


def spare_requests(room: RequestRoom, now: float, *, at_end: bool = False) -> int:
    """Return how many requests may be sent in this window."""
    left = room.limit if now >= room.resets_at else room.remaining
    if at_end or room.limit < SMALLEST_SPREAD:
        return left
    return left - KEPT_FOR_END
