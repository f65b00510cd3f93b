"""Buckets of rate limits that nobody uses are removed, and rarely looked for."""

from __future__ import annotations

import asyncio

import discord
import pytest
from discord.http import HTTPClient, Ratelimit

from oshaberi.discord_io.requests.limits import FEWEST_BUCKETS, BucketSweep

UNUSED_SECONDS = 301.0


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[Ratelimit]:
    """Every look at a bucket."""
    seen: list[Ratelimit] = []
    is_inactive = Ratelimit.is_inactive

    def noted(bucket: Ratelimit) -> bool:
        seen.append(bucket)
        return is_inactive(bucket)

    monkeypatch.setattr(Ratelimit, "is_inactive", noted)
    return seen


def http_client() -> HTTPClient:
    return discord.Client(intents=discord.Intents.none()).http


def test_looks_do_not_grow_with_the_square(looks: list[Ratelimit]) -> None:
    async def main() -> None:
        http = http_client()
        BucketSweep(http)
        for number in range(3000):
            http.get_ratelimit(f"messages:{number}").acquire().close()
            http._buckets[f"messages:{number}"]._last_request = asyncio.get_running_loop().time()
        assert len(http._buckets) == 3000
        assert 0 < len(looks) < 2 * 3000

    asyncio.run(main())


def test_unused_ones_are_removed(looks: list[Ratelimit]) -> None:
    async def main() -> None:
        http = http_client()
        BucketSweep(http)
        now = asyncio.get_running_loop().time()
        for number in range(FEWEST_BUCKETS - 1):
            is_used = number % 2 == 0
            bucket = http.get_ratelimit(f"messages:{number}")
            bucket._last_request = now - (0 if is_used else UNUSED_SECONDS)
        assert looks == []
        newest = http.get_ratelimit("messages:last")
        assert len(http._buckets) <= FEWEST_BUCKETS // 2 + 1
        again = [http.get_ratelimit(f"messages:{number}") for number in range(0, 10, 2)]
        assert len({id(newest), *map(id, again)}) == 6
        assert len(looks) == FEWEST_BUCKETS

    asyncio.run(main())
