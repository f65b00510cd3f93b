"""A page that is closed or reloaded leaves in the middle of its requests: nobody complains."""

from __future__ import annotations

import asyncio
import logging
import socket
import struct

import pytest

from discord_stage import Stage

UPGRADE = (
    "GET {path} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)
AT_ONCE = struct.pack("ii", 1, 0)


def ask_and_leave(address: str, path: str) -> None:
    host, _, port = address.partition(":")
    with socket.create_connection((host, int(port))) as asking:
        asking.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)
        asking.sendall(UPGRADE.format(path=path, host=address).encode())


@pytest.mark.parametrize("path", ["/stage/feed", "/gw/", "/page/js/main.js"])
def test_whoever_hangs_up_is_forgotten(path: str, caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with Stage() as stage:
            address = stage.url.removeprefix("http://")
            for _ in range(40):
                ask_and_leave(address, path)
                await asyncio.sleep(0)
            await stage.settled(30)

    with caplog.at_level(logging.WARNING):
        asyncio.run(main())
    assert [record.getMessage() for record in caplog.records] == []
