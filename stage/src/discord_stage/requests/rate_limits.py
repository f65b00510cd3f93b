"""Rate-limit buckets as Discord keeps them, with their headers (facts: Rate limits).

A 429 needs the header `Via`, or discord.py takes it for a ban. Windows shrink with the time scale.
"""

from __future__ import annotations

import hashlib
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from discord_stage.refusals import CODES, RefusalError

VIA = {"Via": "1.1 stage"}


@dataclass(frozen=True, slots=True)
class RateLimit:
    name: str
    amount: int
    per_s: float

    @property
    def bucket(self) -> str:
        return hashlib.sha256(self.name.encode()).hexdigest()[:32]


MESSAGE_CREATE_LIMIT = RateLimit("message_create", 5, 5.0)
MESSAGE_EDIT_LIMIT = RateLimit("message_edit", 5, 5.0)
MESSAGE_DELETE_LIMIT = RateLimit("message_delete", 5, 1.0)
REACTION_LIMIT = RateLimit("reaction", 1, 0.25)
TYPING_LIMIT = RateLimit("typing", 5, 5.0)
WEBHOOK_LIMIT = RateLimit("webhook", 5, 2.0)
CHANNEL_WEBHOOKS_LIMIT = RateLimit("channel_webhooks", 30, 60.0)
"""A limit for all webhooks of one channel together. No header announces it."""
OWN_PICTURES_LIMIT = RateLimit("own_member_pictures", 2, 1800.0)
"""How often a bot may change its avatar or banner in a guild. Discord does not say how often."""
CHANNEL_NAME_LIMIT = RateLimit("channel_name", 2, 600.0)
"""How often the name or topic of a channel or thread may change. No header announces this limit."""
GLOBAL_LIMIT = RateLimit("global", 50, 1.0)
INVALID_MOST, INVALID_PER_S = 10_000, 600.0


@dataclass(slots=True)
class _BucketWindow:
    opened_at: float
    used: int = 0


class RateLimits:
    """The buckets. While `on` is False nothing is counted or refused."""

    def __init__(self, now: Callable[[], float], scale: float, *, on: bool = True) -> None:
        self._now = now
        self._scale = scale
        self.on = on
        self._windows: dict[tuple[str, str], _BucketWindow] = {}
        self._invalid: deque[float] = deque()

    def enter(self, limit: RateLimit | None, major: str, *, global_too: bool) -> dict[str, str]:
        """Count a request. Return the headers of its answer, or refuse it with a 429."""
        if not self.on:
            return {}
        self._refuse_banned()
        if global_too:
            self._take(GLOBAL_LIMIT, "", scope="global")
        return {} if limit is None else self._take(limit, major, scope="user")

    def enter_hidden(self, limit: RateLimit, major: str, code: int) -> None:
        """Count a request towards a limit that no header announces."""
        if self.on:
            self._take(limit, major, scope="shared", code=code)

    def note(self, status: int) -> None:
        """Count an invalid request towards a ban of the whole address."""
        if status in (401, 403, 429):
            self._invalid.append(self._now())

    def _take(self, limit: RateLimit, major: str, scope: str, code: int = 0) -> dict[str, str]:
        window = self._window(limit, major)
        reset_after = max(0.0, window.opened_at + self._length(limit) - self._now())
        if window.used >= limit.amount:
            raise limited(reset_after, scope, code, _headers(limit, 0, reset_after))
        window.used += 1
        return _headers(limit, limit.amount - window.used, reset_after)

    def _window(self, limit: RateLimit, major: str) -> _BucketWindow:
        key = (limit.name, major)
        window = self._windows.get(key)
        if window is None or self._now() >= window.opened_at + self._length(limit):
            window = self._windows[key] = _BucketWindow(self._now())
        return window

    def _length(self, limit: RateLimit) -> float:
        return limit.per_s / self._scale

    def _refuse_banned(self) -> None:
        oldest = self._now() - INVALID_PER_S / self._scale
        while self._invalid and self._invalid[0] < oldest:
            self._invalid.popleft()
        if len(self._invalid) >= INVALID_MOST:
            raise RefusalError(429, 0, "You are being blocked from accessing our API temporarily")


def limited(
    retry_after_s: float, scope: str, code: int = 0, headers: dict[str, str] | None = None
) -> RefusalError:
    """Return a 429 after which discord.py waits."""
    seconds = round(max(retry_after_s, 0.001), 3)
    extra: dict[str, object] = {"retry_after": seconds, "global": scope == "global"}
    heads = VIA | (headers or {})
    heads |= {"Retry-After": str(seconds), "X-RateLimit-Scope": scope}
    if scope == "global":
        heads["X-RateLimit-Global"] = "true"
    message = CODES[code][1] if code else "You are being rate limited."
    return RefusalError(429, code, message, extra=extra, headers=heads)


def _headers(limit: RateLimit, remaining: int, reset_after: float) -> dict[str, str]:
    if limit in (GLOBAL_LIMIT, CHANNEL_WEBHOOKS_LIMIT):
        return {}
    return {
        "X-RateLimit-Limit": str(limit.amount),
        "X-RateLimit-Remaining": str(remaining),
        "X-RateLimit-Reset": f"{time.time() + reset_after:.3f}",
        "X-RateLimit-Reset-After": f"{reset_after:.3f}",
        "X-RateLimit-Bucket": limit.bucket,
    }
