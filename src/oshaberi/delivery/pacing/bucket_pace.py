"""Computes when messages may leave so that their bucket does not run empty (pure).

Discord says with each answer how many requests of a kind a channel still takes, and until when.
The first ones leave at once; then they are spread over what is left of the time, and the last one
is kept for the end of the answer, whose reader shall not wait for the next window, until that
window is near.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from oshaberi.delivery.sink import RequestRoom

KEPT_FOR_END = 1
KEPT_UNTIL_S = 1.0
"""The kept request is free this long before the window renews: then the end need not wait long."""
SMALLEST_SPREAD = 3
"""In a smaller bucket no request is kept for the end: too few would be left."""
AT_ONCE = 2
"""How many requests of a window leave at once. The others are spread."""


def leave_at(room: RequestRoom | None, now: float, *, at_end: bool = False) -> float:
    """Return when the next request may be sent: `now`, or later. `at_end`: no more will come."""
    if room is None or now >= room.resets_at:
        return now
    if room.remaining <= 0:
        return room.resets_at
    kept = _kept(room, at_end=at_end)
    spare = room.remaining - kept
    if spare <= 0:
        return max(now, room.resets_at - KEPT_UNTIL_S)
    if at_end or spare >= room.limit - KEPT_FOR_END - AT_ONCE + 1:
        return now
    gap = (room.resets_at - room.noted_at) / (spare + 1)
    return max(now, room.noted_at + gap)


def _kept(room: RequestRoom, *, at_end: bool) -> int:
    return 0 if at_end or room.limit < SMALLEST_SPREAD else KEPT_FOR_END


@dataclass(frozen=True, slots=True)
class PlannedSend:
    """When a waiting message leaves if nothing is joined, and the window that takes it."""

    wanted_at: float
    leaves_at: float
    window: int
    """0 is the current window, 1 the next one."""

    @property
    def late_s(self) -> float:
        return self.leaves_at - self.wanted_at


def planned_sends(
    wanted: Sequence[float], room: RequestRoom, window_s: float, now: float, *, at_end: bool = False
) -> list[PlannedSend]:
    """Return when the waiting messages leave one by one. `wanted` is what pacing alone chooses."""
    planned: list[PlannedSend] = []
    kept = _kept(room, at_end=at_end)
    renewed = now >= room.resets_at
    left = room.limit if renewed else room.remaining
    resets_at = now + window_s if renewed else room.resets_at
    window, leaves_at = 0, now
    for wanted_at in wanted:
        leaves_at = max(leaves_at, wanted_at)
        if 0 < left <= kept:
            leaves_at = max(leaves_at, resets_at - KEPT_UNTIL_S)
        if leaves_at >= resets_at or left <= 0:
            leaves_at = max(leaves_at, resets_at)
            resets_at = leaves_at + window_s
            window, left = window + 1, room.limit
        left -= 1
        planned.append(PlannedSend(wanted_at, leaves_at, window))
    return planned
