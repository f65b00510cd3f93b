"""The menu of a message: take the turn back, try it again, continue it, ask why."""

from __future__ import annotations

import discord
from discord import app_commands

from oshaberi.bot.client.discord_turn_channel import DiscordTurnChannel
from oshaberi.bot.commands.command_answers import answer
from oshaberi.bot.commands.command_context import (
    CommandContext,
    CommandRefusedError,
    CommandUser,
    Interaction,
    asker_of,
    desk_of,
    room_of,
)
from oshaberi.bot.commands.turn_commands import continue_turn, regenerate_turn

UNKNOWN = "I do not remember this message. Choose one of my newer answers."
NOT_NEWEST = "Only my newest answer here can be changed. Choose that one."


async def delete_turn(
    desk: CommandContext, asker: CommandUser, room: DiscordTurnChannel, message_id: int
) -> str:
    return (await desk.conversations.delete(room, message_id, asker.person)).text


async def regenerate_message(
    desk: CommandContext, asker: CommandUser, room: DiscordTurnChannel, message_id: int
) -> str:
    await _must_be_newest(desk, asker, message_id)
    return await regenerate_turn(desk, asker, room)


async def continue_message(
    desk: CommandContext, asker: CommandUser, room: DiscordTurnChannel, message_id: int
) -> str:
    await _must_be_newest(desk, asker, message_id)
    return await continue_turn(desk, asker, room)


async def why_turn(desk: CommandContext, message_id: int) -> str:
    """Of an answer, or of a message: why it was answered or not."""
    return await desk.conversations.why(message_id) or UNKNOWN


async def _must_be_newest(desk: CommandContext, asker: CommandUser, message_id: int) -> None:
    """An answer in the middle of a conversation cannot be told anew."""
    turn = await desk.db.turns.of_message(message_id)
    if turn is None or turn.channel_id != asker.channel_id:
        raise CommandRefusedError(UNKNOWN)
    last = await desk.db.turns.last(turn.channel_id)
    if last is None or last.first_id != turn.first_id:
        raise CommandRefusedError(NOT_NEWEST)


@app_commands.context_menu(name="Delete this turn")
async def delete(interaction: Interaction, message: discord.Message) -> None:
    desk, asker, room = desk_of(interaction), asker_of(interaction), room_of(interaction)
    await answer(interaction, delete_turn(desk, asker, room, message.id))


@app_commands.context_menu(name="Regenerate")
async def regenerate(interaction: Interaction, message: discord.Message) -> None:
    desk, asker, room = desk_of(interaction), asker_of(interaction), room_of(interaction)
    await answer(interaction, regenerate_message(desk, asker, room, message.id))


@app_commands.context_menu(name="Continue from here")
async def continue_(interaction: Interaction, message: discord.Message) -> None:
    desk, asker, room = desk_of(interaction), asker_of(interaction), room_of(interaction)
    await answer(interaction, continue_message(desk, asker, room, message.id))


@app_commands.context_menu(name="Why this turn")
async def why(interaction: Interaction, message: discord.Message) -> None:
    await answer(interaction, why_turn(desk_of(interaction), message.id))


COMMANDS = (delete, regenerate, continue_, why)
