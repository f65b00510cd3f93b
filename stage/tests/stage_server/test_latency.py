"""A heartbeat is acknowledged a little later, or discord.py measures the time since the one before.

Its thread notes when it sent a heartbeat after it was sent; an answer must not come before that.
"""

from __future__ import annotations

import asyncio
import time

import aiohttp

from discord_stage import Settings, Stage

ACK_S = 0.05


def test_a_heartbeat_is_not_acknowledged_at_once() -> None:
    async def main() -> None:
        async with (
            Stage(settings=Settings(heartbeat_ack_s=ACK_S)) as stage,
            aiohttp.ClientSession() as session,
            session.ws_connect(f"{stage.url}/gw/?v=10&encoding=json") as socket,
        ):
            assert (await socket.receive_json())["op"] == 10
            began = time.perf_counter()
            await socket.send_json({"op": 1, "d": None})
            assert (await socket.receive_json())["op"] == 11
            # The loop's clock may be a little coarser than this one.
            assert time.perf_counter() - began >= 0.9 * ACK_S

    assert Settings().heartbeat_ack_s > 0
    asyncio.run(main())
