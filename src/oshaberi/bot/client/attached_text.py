"""Reads small text files that are attached to a message."""

from __future__ import annotations

import aiohttp

from oshaberi.conversation.conversation_messages import AttachedFile

LARGEST_BYTES = 256 * 1024
SECONDS = 10
PLAIN = {"Accept-Encoding": "identity"}


async def read_text(file: AttachedFile) -> str | None:
    """Return the file's text, or None if it is too large, not text or not available."""
    if file.size > LARGEST_BYTES:
        return None
    limit = aiohttp.ClientTimeout(total=SECONDS)
    try:
        # Decompressing would let a small answer grow.
        session = aiohttp.ClientSession(timeout=limit, headers=PLAIN, auto_decompress=False)
        async with session, session.get(file.url) as answer:
            content = await _whole(answer)
    except (aiohttp.ClientError, OSError, TimeoutError):
        return None
    if content is None or b"\0" in content:
        return None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None


async def _whole(answer: aiohttp.ClientResponse) -> bytes | None:
    """Read the body to its end: a single read would return only the part that has arrived.

    Returns None if the body is too large or compressed, or the status is not 200.
    """
    if answer.status != 200 or answer.headers.get("Content-Encoding", "identity") != "identity":
        return None
    content = bytearray()
    async for piece in answer.content.iter_any():
        content += piece
        if len(content) > LARGEST_BYTES:
            return None
    return bytes(content)
