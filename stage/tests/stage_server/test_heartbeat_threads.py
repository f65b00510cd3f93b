"""discord.py sends heartbeats from a thread, which must not outlive the loop that it uses."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest
from discord.gateway import KeepAliveHandler

from discord_stage import Settings
from discord_stage.testing import default_client, logged_in, staged


def test_no_heartbeat_is_under_way_when_the_client_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun = threading.Event()
    right = KeepAliveHandler.get_payload

    def slow(handler: KeepAliveHandler) -> Any:
        begun.set()
        time.sleep(0.2)  # as on a busy machine
        return right(handler)

    monkeypatch.setattr(KeepAliveHandler, "get_payload", slow)

    async def main() -> list[threading.Thread]:
        async with staged(None, Settings(heartbeat_ms=1)) as stage:
            async with logged_in(stage, default_client()):
                await asyncio.to_thread(begun.wait)
            return [one for one in threading.enumerate() if isinstance(one, KeepAliveHandler)]

    assert asyncio.run(main()) == []
