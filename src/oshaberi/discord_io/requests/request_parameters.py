"""Builds the parameters of a send, a webhook send and an edit from a post."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import Any

import discord
from discord.http import MultipartParameters, handle_message_parameters

from oshaberi.delivery.sink import File, Post, WebhookFace
from oshaberi.discord_io.discord_embeds import notice_embed
from oshaberi.discord_io.png_text import with_text
from oshaberi.text.normalize.names.webhook_usernames import webhook_username

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
