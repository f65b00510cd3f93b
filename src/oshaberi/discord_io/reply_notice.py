"""The line before a webhook's first message: whom and what it answers, with a link (spec 07).

`delivery.posting` decides when it is sent.
"""

from __future__ import annotations

import re

import discord

from oshaberi.discord_io.requests.parameters import shortened

MOST_QUOTED = 80

_TURNING = re.compile(r"[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Characters that would turn the rest of the notice round."""
_BLANKS = re.compile(r"\s+")
_TOKENS = re.compile(r"<(?:a?:(\w{1,64}):\d+|[@#][!&]?\d+|t:[^<>]{0,40}|/[^<>]{0,150})>")
_SPOILER = re.compile(r"\|\|(.+?)\|\|", re.DOTALL)
_SPOILER_FILE = "SPOILER_"
_LINKS = re.compile(r"https?://\S+")
_MARKUP = re.compile(r"([\\*_~|`>#\[\]()<])")
_NOTICE_START = "-# ↩ **"
_NOTICE_LINK = re.compile(r"https?://\S+?/channels/\S+")


def reply_notice(message: discord.Message) -> str:
    """Write the notice as small text, so that it does not look like a message."""
    who = _plain(message.author.display_name)
    what = quoted(message)
    seam = f": {what}" if what else ""
    return f"{_NOTICE_START}{who}**{seam} {message.jump_url}"


def is_reply_notice(text: str) -> bool:
    """Return whether a text is a reply notice, which is not part of the conversation."""
    words, _, link = text.strip().rpartition(" ")
    if not words.startswith(_NOTICE_START) or "\n" in words:
        return False
    has_name = words.find("**", len(_NOTICE_START) + 1) > 0
    return has_name and _NOTICE_LINK.fullmatch(link) is not None


def quoted(message: discord.Message) -> str:
    """Return the start of the message as one line, without markup, links and mentions.

    Spoilers stay hidden.
    """
    shown = _beginning(message.content)
    if shown or not message.attachments:
        return shown
    name = message.attachments[0].filename
    hidden = name.startswith(_SPOILER_FILE)
    return _beginning(f"||{name.removeprefix(_SPOILER_FILE)}||" if hidden else name)


def _beginning(text: str) -> str:
    shown: list[str] = []
    room = MOST_QUOTED
    for number, part in enumerate(_SPOILER.split(text)):
        words = _words(part)
        if room <= 1 and words:
            shown[-1] = f"{shown[-1].rstrip()}…"
            break
        begun = shortened(words, room)
        hidden = number % 2 == 1
        shown.append(f"||{_plain(begun)}||" if hidden and begun.strip() else _escaped(begun))
        if begun != words:
            break
        room -= len(words)
    return _BLANKS.sub(" ", "".join(shown)).strip()


def _words(text: str) -> str:
    text = _TURNING.sub("", _TOKENS.sub(lambda token: f":{token[1]}:" if token[1] else "", text))
    return _BLANKS.sub(" ", _LINKS.sub("", text))


def _plain(text: str) -> str:
    return _escaped(_BLANKS.sub(" ", text).strip())


def _escaped(text: str) -> str:
    return _MARKUP.sub(r"\\\1", text)
