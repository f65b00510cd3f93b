"""Checks names and picture URLs as Discord will check them when a webhook uses them.

So the user learns at once what is wrong, and not when the persona first speaks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from urllib.parse import urlsplit

from oshaberi.bot.commands.command_context import CommandRefusedError
from oshaberi.conversation.persona_name_rules import name_problem
from oshaberi.discord_io.requests.request_parameters import AVATAR_URL_LIMIT
from oshaberi.languages import said, translatable, translated
from oshaberi.storage.stored_records import PersonaRecord
from oshaberi.text.normalize.names.webhook_usernames import MAX_UNITS
from oshaberi.text.text_measure import utf16_len

MOST_WORDS = 20
SPRITE_UNITS = 32
PROMPT_LIMIT = 4000
"""As many characters as a field of a form can hold."""
MOST_SPRITES = 50


@dataclass(frozen=True, slots=True)
class SizeLimit:
    """How long a text may be, or how many items a list may have and how long each may be."""

    longest: int
    most: int = 1


PERSONA_LIMITS: Mapping[str, SizeLimit] = {
    "name": SizeLimit(MAX_UNITS),
    "prompt": SizeLimit(PROMPT_LIMIT),
    "aliases": SizeLimit(MAX_UNITS, MOST_WORDS),
    "triggers": SizeLimit(MAX_UNITS, MOST_WORDS),
    "avatar_url": SizeLimit(AVATAR_URL_LIMIT),
    "samples": SizeLimit(PROMPT_LIMIT, 20),
    "sprites": SizeLimit(AVATAR_URL_LIMIT, MOST_SPRITES),
}
"""The limit of every text and list of a persona, whoever sends it: a form, a command, a file."""

PERSONA, SPRITE = translatable("persona"), translatable("sprite")


def checked_name(name: str, what: str = PERSONA, limit: int = MAX_UNITS) -> str:
    """Return the name with single spaces. Raises CommandRefusedError if Discord refuses it."""
    name = " ".join(name.split())
    reason = name_problem(name, limit)
    if reason is not None:
        raise CommandRefusedError(
            translated(
                "A {what} cannot be called that: {reason}. Choose another name.",
                what=translated(what),
                reason=said(reason),
            )
        )
    return name


def checked_sprite(name: str) -> str:
    """Check a sprite's name. It must have no parentheses, because it is written inside them."""
    name = checked_name(name, SPRITE, SPRITE_UNITS)
    if "(" in name or ")" in name:
        raise CommandRefusedError(
            translated("A sprite's name cannot contain parentheses. Choose another name.")
        )
    return name


def checked_url(url: str) -> str:
    """Check the URL of a picture."""
    url = url.strip()
    if len(url) > AVATAR_URL_LIMIT:
        raise CommandRefusedError(
            translated(
                "The address is longer than {avatar_url_limit} characters; shorten it.",
                avatar_url_limit=AVATAR_URL_LIMIT,
            )
        )
    try:
        parts = urlsplit(url)
        usable = parts.scheme == "https" and bool(parts.hostname)
    except ValueError:
        usable = False
    if not usable or any(sign.isspace() for sign in url):
        raise CommandRefusedError(
            translated("Give the address of a picture, starting with https://.")
        )
    return url


def check_size(before: PersonaRecord, after: PersonaRecord) -> None:
    """Refuse a change that makes a text or a list of the persona too long.

    What was stored before, by the operator perhaps, may stay as it is.
    """
    for field, limit in PERSONA_LIMITS.items():
        value = getattr(after, field)
        if value is None or value == getattr(before, field):
            continue
        if isinstance(value, tuple) and len(value) > limit.most:
            raise CommandRefusedError(
                translated("{what}: at most {most}.", what=field, most=limit.most)
            )
        if any(len(text) > limit.longest for text in _texts(value)):
            raise CommandRefusedError(
                translated("{what}: at most {most} characters.", what=field, most=limit.longest)
            )


def _texts(value: object) -> Iterable[str]:
    """Return all texts in a text, a list or a record."""
    if isinstance(value, str):
        return (value,)
    if is_dataclass(value):
        value = tuple(getattr(value, field.name) for field in fields(value))
    return (text for one in value for text in _texts(one)) if isinstance(value, tuple) else ()


def checked_words(text: str, what: str) -> tuple[str, ...]:
    """Split a comma-separated list of names, without duplicates."""
    words = [word.strip() for word in text.split(",")]
    unique = tuple(dict.fromkeys(word for word in words if word))
    if len(unique) > MOST_WORDS:
        raise CommandRefusedError(
            translated(
                "{what}: at most {most_words}, with commas between them.",
                what=what,
                most_words=MOST_WORDS,
            )
        )
    if any(utf16_len(word) > MAX_UNITS for word in unique):
        raise CommandRefusedError(
            translated(
                "{what}: each is at most {max_units} characters long.",
                what=what,
                max_units=MAX_UNITS,
            )
        )
    return unique
