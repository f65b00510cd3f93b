"""Registers the bot's commands with discord.py, decides which process runs one, handles errors."""

from __future__ import annotations

from typing import Any

import discord
from discord import app_commands

from oshaberi.bot.commands.answers import (
    CommandTranslator,
    overlong_option,
    speak_to_user,
    tell,
    tell_error,
)
from oshaberi.bot.commands.command_context import Interaction
from oshaberi.bot.turns.admission.questions import Claim


class BotCommandTree(app_commands.CommandTree[Any]):
    """The bot's commands, with one error handler. Of several processes, one runs a command."""

    def __init__(self, client: discord.Client, claim: Claim | None = None) -> None:
        super().__init__(client)
        self._claim = claim

    async def interaction_check(self, interaction: Interaction, /) -> bool:
        speak_to_user(interaction)
        overlong = overlong_option(interaction)
        if overlong is not None:
            if interaction.type is discord.InteractionType.application_command:
                await tell(interaction, overlong)
            return False
        return self._claim is None or await self._claim(interaction.id)

    async def on_error(
        self, interaction: Interaction, error: app_commands.AppCommandError, /
    ) -> None:
        await tell_error(interaction, error)

    async def sync(
        self, *, guild: discord.abc.Snowflake | None = None
    ) -> list[app_commands.AppCommand]:
        """Register the commands with Discord, described in every language."""
        await self.set_translator(CommandTranslator())
        return await super().sync(guild=guild)
