"""The text of small files that come with a message."""

from __future__ import annotations

import aiohttp

from oshaberi.conversation.conversation_messages import AttachedFile

LARGEST_BYTES = 256 * 1024
SECONDS = 10


async def read_text(file: AttachedFile) -> str | None:
    """None if it is too large, is no text, or cannot be had."""
    if file.size > LARGEST_BYTES:
        return None
    limit = aiohttp.ClientTimeout(total=SECONDS)
    try:
        async with aiohttp.ClientSession(timeout=limit) as session, session.get(file.url) as answer:
            content = await answer.content.read(LARGEST_BYTES + 1)
    except (aiohttp.ClientError, OSError, TimeoutError):
        return None
    if answer.status != 200 or len(content) > LARGEST_BYTES or b"\0" in content:
        return None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
