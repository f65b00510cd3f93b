"""Reads what models and servers used: today, in the last 30 days, and in total.

The result is kept for 30 seconds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta

from oshaberi.storage import Database
from oshaberi.storage.stored_records import UsageRecord
from oshaberi.storage.usage_accounts import UsageTotals

LATELY_DAYS = 30
FRESH_SECONDS = 30.0
"""How long a result is reused, so that many visitors cause only one query."""


@dataclass(frozen=True, slots=True)
class UsageOverview:
    by_model: tuple[UsageRecord, ...]
    """Usage by model since the beginning, in all servers together."""
    today: Mapping[int, UsageTotals]
    """Usage by server, with any key; 0 is direct messages."""
    lately: Mapping[int, UsageTotals]
    paid_today: UsageTotals
    """Usage with the operator's keys."""
    paid_lately: UsageTotals

    def servers(self) -> list[int]:
        """Return the servers, those with most usage in the last 30 days first."""
        return sorted(self.lately, key=lambda one: (-self.lately[one].tokens, one))


class UsageReader:
    """Reads the overview. Simultaneous callers share one query."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._last: tuple[float, date, UsageOverview] | None = None
        self._reading = asyncio.Lock()

    async def read(self, today: date) -> UsageOverview:
        """Return the overview. Raises StorageError if the database cannot be read."""
        async with self._reading:
            now_s = asyncio.get_running_loop().time()
            if self._last is not None:
                read_s, day, overview = self._last
                if day == today and now_s - read_s < FRESH_SECONDS:
                    return overview
            overview = await self._read(today)
            self._last = now_s, today, overview
            return overview

    async def _read(self, today: date) -> UsageOverview:
        counts, since = self._db.usage_counts, today - timedelta(LATELY_DAYS - 1)
        paid_today = await counts.by_server("operator", today, today)
        paid_lately = await counts.by_server("operator", since, today)
        return UsageOverview(
            await self._db.usage.by_model(),
            await counts.by_server("server", today, today),
            await counts.by_server("server", since, today),
            total_of(paid_today),
            total_of(paid_lately),
        )


def total_of(used: Mapping[int, UsageTotals]) -> UsageTotals:
    """Return the sum of what all servers used."""
    every = used.values()
    return UsageTotals(
        sum(one.requests for one in every),
        sum(one.input_tokens for one in every),
        sum(one.output_tokens for one in every),
        sum(one.cost_micros for one in every),
    )
