"""`/channel`: what an admin tells the model in one channel."""

from __future__ import annotations

import discord
from discord import app_commands

from oshaberi.bot.bot_context import BotContext
from oshaberi.bot.commands.answers import CommandForm, plain
from oshaberi.bot.commands.command_context import (
    MANAGER,
    CommandRefusedError,
    CommandUser,
    Interaction,
    PlaceOption,
    Where,
    check_places,
    context_in,
)
from oshaberi.bot.config.server_settings import check_limit
from oshaberi.bot.conversation.messages import ChannelPath
from oshaberi.bot.conversation.turn_config import LONGEST_INSTRUCTION
from oshaberi.discord_io.requests.parameters import shortened
from oshaberi.languages import translated

INSTRUCTION = "channel_instruction"
"""The setting, so that channels inherit an instruction like any other value."""
MOST_SHOWN = 300


async def instruction_form(context: BotContext, asker: CommandUser, where: Where) -> CommandForm:
    """Return the form with the instruction that was set for exactly this place."""
    asker.must_manage()
    if asker.server_id == 0:
        raise CommandRefusedError(
            translated(
                "There are no channels in direct messages. `/config set channel_instruction` is "
                "for all of them."
            )
        )
    place = where or asker.path
    own = await context.db.servers.config(place.server_id, place.channel_id)

    async def take(sender: CommandUser, values: dict[str, str]) -> str:
        sender.must_manage()
        return await set_instruction(context, place, values["text"])

    field: discord.ui.TextInput[CommandForm] = discord.ui.TextInput(
        label=translated("What the model is told; empty: as above"),
        custom_id="text",
        style=discord.TextStyle.paragraph,
        max_length=LONGEST_INSTRUCTION,
        default=str(own.get(INSTRUCTION, ""))[:LONGEST_INSTRUCTION] or None,
        required=False,
    )
    return CommandForm(translated("Instruction of this channel"), (field,), take)


async def set_instruction(context: BotContext, place: ChannelPath, text: str) -> str:
    """Store the instruction of one place; without a text, the one above applies again."""
    servers = context.db.servers
    if not text:
        await servers.reset_config(place.server_id, INSTRUCTION, place.channel_id)
        return translated(
            "<#{channel_id}> has no instruction of its own any more.", channel_id=place.channel_id
        )
    check_limit(context.settings(), INSTRUCTION, text)
    check_places((await servers.settings(place.server_id)).channels, place)
    await servers.set_config(place.server_id, INSTRUCTION, text, place.channel_id)
    return translated(
        "The model follows this in <#{channel_id}>, from the next answer on:\n{text}",
        channel_id=place.channel_id,
        text=plain(shortened(text, MOST_SHOWN)),
    )


channel = app_commands.Group(
    name="channel", description="What is special in one channel", default_permissions=MANAGER
)


@channel.command(description="Tell the model what to do in one channel, besides its persona")
@app_commands.rename(place="in")
@app_commands.describe(place="This channel, thread or category; where you are if left out")
async def instruction(interaction: Interaction, place: PlaceOption | None = None) -> None:
    form = await instruction_form(*context_in(interaction, place))
    await interaction.response.send_modal(form)


COMMANDS = (channel,)
