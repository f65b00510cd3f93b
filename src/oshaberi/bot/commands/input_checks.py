"""Checks names and picture URLs when they are entered, as Discord takes them from a webhook.

A wrong one is refused with its reason then, and not when the persona first speaks.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from oshaberi.bot.commands.command_context import CommandRefusedError
from oshaberi.discord_io.requests.request_parameters import AVATAR_URL_LIMIT
from oshaberi.text.normalize.names.webhook_usernames import MAX_UNITS, name_problem
from oshaberi.text.text_measure import utf16_len

MOST_WORDS = 20
SPRITE_UNITS = 32


def checked_name(name: str, what: str = "persona", limit: int = MAX_UNITS) -> str:
    """Return the name with single spaces. Raises CommandRefusedError if Discord refuses it."""
    name = " ".join(name.split())
    reason = name_problem(name, limit)
    if reason is not None:
        raise CommandRefusedError(f"A {what} cannot be called that: {reason}. Choose another name.")
    return name


def checked_sprite(name: str) -> str:
    """Check a sprite's name. It must not have parentheses, since it is written inside some."""
    name = checked_name(name, "sprite", SPRITE_UNITS)
    if "(" in name or ")" in name:
        raise CommandRefusedError(
            "A sprite's name cannot contain parentheses. Choose another name."
        )
    return name


def checked_url(url: str) -> str:
    """Check the URL of a picture."""
    url = url.strip()
    if len(url) > AVATAR_URL_LIMIT:
        raise CommandRefusedError(
            f"The address is longer than {AVATAR_URL_LIMIT} characters; shorten it."
        )
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        usable = False
    if not usable or any(sign.isspace() for sign in url):
        raise CommandRefusedError("Give the address of a picture, starting with https://.")
    return url


def checked_words(text: str, what: str) -> tuple[str, ...]:
    """Split a comma-separated list of names, each once."""
    words = [word.strip() for word in text.split(",")]
    unique = tuple(dict.fromkeys(word for word in words if word))
    if len(unique) > MOST_WORDS:
        raise CommandRefusedError(f"{what}: at most {MOST_WORDS}, with commas between them.")
    if any(utf16_len(word) > MAX_UNITS for word in unique):
        raise CommandRefusedError(f"{what}: each is at most {MAX_UNITS} characters long.")
    return unique
