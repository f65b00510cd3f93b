"""`/new`, `/talk` and `/branch`: where a conversation begins, and threads for it."""

from __future__ import annotations

import re

import discord
from discord import app_commands

from oshaberi.bot.bot_context import BotContext
from oshaberi.bot.commands.answers import answer
from oshaberi.bot.commands.command_context import (
    Command,
    CommandRefusedError,
    CommandUser,
    Interaction,
    asker_of,
    client_of,
    context_here,
    context_of,
)
from oshaberi.bot.storage.records import TalkStart
from oshaberi.bot.turns.admission.rules import unlisted
from oshaberi.bot.turns.control_reply import BUSY, NOT_LISTED
from oshaberi.bot.turns.own_threads import SHORTER_NAME, name_of_question
from oshaberi.languages import translatable, translated

_LINK = re.compile(r"(?:https://\S{1,60}/channels/(?:\d{1,20}|@me)/(\d{1,20})/)?(\d{1,20})")
NOT_THEIRS = translatable(
    "Others talk here, too: only members with Manage Messages, or whoever this thread was opened "
    "for, can let me begin afresh."
)
FRESH = translatable(
    "From here on I read nothing that was said before. It stays for all of you, and so do the "
    "facts that I keep (`/memory`)."
)
NO_THREADS = translatable(
    "I open no threads here. Somebody who manages the server can allow it: `/config set "
    "own_threads request`."
)
TOO_MANY = translatable(
    "I have opened as many threads for you as I may within an hour (own_threads_per_hour)."
)
NOT_ALLOWED = translatable(
    "You need the permissions Create Public Threads and Send Messages in Threads for that."
)
ONLY_TEXT_CHANNELS = translatable("Threads can only be begun in text channels.")
NOT_OPENED = translatable("Discord did not let me open a thread here.")
NO_MESSAGE = translatable("I cannot find that message in this channel.")
UNREADABLE = translatable("You may not read the history of this channel.")
FROM_PRIVATE = translatable("This thread is private: a branch of it would be open to everybody.")
OPENED = translatable("Here it is: <#{thread_id}>")
BRANCHED = translatable("Here it is: <#{thread_id}>. It goes on from {link}")


# -- afresh --------------------------------------------------------------------------------------


async def begin_afresh(
    context: BotContext, asker: CommandUser, channel: object, after_id: int
) -> str:
    """Let the conversation of a channel begin after this id."""
    asker.must_write()
    if not await _is_theirs(context, asker, channel):
        raise CommandRefusedError(translated(NOT_THEIRS))
    if context.channel_turns.is_busy(asker.channel_id):
        raise CommandRefusedError(translated(BUSY.text))
    await context.db.talks.begin_afresh(asker.server_id, asker.channel_id, after_id)
    return translated(FRESH)


async def _is_theirs(context: BotContext, asker: CommandUser, channel: object) -> bool:
    """Return whether somebody may restart the conversation of a channel."""
    if asker.server_id == 0 or asker.person.can_manage_messages:
        return True
    if not isinstance(channel, discord.Thread):
        return False
    known = await context.db.talks.thread(channel.id)
    return asker.person.id in (channel.owner_id, None if known is None else known.user_id)


@app_commands.command(description="Start over here: nothing said before is read any more")
async def new(interaction: Interaction) -> None:
    work = begin_afresh(
        context_of(interaction), asker_of(interaction), interaction.channel, interaction.id
    )
    await answer(interaction, work)


# -- threads -------------------------------------------------------------------------------------


async def offers_threads(context: BotContext, asker: CommandUser) -> bool:
    """Return whether somebody can ask for threads in a channel."""
    if asker.server_id == 0:
        return False
    return (await context.services.settings(asker.path)).turn.own_threads != "off"


async def open_talk(interaction: Interaction, topic: str) -> str:
    thread_id = await _open(interaction, name_of_question(topic), TalkStart())
    return translated(OPENED, thread_id=thread_id)


async def branch_from(interaction: Interaction, message_id: int | None) -> str:
    """Open a thread that begins with the history of this channel up to a message."""
    context, asker, place = context_here(interaction)
    if not await offers_threads(context, asker):
        raise CommandRefusedError(translated(NO_THREADS))
    if not asker.person.can_read_history:
        raise CommandRefusedError(translated(UNREADABLE))
    channel = interaction.channel
    if isinstance(channel, discord.Thread) and channel.is_private():
        raise CommandRefusedError(translated(FROM_PRIVATE))
    message = await place.message(message_id or place.newest_message_id or 0)
    if message is None:
        raise CommandRefusedError(translated(NO_MESSAGE))
    known = await context.db.talks.start_of(place.channel_id)
    after_id = known.after_id if known.after_id < message.id else 0
    start = TalkStart(0, place.channel_id, after_id, message.id)
    thread_id = await _open(interaction, name_of_question(message.content), start)
    return translated(BRANCHED, thread_id=thread_id, link=message.jump_url)


async def _open(interaction: Interaction, name: str, start: TalkStart) -> int:
    """Open a thread for the user of a command, and return its id."""
    context, asker = context_of(interaction), asker_of(interaction)
    config = (await context.services.settings(asker.path)).turn
    if asker.server_id == 0 or config.own_threads == "off":
        raise CommandRefusedError(translated(NO_THREADS))
    if unlisted(asker.person, asker.path, config):
        raise CommandRefusedError(translated(NOT_LISTED.text))
    allowed = interaction.permissions
    may_open = allowed.create_public_threads and allowed.send_messages_in_threads
    if not may_open and not allowed.administrator:
        raise CommandRefusedError(translated(NOT_ALLOWED))
    place = interaction.channel
    parent = place.parent if isinstance(place, discord.Thread) else place
    if not isinstance(parent, discord.TextChannel):
        raise CommandRefusedError(translated(ONLY_TEXT_CHANNELS))
    threads, user_id = context.channel_turns.own_threads, asker.person.id
    async with threads.opening(asker.server_id, user_id):
        if await threads.is_too_many(asker.server_id, user_id, config):
            raise CommandRefusedError(translated(TOO_MANY))
        name = name or asker.person.name[:SHORTER_NAME]
        thread = await client_of(interaction).turn_channel(parent).open_thread(name, user_id)
        if thread is None:
            raise CommandRefusedError(translated(NOT_OPENED))
        await threads.note(thread, user_id, name, start, config)
    return thread.channel_id


@app_commands.command(description="Open a thread for a conversation with the bot")
@app_commands.describe(topic="What it is about: the name of the thread at first")
async def talk(interaction: Interaction, topic: app_commands.Range[str, 0, 60] = "") -> None:
    await answer(interaction, open_talk(interaction, topic))


@app_commands.command(description="Open a thread that goes on from a message of this channel")
@app_commands.describe(message="Its link or its id; the newest message if left out")
async def branch(interaction: Interaction, message: app_commands.Range[str, 0, 150] = "") -> None:
    message_id = _id_of(interaction, message.strip())
    await answer(interaction, branch_from(interaction, message_id))


def _id_of(interaction: Interaction, written: str) -> int | None:
    """Return the id in a link or a number; None without one."""
    if not written:
        return None
    found = _LINK.fullmatch(written)
    if found is None or (found[1] and int(found[1]) != interaction.channel_id):
        raise CommandRefusedError(translated(NO_MESSAGE))
    return int(found[2])


COMMANDS: tuple[Command, ...] = (new, talk, branch)
