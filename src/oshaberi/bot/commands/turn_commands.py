"""`/stop`, `/continue` and `/regenerate`: act on the running answer or the last one.

`turns.turn_control` carries them out and decides who may use them; `stream.stops.stop_registry`
decides who may stop an answer.
"""

from __future__ import annotations

from discord import app_commands

from oshaberi.bot.bot_context import BotContext
from oshaberi.bot.client.discord_turn_channel import DiscordTurnChannel
from oshaberi.bot.commands.command_answers import answer
from oshaberi.bot.commands.command_context import (
    Command,
    CommandUser,
    Interaction,
    asked_here,
    asker_of,
    context_of,
)
from oshaberi.languages import translated


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
    await answer(interaction, continue_turn(*asked_here(interaction)))


@app_commands.command(description="Delete the last answer and answer again")
async def regenerate(interaction: Interaction) -> None:
    await answer(interaction, regenerate_turn(*asked_here(interaction)))


COMMANDS: tuple[Command, ...] = (stop, continue_, regenerate)
