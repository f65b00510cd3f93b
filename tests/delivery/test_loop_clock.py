"""The clock of delivery is the running loop's, whatever loop that is."""

from __future__ import annotations

import asyncio
import time

from oshaberi.clocks import loop_clock
from oshaberi.virtual_time import run_virtual


def test_it_shows_the_time_of_asyncios_own_loop() -> None:
    async def main() -> None:
        loop, now = asyncio.get_running_loop(), loop_clock()
        before = loop.time()
        assert before <= now() <= loop.time()
        assert now is time.monotonic

    asyncio.run(main())


def test_it_shows_the_time_of_a_loop_with_a_clock_of_its_own() -> None:
    async def main() -> None:
        loop, now = asyncio.get_running_loop(), loop_clock()
        await asyncio.sleep(250)
        assert now() == loop.time() >= 250

    run_virtual(main())
