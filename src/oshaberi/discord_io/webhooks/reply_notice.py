"""The line before a webhook's first message: who and what is answered, with a link (spec 07)."""

from __future__ import annotations

import re

import discord

from oshaberi.discord_io.discord_embeds import shortened

MOST_QUOTED = 80

_BLANKS = re.compile(r"\s+")
_TOKENS = re.compile(r"<(?:a?:(\w+):\d+|[@#][!&]?\d+|t:[^>]*|/[^>]*)>")
_LINKS = re.compile(r"https?://\S+")
_MARKUP = re.compile(r"([\\*_~|`>#\[\]()<])")
_NOTICE = re.compile(r"-# ↩ \*\*.+\*\*.* https?://\S+/channels/\S+")


def reply_notice(message: discord.Message) -> str:
    """Small print, so that it does not look like a message of its own."""
    who = _plain(message.author.display_name)
    what = quoted(message)
    seam = f": {what}" if what else ""
    return f"-# ↩ **{who}**{seam} {message.jump_url}"


def is_reply_notice(text: str) -> bool:
    """Known again in a history, where it is no part of the conversation."""
    return _NOTICE.fullmatch(text.strip()) is not None


def quoted(message: discord.Message) -> str:
    """How the message begins, in one line without markup, links and mentions."""
    text = _TOKENS.sub(lambda token: f":{token[1]}:" if token[1] else "", message.content)
    text = _BLANKS.sub(" ", _LINKS.sub("", text)).strip()
    if not text and message.attachments:
        text = message.attachments[0].filename
    return _plain(shortened(text, MOST_QUOTED))


def _plain(text: str) -> str:
    return _MARKUP.sub(r"\\\1", _BLANKS.sub(" ", text).strip())
