"""Reads small text files that are attached to a message."""

from __future__ import annotations

import aiohttp

from oshaberi.conversation.conversation_messages import AttachedFile
from oshaberi.foreign_bodies import PLAIN, BodyTooLargeError, PackedBodyError, answer_body

LARGEST_BYTES = 256 * 1024
SECONDS = 10


async def read_text(file: AttachedFile) -> str | None:
    """Return the file's text, or None if it is too large, not text or not available."""
    if file.size > LARGEST_BYTES:
        return None
    limit = aiohttp.ClientTimeout(total=SECONDS)
    try:
        session = aiohttp.ClientSession(timeout=limit, headers=PLAIN, auto_decompress=False)
        async with session, session.get(file.url) as answer:
            content = await answer_body(answer, LARGEST_BYTES) if answer.status == 200 else None
    except (aiohttp.ClientError, OSError, TimeoutError, BodyTooLargeError, PackedBodyError):
        return None
    if content is None or b"\0" in content:
        return None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
