"""Small text files are read whole, however their bytes arrive, or not at all."""

from __future__ import annotations

import asyncio
import gzip

import pytest
from aiohttp import web

from oshaberi.bot.client.discord_values import LARGEST_BYTES, read_text
from oshaberi.bot.conversation.messages import AttachedFile
from tests.attacks.loop_watch import memory_at_most

TEXT = "寿司を食べよう 🍣\n" * 2000


def read(
    content: bytes, *, at: list[int], breaks_off: bool = False, encoding: str = ""
) -> str | None:
    """What is read of a file that arrives in pieces, each when the one before has been taken."""

    async def serve(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        assert request.headers["Accept-Encoding"] == "identity"
        if encoding:
            response.headers["Content-Encoding"] = encoding
        if breaks_off:
            response.content_length = len(content) + 1
        await response.prepare(request)
        for start, end in zip([0, *at], [*at, len(content)], strict=True):
            await response.write(content[start:end])
            for _turn in range(20):
                await asyncio.sleep(0)
        if breaks_off and request.transport is not None:
            request.transport.close()
        return response

    async def main() -> str | None:
        app = web.Application()
        app.router.add_get("/list.txt", serve)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        url = f"http://127.0.0.1:{runner.addresses[0][1]}/list.txt"
        try:
            return await read_text(AttachedFile("list.txt", url, "text/plain", 10))
        finally:
            await runner.cleanup()

    return asyncio.run(main())


@pytest.mark.parametrize("first", [1, 2, 1000, 1001, 30_000])
def test_a_file_is_read_to_its_end(first: int) -> None:
    """Also where a piece ends inside a character."""
    assert read(TEXT.encode(), at=[first, first + 1]) == TEXT


def test_a_file_of_exactly_the_limit_is_read() -> None:
    content = b"x" * LARGEST_BYTES
    assert read(content, at=[70_000, 140_000]) == content.decode()


def test_a_file_that_is_larger_than_it_said_is_not_read() -> None:
    assert read(b"x" * (LARGEST_BYTES + 1), at=[70_000, 140_000]) is None


def test_a_file_that_grows_when_it_is_unpacked_is_not_read() -> None:
    bomb = gzip.compress(b"x" * 100_000_000)
    assert len(bomb) < LARGEST_BYTES
    with memory_at_most(5):
        assert read(bomb, at=[1000], encoding="gzip") is None


def test_half_a_file_is_not_taken_for_the_whole() -> None:
    assert read(TEXT.encode(), at=[1000], breaks_off=True) is None


def test_a_mark_at_the_beginning_is_no_text() -> None:
    assert read(b"\xef\xbb\xbfhello", at=[2]) == "hello"


def test_what_is_no_text() -> None:
    assert read(b"PK\0\3", at=[]) is None
    assert read("Größe".encode("latin-1"), at=[]) is None
