"""The parameters of a send, a webhook send and an edit.

Also their contents: the embeds of notices, the reply notice, and a table's source inside its
picture.
"""

from __future__ import annotations

import io
import re
import struct
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import discord
from discord.http import MultipartParameters, handle_message_parameters

from oshaberi.delivery.sink import Embed, File, Post, WebhookFace
from oshaberi.text.measure import grapheme_edge
from oshaberi.text.normalize.webhook_names import webhook_username

# Embeds of notices (error, timeout, limit)
TITLE_LIMIT = 256
DESCRIPTION_LIMIT = 4096

NOTICE_COLOUR = discord.Colour.orange()


def notice_embed(embed: Embed) -> discord.Embed:
    return discord.Embed(
        title=shortened(embed.title, TITLE_LIMIT),
        description=shortened(embed.description, DESCRIPTION_LIMIT) or None,
        colour=NOTICE_COLOUR if embed.colour is None else embed.colour,
    )


def shortened(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    return text[: grapheme_edge(text, 0, limit - 1)].rstrip() + "…"


# A text inside a PNG file, which viewers ignore
SIGNATURE = b"\x89PNG\r\n\x1a\n"
KEYWORD = b"Source"
MOST_BYTES = 1_000_000
"""The longest unpacked text, so that no picture from elsewhere can fill the memory."""

_HEADER_END = len(SIGNATURE) + 25  # IHDR is always first, and 13 bytes long


def with_text(png: bytes, text: str) -> bytes:
    """Return the picture with the text stored in it. A file that is not a PNG stays unchanged."""
    if not text or not png.startswith(SIGNATURE) or len(png) < _HEADER_END:
        return png
    packed = zlib.compress(text.encode("utf-8", "replace"))
    chunk = _chunk(b"iTXt", KEYWORD + b"\0\1\0\0\0" + packed)
    return png[:_HEADER_END] + chunk + png[_HEADER_END:]


def text_in(png: bytes) -> str | None:
    """Return the text that `with_text` stored, or None."""
    if not png.startswith(SIGNATURE):
        return None
    for kind, content in _chunks(png):
        if kind == b"iTXt" and content.startswith(KEYWORD + b"\0\1\0\0\0"):
            return _unpacked(content[len(KEYWORD) + 5 :])
    return None


def _unpacked(packed: bytes) -> str | None:
    try:
        reader = zlib.decompressobj()
        text = reader.decompress(packed, MOST_BYTES)
        return text.decode() if reader.eof else None
    except (zlib.error, UnicodeDecodeError):
        return None


def _chunk(kind: bytes, content: bytes) -> bytes:
    check = struct.pack(">I", zlib.crc32(kind + content))
    return struct.pack(">I", len(content)) + kind + content + check


def _chunks(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = len(SIGNATURE)
    while at + 12 <= len(png):
        (length,) = struct.unpack_from(">I", png, at)
        yield png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        at += 12 + length


# The parameters of a send, a webhook send and an edit
ALT_LIMIT = 1024
AVATAR_URL_LIMIT = 2048
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def bot_form(
    post: Post,
    allowed: discord.AllowedMentions,
    reference: dict[str, Any] | None = None,
    view: discord.ui.View | None = None,
) -> MultipartParameters:
    fields = _fields(post, allowed, view)
    if reference is not None:
        fields["message_reference"] = reference
    return handle_message_parameters(nonce=post.nonce, **fields)


def webhook_form(
    post: Post,
    face: WebhookFace,
    allowed: discord.AllowedMentions,
    view: discord.ui.View | None = None,
) -> MultipartParameters:
    """Build a webhook message. It has no nonce: webhooks do not support one (facts)."""
    return handle_message_parameters(
        username=webhook_username(face.username),
        avatar_url=avatar_url(face),
        **_fields(post, allowed, view),
    )


def follow_up_form(
    post: Post,
    allowed: discord.AllowedMentions,
    view: discord.ui.View | None = None,
    *,
    is_ephemeral: bool = False,
) -> MultipartParameters:
    """Build a message under an interaction's token, which has no nonce (facts)."""
    fields = _fields(post, allowed, view)
    if is_ephemeral:
        flags = fields.setdefault("flags", discord.MessageFlags())
        flags.ephemeral = True
    return handle_message_parameters(**fields)


def edit_form(post: Post, allowed: discord.AllowedMentions) -> MultipartParameters:
    """Build an edit. It sets the allowed mentions, because Discord's defaults differ (facts)."""
    fields: dict[str, Any] = {"content": legible(post.content), "allowed_mentions": allowed}
    if post.embed is not None:
        fields["embed"] = notice_embed(post.embed)
    return handle_message_parameters(**fields)


def notice_form(content: str, face: WebhookFace) -> MultipartParameters:
    """Build a short notice about a message. It pings nobody and shows no link previews."""
    return handle_message_parameters(
        content=legible(content),
        username=webhook_username(face.username),
        avatar_url=avatar_url(face),
        allowed_mentions=discord.AllowedMentions.none(),
        flags=_flags(silent=True, suppress_embeds=True),
    )


def avatar_url(face: WebhookFace) -> str | None:
    """Return the avatar's URL, or None if Discord would refuse the message because of it."""
    url = face.avatar_url
    if url is None or len(url) > AVATAR_URL_LIMIT:
        return None
    return url if url.startswith(("http://", "https://")) else None


def legible(text: str) -> str:
    """Replace lone surrogates, which are not valid in JSON for Discord."""
    return _LONE_SURROGATE.sub("\ufffd", text)


def _fields(
    post: Post, allowed: discord.AllowedMentions, view: discord.ui.View | None
) -> dict[str, Any]:
    fields: dict[str, Any] = {"allowed_mentions": allowed}
    if post.content:
        fields["content"] = legible(post.content)
    if post.files:
        fields["files"] = _files(post.files)
    if post.embed is not None:
        fields["embed"] = notice_embed(post.embed)
    if view is not None:
        fields["view"] = view
    if post.silent or post.suppress_embeds:
        fields["flags"] = _flags(silent=post.silent, suppress_embeds=post.suppress_embeds)
    return fields


def _flags(*, silent: bool, suppress_embeds: bool) -> discord.MessageFlags:
    return discord.MessageFlags(suppress_notifications=silent, suppress_embeds=suppress_embeds)


def _files(files: Sequence[File]) -> list[discord.File]:
    """Build the attached files. The first picture carries the Markdown source of all."""
    return [
        discord.File(
            io.BytesIO(with_text(file.content, file.source) if number == 0 else file.content),
            filename=file.name,
            description=legible(file.alt)[:ALT_LIMIT] or None,
        )
        for number, file in enumerate(files)
    ]


# The reply notice: the line before a webhook's first message that says whom and what it answers,
# with # a link (spec 07). `delivery.posting` decides when it is sent.
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
