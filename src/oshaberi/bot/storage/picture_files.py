"""Copies of the pictures of personas, in the data folder: `pictures/{server}/{digest}.png`.

A copy is uploaded again if the message of its picture is gone, and moves with its server to another
bot.
"""

from __future__ import annotations

import asyncio
import re
import shutil
from pathlib import Path

FOLDER = "pictures"
_DIGEST = re.compile(r"[0-9a-f]{32}")
_ENDINGS = {"image/png": ".png", "image/jpeg": ".jpg"}


class PictureFiles:
    """The copies of one bot. Ignores invalid server ids and digests."""

    def __init__(self, data_dir: Path) -> None:
        self._folder = data_dir / FOLDER

    async def write(self, server_id: int, digest: str, content_type: str, content: bytes) -> None:
        await asyncio.to_thread(_write, self._path(server_id, digest, content_type), content)

    async def read(self, server_id: int, digest: str, content_type: str) -> bytes | None:
        """Return a copy, or None if it is not there."""
        return await asyncio.to_thread(_read, self._path(server_id, digest, content_type))

    async def delete(self, server_id: int, digest: str, content_type: str) -> None:
        path = self._path(server_id, digest, content_type)
        await asyncio.to_thread(path.unlink, missing_ok=True)

    async def delete_server(self, server_id: int) -> None:
        """Delete all copies of a server."""
        await asyncio.to_thread(shutil.rmtree, self._folder / str(int(server_id)), True)

    def _path(self, server_id: int, digest: str, content_type: str) -> Path:
        if not _DIGEST.fullmatch(digest):
            raise ValueError("not the digest of a picture")
        return self._folder / str(int(server_id)) / (digest + _ENDINGS[content_type])


def _write(path: Path, content: bytes) -> None:
    """Write a file as a whole: another process sees all of it or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    partial = path.with_suffix(path.suffix + ".part")
    partial.write_bytes(content)
    partial.replace(path)


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
