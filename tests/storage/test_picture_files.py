"""The copies of pictures in the data folder: whole, of one server each, and gone with it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from oshaberi.bot.storage.picture_files import PictureFiles

DIGEST = "0123456789abcdef" * 2


def test_a_copy_is_written_read_and_deleted(tmp_path: Path) -> None:
    async def scenario() -> None:
        files = PictureFiles(tmp_path)
        for server in (1, 2):
            await files.write(server, DIGEST, "image/png", b"picture")
        assert await files.read(1, DIGEST, "image/png") == b"picture"
        assert await files.read(1, DIGEST, "image/jpeg") is None
        await files.delete(1, DIGEST, "image/png")
        assert await files.read(1, DIGEST, "image/png") is None
        await files.delete_server(1)
        await files.delete_server(2)
        await files.delete_server(3)
        assert list((tmp_path / "pictures").iterdir()) == []

    asyncio.run(scenario())


@pytest.mark.parametrize("digest", ["", "../../x", "a" * 31, "G" * 32, DIGEST + "\n"])
def test_what_is_no_digest_names_no_file(tmp_path: Path, digest: str) -> None:
    async def scenario() -> None:
        with pytest.raises(ValueError, match="digest"):
            await PictureFiles(tmp_path).write(1, digest, "image/png", b"x")
        assert list(tmp_path.iterdir()) == []

    asyncio.run(scenario())
