"""The readable content of a Discord message: its text with names, its embeds and its files."""

from __future__ import annotations

import mimetypes
import re
from collections.abc import Iterator

import aiohttp
import discord

from oshaberi.bot.client.people import AnyUser, RecentMembers
from oshaberi.bot.conversation.messages import AttachedFile
from oshaberi.bot.conversation.transcript import plain_words
from oshaberi.foreign_bodies import PLAIN, BodyTooLargeError, PackedBodyError, answer_body

# Reads small text files that are attached to a message.


LARGEST_BYTES = 256 * 1024
SECONDS = 10


async def read_text(file: AttachedFile) -> str | None:
    """Return the file's text, or None if it is too large, not text or not available."""
    if file.size > LARGEST_BYTES:
        return None
    limit = aiohttp.ClientTimeout(total=SECONDS)
    try:
        session = aiohttp.ClientSession(timeout=limit, headers=PLAIN, auto_decompress=False)
        async with session, session.get(file.url) as answer:
            content = await answer_body(answer, LARGEST_BYTES) if answer.status == 200 else None
    except (aiohttp.ClientError, OSError, TimeoutError, BodyTooLargeError, PackedBodyError):
        return None
    if content is None or b"\0" in content:
        return None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None


# The readable content of a Discord message: its text with names, its embeds and its files.


NO_MIME = "application/octet-stream"
HIDDEN_CHANNEL = "#unknown"
"""Shown for a channel that does not exist, and for one that the reader may not see, so that nobody
learns which it is."""
_TOKENS = re.compile(
    # Ids have 20 digits at most, commands three words of 32 letters: nothing looks far ahead.
    r"<(?:a?:(?P<emoji>\w{1,64}):\d{1,20}|@!?(?P<user>\d{1,20})|@&(?P<role>\d{1,20})"
    r"|#(?P<channel>\d{1,20})|/(?P<command>[^:<>]{1,100}):\d{1,20})>"
)


def readable(
    message: discord.Message, recent_members: RecentMembers, viewer: AnyUser | None = None
) -> str:
    """Return the text as the viewer sees it: mentions by name, custom emoji as `:name:`."""
    if "<" not in message.content and not _has_more(message):
        return message.content
    if viewer is not None:
        viewer = recent_members.known(viewer, message.guild)

    def named(text: str) -> str:
        if "<" not in text:
            return text
        return _TOKENS.sub(
            lambda token: _shown(message, token, recent_members, viewer) or token[0], text
        )

    lines = [named(message.content)]
    lines += [f"(forwarded) {named(one.content)}" for one in message.message_snapshots]
    lines += [f"(sticker: {plain_words(sticker.name)})" for sticker in message.stickers]
    if message.poll is not None:
        answers = " / ".join(plain_words(answer.text) for answer in message.poll.answers)
        lines.append(f"(poll: {plain_words(str(message.poll.question))} {answers})")
    return "\n".join(line for line in lines if line)


def typed(message: discord.Message) -> str | None:
    """Return what the author typed; None if that is all of the readable text.

    Names of users, channels, commands, emoji and stickers are not typed, and neither is a forwarded
    text or a poll. The name of a role is kept: a role may exist to call a persona by it.
    """
    if "<" not in message.content and not _has_more(message):
        return None

    def role(token: re.Match[str]) -> str:
        number = int(token["role"] or 0)
        found = None if message.guild is None else message.guild.get_role(number)
        return " " if found is None else f"@{found.name}"

    return _TOKENS.sub(role, message.content)


def _has_more(message: discord.Message) -> bool:
    return bool(message.message_snapshots or message.stickers or message.poll)


def _shown(
    message: discord.Message,
    token: re.Match[str],
    recent_members: RecentMembers,
    viewer: AnyUser | None,
) -> str | None:
    kind, value = token.lastgroup, token[token.lastgroup or 0]
    if kind == "emoji":
        return f":{value}:"
    if kind == "command":
        return f"/{value}"
    if kind == "user":
        users = (user for user in message.mentions if user.id == int(value))
        return next(
            (f"@{recent_members.known(u, message.guild).display_name}" for u in users), None
        )
    if message.guild is None:
        return None
    if kind == "role":
        role = message.guild.get_role(int(value))
        return None if role is None else f"@{plain_words(role.name)}"
    place = message.guild.get_channel_or_thread(int(value))
    seen = place is not None and (place == message.channel or may_see(place, viewer))
    return f"#{plain_words(place.name)}" if seen and place is not None else HIDDEN_CHANNEL


def may_see(place: discord.abc.GuildChannel | discord.Thread, viewer: AnyUser | None) -> bool:
    """Return whether the viewer can see the channel. A non-member sees what @everyone sees."""
    whose = viewer if isinstance(viewer, discord.Member) else place.guild.default_role
    try:
        allowed = place.permissions_for(whose)
    except discord.ClientException:
        return False  # a thread whose parent we do not see
    private = isinstance(place, discord.Thread) and place.is_private()
    return allowed.view_channel and (allowed.manage_threads or not private)


def embed_text(embed: discord.Embed) -> str:
    fields = (f"{field.name}: {field.value}" for field in embed.fields)
    return "\n".join(part for part in (embed.title, embed.description, *fields) if part)


def attached(file: discord.Attachment) -> AttachedFile:
    mime = file.content_type or mimetypes.guess_type(file.filename)[0] or NO_MIME
    return AttachedFile(
        name=plain_words(file.filename),
        url=file.url,
        mime=mime.partition(";")[0].strip(),
        size=file.size,
        alt=file.description or "",
    )


def files_of(message: discord.Message) -> Iterator[discord.Attachment]:
    yield from message.attachments
    for snapshot in message.message_snapshots:
        yield from snapshot.attachments


def source_of(message: discord.Message) -> discord.Message:
    """Return the original of the empty message that starts a thread; any other unchanged."""
    if message.type is discord.MessageType.thread_starter_message and message.reference:
        known = message.reference.resolved
        if isinstance(known, discord.Message):
            return known
    return message
