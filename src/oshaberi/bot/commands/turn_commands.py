"""`/stop`, `/continue` and `/regenerate`: the answer under way, or the last one."""

from __future__ import annotations

from discord import app_commands

from oshaberi.bot.client.discord_turn_channel import DiscordTurnChannel
from oshaberi.bot.commands.command_answers import answer
from oshaberi.bot.commands.command_context import (
    Command,
    CommandContext,
    CommandUser,
    Interaction,
    asker_of,
    desk_of,
    room_of,
)


async def stop_turn(desk: CommandContext, asker: CommandUser) -> str:
    by, place = asker.person, asker.channel_id
    reply = await desk.conversations.stop_anywhere(place, by.id, by.can_manage_messages)
    return reply.text


async def continue_turn(desk: CommandContext, asker: CommandUser, room: DiscordTurnChannel) -> str:
    return (await desk.conversations.continue_(room, asker.person)).text


async def regenerate_turn(
    desk: CommandContext, asker: CommandUser, room: DiscordTurnChannel
) -> str:
    return (await desk.conversations.regenerate(room, asker.person)).text


@app_commands.command(description="Stop the answer under way in this channel")
async def stop(interaction: Interaction) -> None:
    await answer(interaction, stop_turn(desk_of(interaction), asker_of(interaction)))


@app_commands.command(name="continue", description="Send the rest of an answer that was cut off")
async def continue_(interaction: Interaction) -> None:
    work = continue_turn(desk_of(interaction), asker_of(interaction), room_of(interaction))
    await answer(interaction, work)


@app_commands.command(description="Take the last answer back and try again")
async def regenerate(interaction: Interaction) -> None:
    work = regenerate_turn(desk_of(interaction), asker_of(interaction), room_of(interaction))
    await answer(interaction, work)


COMMANDS: tuple[Command, ...] = (stop, continue_, regenerate)
