"""`/help`: the first steps, and all commands."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import discord
from discord import app_commands

from oshaberi.bot.bot_context import BotContext
from oshaberi.bot.commands.answers import answer, plain
from oshaberi.bot.commands.command_context import (
    Command,
    CommandUser,
    Interaction,
    asker_of,
    client_of,
    context_of,
)
from oshaberi.bot.commands.models.model_commands import chain_of
from oshaberi.bot.commands.personas.persona_changes import personas_of
from oshaberi.languages import translated

Listed = app_commands.Command[Any, ..., Any] | app_commands.Group


async def help_text(context: BotContext, asker: CommandUser, registered: Iterable[Listed]) -> str:
    chain = await chain_of(context, asker)
    personas = await personas_of(context, asker.server_id)
    first = _talking([persona.name for persona in personas], asker) if chain else _setting_up(asker)
    return translated(
        "{first}\n\n{listed}\nRight-click an answer of mine, then Apps: delete it, or ask why.",
        first=first,
        listed=list_commands(registered),
    )


def list_commands(registered: Iterable[Listed]) -> str:
    """Return everybody's commands, each with its description; those for managers on one line."""
    shown = [one for one in registered if one is not help_]
    rows = [
        f"- `/{one.name}`: {translated(one.description)}"
        for one in shown
        if one.default_permissions is None
    ]
    managing = [f"`/{one.name}`" for one in shown if one.default_permissions is not None]
    change = translated("change my settings here (Manage Server)")
    return "\n".join([*rows, f"- {', '.join(managing)}: {change}"])


def _setting_up(asker: CommandUser) -> str:
    if not asker.may_manage:
        return translated("No model is set yet. Ask somebody with Manage Server to run `/help`.")
    return translated(
        "**First** give me a key of a model's provider: `/model key add` (nobody else "
        "sees it).\n**Then** choose the model: `/model set`.\n**Then** mention me and "
        "say hello. `/persona create` gives me a character."
    )


def _talking(names: list[str], asker: CommandUser) -> str:
    called = ", ".join(plain(name) for name in names)
    if asker.server_id == 0:
        return translated("**Just write to me.** Here I am: {called}.", called=called)
    return translated(
        "**Mention me, or reply to me, and I answer.** Here I am: {called}.", called=called
    )


@app_commands.command(name="help", description="Show what to do first, and all commands")
async def help_(interaction: Interaction) -> None:
    registered = client_of(interaction).tree.get_commands(type=discord.AppCommandType.chat_input)
    await answer(interaction, help_text(context_of(interaction), asker_of(interaction), registered))


COMMANDS: tuple[Command, ...] = (help_,)
