"""Removes discord.py's unused rate-limit buckets, without the quadratic cost of discord.py's way.

From 256 buckets on, discord.py looks at all of them whenever it makes a new one. A bot that speaks
in a thousand channels has three thousand.
"""

from __future__ import annotations

from discord.http import HTTPClient

FEWEST_BUCKETS = 256


class BucketSweep:
    """Checks the buckets of a client when their number has doubled since the last check."""

    def __init__(self, http: HTTPClient) -> None:
        self._http = http
        self._remove_unused = http._try_clear_expired_ratelimits  # noqa: SLF001
        self._due_at = FEWEST_BUCKETS
        http._try_clear_expired_ratelimits = self  # type: ignore[method-assign]  # noqa: SLF001

    def __call__(self) -> None:
        buckets = self._http._buckets  # noqa: SLF001
        if len(buckets) >= self._due_at:
            self._remove_unused()
            self._due_at = max(FEWEST_BUCKETS, 2 * len(buckets))
