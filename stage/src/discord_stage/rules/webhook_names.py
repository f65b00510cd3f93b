"""Checks the names and avatars of webhooks (facts: Webhooks)."""

from __future__ import annotations

from discord_stage.refusals import FormErrors
from discord_stage.rules.image_data import image_data, picture_hash

NAME_MOST = 80
AVATAR_URL_MOST = 2048
_TABOO_PARTS = ("clyde", "discord")
_TABOO_WHOLE = ("here", "everyone")


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
    content = image_data(value, field)
    return None if content is None else picture_hash(content)
