"""Checks the names and avatars of webhooks (facts: Webhooks)."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re

from discord_stage.refusals import FormErrors, bad_form, refusal
from discord_stage.rules.messages import ATTACHMENT_MOST

NAME_MOST = 80
AVATAR_URL_MOST = 2048
_TABOO_PARTS = ("clyde", "discord")
_TABOO_WHOLE = ("here", "everyone")
_IMAGE = re.compile(r"data:image/(?:png|jpeg|gif|webp);base64,(.*)", re.DOTALL)


def check_webhook_name(path: tuple[str | int, ...], name: str, errors: FormErrors) -> None:
    errors.bad_length(path, name, 1, NAME_MOST)
    low = name.lower()
    for part in _TABOO_PARTS:
        if part in low:
            errors.add(path, "USERNAME_INVALID_CONTAINS", f'Username cannot contain "{part}"')
    if low in _TABOO_WHOLE:
        errors.add(path, "USERNAME_INVALID", f'Username cannot be "{low}"')


def check_avatar_url(path: tuple[str | int, ...], url: object, errors: FormErrors) -> str | None:
    if not url:
        return None
    text = str(url)
    errors.too_long(path, text, AVATAR_URL_MOST)
    if not text.startswith(("http://", "https://")):
        message = "Scheme must be one of ('http', 'https')."
        errors.add(path, "URL_TYPE_INVALID_SCHEME", message)
    return text


def check_avatar_data(value: object, field: str = "avatar") -> str | None:
    """Turn a data URI into a hash, as Discord does."""
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
    return hashlib.md5(content, usedforsecurity=False).hexdigest()
