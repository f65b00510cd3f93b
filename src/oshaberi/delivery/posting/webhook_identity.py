"""Chooses the name and avatar of a message, and how to show them without a webhook."""

from __future__ import annotations

import re

from oshaberi.delivery.sink import WebhookFace
from oshaberi.events import Identity
from oshaberi.text.normalize.names.webhook_usernames import webhook_username
from oshaberi.text.text_config import Persona

_BLOCK_START = re.compile(r"```|#{1,3} |-# |>{1,3} |[-*•] |\d+[.)] |\|")
_MARKUP = re.compile(r"([*_~|`\\>])")


def face_of(identity: Identity | None, persona: Persona | None) -> WebhookFace | None:
    """Return the webhook name and avatar, or None to send as the bot.

    An alter persona always has one (spec 07, webhook path).
    """
    if identity is not None:
        return WebhookFace(identity.username, identity.avatar_url)
    if persona is not None and persona.is_alter:
        return WebhookFace(webhook_username(persona.name), persona.avatar_url)
    return None


def bold_name(face: WebhookFace) -> str:
    name = _MARKUP.sub(r"\\\1", face.username)
    return f"**{name}**:"


def introduced(face: WebhookFace, text: str) -> str:
    """Put the speaker's name in front. Block markup stays at the start of its line."""
    seam = "\n" if _BLOCK_START.match(text) else " "
    return f"{bold_name(face)}{seam}{text}"
