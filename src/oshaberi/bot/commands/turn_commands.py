"""`/stop`, `/continue`, `/regenerate`, the context menu of a message, and *Try again*."""

from __future__ import annotations

import discord
from discord import app_commands

from oshaberi.bot.bot_context import BotContext
from oshaberi.bot.client.turn_channel import DiscordTurnChannel
from oshaberi.bot.commands.answers import answer, tell_error
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
from oshaberi.bot.turns.admission.rules import why_sentence
from oshaberi.bot.turns.context.character import lore_lines
from oshaberi.bot.turns.control_reply import UNKNOWN
from oshaberi.languages import translatable, translated, translated_count

# Commands that act on the running answer or the last one. `bot.turns.turn_control` carries them
# out and decides who may use them; `stream.stops` decides who may stop an answer.


async def stop_turn(context: BotContext, asker: CommandUser) -> str:
    by, place = asker.person, asker.channel_id
    reply = await context.channel_turns.stop_anywhere(place, by.id, by.can_manage_messages)
    return translated(reply.text)


async def continue_turn(
    context: BotContext, asker: CommandUser, turn_channel: DiscordTurnChannel
) -> str:
    asker.must_write()
    return translated((await context.channel_turns.continue_(turn_channel, asker.person)).text)


async def regenerate_turn(
    context: BotContext, asker: CommandUser, turn_channel: DiscordTurnChannel
) -> str:
    asker.must_write()
    return translated((await context.channel_turns.regenerate(turn_channel, asker.person)).text)


@app_commands.command(description="Stop the current answer in this channel")
async def stop(interaction: Interaction) -> None:
    await answer(interaction, stop_turn(context_of(interaction), asker_of(interaction)))


@app_commands.command(name="continue", description="Send the rest of an answer that was cut off")
async def continue_(interaction: Interaction) -> None:
    await answer(interaction, continue_turn(*context_here(interaction)))


@app_commands.command(description="Delete the last answer and answer again")
async def regenerate(interaction: Interaction) -> None:
    await answer(interaction, regenerate_turn(*context_here(interaction)))


TURN_COMMANDS: tuple[Command, ...] = (stop, continue_, regenerate)


# The context menu of a message (delete, regenerate, continue, why), and *Try again*.


FORGOTTEN = translatable(
    "I no longer know why this message was or was not answered. I remember that for the newest "
    "4000 messages since my last start, and for stored answers and their questions."
)


async def delete_turn(
    context: BotContext, asker: CommandUser, turn_channel: DiscordTurnChannel, message_id: int
) -> str:
    reply = await context.channel_turns.delete(turn_channel, message_id, asker.person)
    return translated(reply.text)


async def regenerate_message(
    context: BotContext, asker: CommandUser, turn_channel: DiscordTurnChannel, message_id: int
) -> str:
    asker.must_write()
    reply = await context.channel_turns.regenerate(turn_channel, asker.person, message_id)
    return translated(reply.text)


async def continue_message(
    context: BotContext, asker: CommandUser, turn_channel: DiscordTurnChannel, message_id: int
) -> str:
    asker.must_write()
    reply = await context.channel_turns.continue_(turn_channel, asker.person, message_id)
    return translated(reply.text)


async def why_turn(
    context: BotContext,
    asker: CommandUser,
    message_id: int,
    channel_id: int,
    *,
    is_private: bool = False,
    is_by_discord: bool = False,
) -> str:
    """Explain why the bot wrote this message, or why it did or did not answer it.

    Users can ask only about messages that Discord shows them. `is_private`: the author has opted
    out, so the bot knows nothing about the message. `is_by_discord`: Discord announced that
    somebody joined, a message was pinned, or the like.
    """
    known = await context.channel_turns.why(message_id, channel_id)
    unread = "private" if is_private else "system" if is_by_discord else None
    if known is None:
        return (why_sentence(unread) if unread else None) or translated(FORGOTTEN)
    return "\n".join([known, *await _lore_of(context, asker, message_id)])


async def _lore_of(context: BotContext, asker: CommandUser, message_id: int) -> list[str]:
    """Return the entries of lorebooks that the question woke, if this process answered it.

    Only those who may read the books see their titles and words: a secret may be among them.
    """
    woken = context.services.notes.woken_lore
    found = woken.get(message_id)
    if found is None and woken:
        turn = await context.db.turns.of_message(message_id)
        found = None if turn is None or turn.asked_id is None else woken.get(turn.asked_id)
    if found is not None and not asker.may_manage:
        count = len(found.woken)
        told = translated_count(
            "It woke {count} entry of lore.", "It woke {count} entries of lore.", count
        )
        return [told] if count else []
    lines = [] if found is None else lore_lines(found)
    return [translated("Lore that it woke:"), *lines] if lines else []


@app_commands.context_menu(name="Delete this turn")
async def delete(interaction: Interaction, message: discord.Message) -> None:
    await answer(interaction, delete_turn(*context_here(interaction), message.id))


@app_commands.context_menu(name="Regenerate")
async def regenerate_entry(interaction: Interaction, message: discord.Message) -> None:
    await answer(interaction, regenerate_message(*context_here(interaction), message.id))


@app_commands.context_menu(name="Continue from here")
async def continue_entry(interaction: Interaction, message: discord.Message) -> None:
    await answer(interaction, continue_message(*context_here(interaction), message.id))


@app_commands.context_menu(name="Why this turn")
async def why(interaction: Interaction, message: discord.Message) -> None:
    starter = discord.MessageType.thread_starter_message
    work = why_turn(
        context_of(interaction),
        asker_of(interaction),
        message.id,
        message.channel.id,
        is_private=client_of(interaction).reader.is_by_opted_out(message),
        is_by_discord=message.is_system() or message.type is starter,
    )
    await answer(interaction, work)


async def retry(interaction: Interaction) -> None:
    """The button under the notice of a failed answer."""
    try:
        message = interaction.message
        if message is None:
            raise CommandRefusedError(translated(UNKNOWN.text))
        await answer(interaction, regenerate_message(*context_here(interaction), message.id))
    except Exception as error:
        await tell_error(interaction, error)


MENU_COMMANDS = (delete, regenerate_entry, continue_entry, why)
