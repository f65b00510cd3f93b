"""Asks a question with eight pictures, twice, and prints by how many MB the process grew.

Run as a program with the picture's path: the peak of a process can be measured only once.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from io import BytesIO
from ipaddress import ip_address
from pathlib import Path

from aiohttp import web
from PIL import Image

from oshaberi.providers.images.fetching import Address, ImageFetcher
from oshaberi.providers.request.model_request import (
    ContextItem,
    Endpoint,
    ImagePart,
    Item,
    Request,
    TextPart,
)
from oshaberi.providers.request.preparation import prepared

HOME = ip_address("127.0.0.1")
PICTURES = 8


def peak_mb() -> float:
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text("ascii"))
    assert found is not None
    return int(found[1]) / 1024


def reset_peak() -> None:
    """So that the second question is measured for itself."""
    Path("/proc/self/clear_refs").write_text("5", "ascii")


async def loopback(_host: str, _port: int) -> list[Address]:
    return [HOME]


class PictureServer:
    """Serves one file under every path, and counts."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        self.served = 0

    async def answer(self, request: web.Request) -> web.Response:
        if request.path == "/small.png":
            out = BytesIO()
            Image.new("RGB", (2000, 10)).save(out, "PNG")
            return web.Response(body=out.getvalue())
        self.served += 1
        return web.Response(body=self._body)


def question(port: int, *, signature: str) -> Request:
    parts = tuple(
        ImagePart(f"http://cdn.test:{port}/attachments/1/{number}/p.png?ex={signature}&is=1&hm=2")
        for number in range(PICTURES)
    )
    return Request((ContextItem("user", parts, "current"),))


def texts_and_images(items: tuple[Item, ...]) -> tuple[list[str], int]:
    parts = [part for item in items if isinstance(item, ContextItem) for part in item.parts]
    texts = [part.text for part in parts if isinstance(part, TextPart)]
    return texts, sum(isinstance(part, ImagePart) and part.data is not None for part in parts)


async def main(path: str) -> None:
    server = PictureServer(Path(path).read_bytes())
    app = web.Application()
    app.router.add_get("/{path:.*}", server.answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    port = runner.addresses[0][1]
    fetcher = ImageFetcher(allowed=lambda address: address == HOME, resolve=loopback)
    endpoint = Endpoint("test", "m", "https://x.test", None, fetch_image=fetcher.fetch)
    await fetcher.fetch(f"http://cdn.test:{port}/small.png")
    idle = peak_mb()
    told = []
    for signature in ("first", "later"):
        reset_peak()
        before = peak_mb()
        ready = await prepared(question(port, signature=signature), endpoint)
        texts, images = texts_and_images(tuple(ready.items))
        growth = {"grew_mb": peak_mb() - idle, "grew_again_mb": peak_mb() - before}
        told.append({**growth, "texts": texts, "images": images})
    print(json.dumps({"questions": told, "served": server.served}))  # noqa: T201
    await runner.cleanup()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
