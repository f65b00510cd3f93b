"""Reads from a guild what the text engine needs: emoji, people, the bot's own name."""

from __future__ import annotations

from collections.abc import Iterable

import discord

from oshaberi.text.text_config import Known


def emojis_of(guild: discord.Guild | None) -> tuple[str, ...]:
    """Return the guild's emoji that the bot can use, in message syntax. A DM has none."""
    if guild is None:
        return ()
    return tuple(str(emoji) for emoji in guild.emojis if emoji.is_usable())


def known_people(
    people: Iterable[discord.Member | discord.User], me: discord.abc.User | None = None
) -> tuple[Known, ...]:
    """Return the people of a conversation, without duplicates and without the bot."""
    found: dict[int, Known] = {}
    for person in people:
        if me is None or person.id != me.id:
            found.setdefault(person.id, _known(person))
    return tuple(found.values())


def bot_name(channel: discord.abc.MessageableChannel, client: discord.Client) -> str | None:
    """Return the name that the bot's own messages show in this channel."""
    guild = getattr(channel, "guild", None)
    me = client.user if guild is None else guild.me or client.user
    return None if me is None else me.display_name


def _known(person: discord.Member | discord.User) -> Known:
    names = (person.display_name, getattr(person, "nick", None), person.global_name, person.name)
    unique = list(dict.fromkeys(name for name in names if name))
    return Known(
        name=unique[0],
        kind="user",
        id=str(person.id),
        aliases=tuple(unique[1:]),
        avatar_url=person.display_avatar.url,
    )
