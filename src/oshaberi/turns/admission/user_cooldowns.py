"""Remembers when each user last began a turn (`cooldown_ms`)."""

from __future__ import annotations

from collections import OrderedDict

MOST_USERS = 10_000


class Cooldowns:
    """When each user last began a turn, by the loop's clock, which never jumps.

    Only the most recent users are kept.
    """

    def __init__(self) -> None:
        self._last_s: OrderedDict[int, float] = OrderedDict()

    def __len__(self) -> int:
        return len(self._last_s)

    def allows(self, user: int, now_s: float, least_ms: int) -> bool:
        last_s = self._last_s.get(user)
        return last_s is None or now_s - last_s >= least_ms / 1000

    def note(self, user: int, now_s: float) -> None:
        self._last_s[user] = now_s
        self._last_s.move_to_end(user)
        if len(self._last_s) > MOST_USERS:
            self._last_s.popitem(last=False)
