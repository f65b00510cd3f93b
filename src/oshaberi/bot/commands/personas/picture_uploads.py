"""Reads the pictures that a command got, as files or as an address, and keeps them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import unquote, urlsplit

import aiohttp
import discord

from oshaberi.bot.bot_context import BotContext
from oshaberi.bot.commands.answers import plain
from oshaberi.bot.commands.command_context import CommandRefusedError, CommandUser
from oshaberi.bot.commands.personas.persona_changes import (
    MOST_SPRITES,
    checked_sprite,
    checked_url,
    personas_of,
)
from oshaberi.bot.faces.kept_pictures import is_discords_own, picture_words
from oshaberi.bot.faces.pictures import LARGEST_BYTES, PictureRefusedError
from oshaberi.bot.storage.records import PersonaRecord
from oshaberi.languages import said, translated

MOST_UPLOADS = 10
"""The most files that a form of Discord accepts."""
_UNREADABLE = (discord.HTTPException, aiohttp.ClientError, OSError, TimeoutError)


async def uploaded_file(file: discord.Attachment, most_bytes: int = LARGEST_BYTES) -> bytes:
    """Download an upload at once: its URL is temporary. Raises CommandRefusedError."""
    if file.size > most_bytes:
        most = most_bytes // (1024 * 1024)
        raise CommandRefusedError(
            translated(
                "{name} is larger than {most} MB.", name=plain(file.filename[:100]), most=most
            )
        )
    try:
        return await file.read()
    except _UNREADABLE:
        raise CommandRefusedError(
            translated("Discord did not hand over the file. Send it again.")
        ) from None


def name_of_file(file_name: str) -> str:
    """Return the name that a file gives to a sprite: `very_happy.png` is `very happy`."""
    stem = file_name.rpartition("/")[2].rpartition(".")[0] or file_name
    for sign in "_()":
        stem = stem.replace(sign, " ")
    return " ".join(stem.split())


def name_of_address(url: str) -> str:
    return name_of_file(unquote(urlsplit(url).path))


async def kept_picture(
    context: BotContext,
    asker: CommandUser,
    source: discord.Attachment | str,
    whose: str,
    name: str = "",
) -> str:
    """Keep one picture, uploaded or at an address, and return its address here."""
    if isinstance(source, str):
        address = checked_url(source)
        if is_discords_own(address):
            return address
        raw = await context.faces.fetch(address)
    else:
        raw = await uploaded_file(source)
    words = picture_words(whose, name)
    return await context.faces.keep(asker.server_id, asker.channel_id, raw, words)


async def kept_pictures(
    context: BotContext, asker: CommandUser, files: Mapping[str, bytes], persona: PersonaRecord
) -> tuple[Mapping[str, str], list[str]]:
    """Keep the pictures of several sprites by name.

    Return their addresses, and a line for each that is left out.
    """
    named, left_out = usable_sprites(files, persona)
    kept = await context.faces.keep_all(asker.server_id, asker.channel_id, named, persona.name)
    left_out += [left_out_line(name, said(reason)) for name, reason in kept.refused.items()]
    if named and not kept.addresses:
        raise PictureRefusedError(next(iter(kept.refused.values())))
    return kept.addresses, left_out


def usable_sprites(
    files: Mapping[str, bytes], persona: PersonaRecord
) -> tuple[dict[str, bytes], list[str]]:
    """Return the pictures that can become sprites, and a line for each that cannot."""
    named: dict[str, bytes] = {}
    left_out: list[str] = []
    taken = {one.name.casefold() for one in persona.sprites}
    for name, raw in files.items():
        try:
            checked = checked_sprite(name)
        except CommandRefusedError as refusal:
            left_out.append(left_out_line(name, str(refusal.args[0])))
            continue
        if len(taken | {checked.casefold()}) > MOST_SPRITES:
            reason = translated("there is no room for more sprites")
            left_out.append(left_out_line(name, reason))
            continue
        taken.add(checked.casefold())
        named[checked] = raw
    return named, left_out


def left_out_line(name: str, reason: str) -> str:
    return f"- {plain(name[:40])}: {reason}"


def listed_left_out(lines: Sequence[str]) -> str:
    """Return the lines about omissions that go under an answer."""
    if not lines:
        return ""
    return "\n" + translated("Left out:") + "\n" + "\n".join(lines[:20])


async def drop_unused(context: BotContext, server_id: int) -> None:
    """Delete the pictures of a server that nothing refers to any more."""
    personas = await personas_of(context, server_id)
    own = await context.db.own_faces.get(server_id)
    used: list[str | None] = [own.banner] if own is not None else []
    used += [one.avatar_url for one in personas]
    used += [sprite.avatar_url for one in personas for sprite in one.sprites]
    await context.faces.drop_unused(server_id, used)
