"""Checks pictures in a request's JSON: `data:image/png;base64,…`."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re

from discord_stage.refusals import bad_form, refusal
from discord_stage.rules.messages import ATTACHMENT_MOST

_IMAGE = re.compile(r"data:image/(?:png|jpeg|gif|webp);base64,(.*)", re.DOTALL)
_STARTS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"RIFF", "image/webp"),
)


def picture_type(content: bytes) -> str | None:
    """Return the type of a picture by its first bytes; None if it is no picture."""
    return next((kind for start, kind in _STARTS if content.startswith(start)), None)


def image_data(value: object, field: str) -> bytes | None:
    """Return the bytes of a data URI; None for null. Refuses what is no picture."""
    if value is None:
        return None
    found = _IMAGE.fullmatch(str(value))
    try:
        content = base64.b64decode(found[1], validate=True) if found else b""
    except binascii.Error:
        content = b""
    if not content:
        raise bad_form((field,), "IMAGE_INVALID", "Invalid image data")
    if len(content) > ATTACHMENT_MOST:
        raise refusal(50045)
    return content


def picture_hash(content: bytes) -> str:
    return hashlib.md5(content, usedforsecurity=False).hexdigest()
