"""`/help`: the first steps, and all commands."""

from __future__ import annotations

from discord import app_commands

from oshaberi.bot.bot_context import BotContext
from oshaberi.bot.commands.answers import answer, plain
from oshaberi.bot.commands.command_context import (
    Command,
    CommandUser,
    Interaction,
    asker_of,
    context_of,
)
from oshaberi.bot.commands.models.model_commands import chain_of
from oshaberi.bot.commands.personas.persona_changes import personas_of
from oshaberi.languages import translatable, translated

LISTED = (
    ("/stop", translatable("stops the current answer")),
    ("/continue", translatable("sends the rest of an answer that was cut off")),
    ("/regenerate", translatable("deletes the last answer and answers again")),
    ("/memory", translatable("shows and deletes what I remember")),
    ("/privacy", translatable("shows, exports and deletes what is stored about you")),
    ("/status", translatable("shows whether the models work")),
    ("/usage", translatable("shows what you used, and what is left today")),
    (
        "/config, /model, /persona, /sprite",
        translatable("change my settings here (Manage Server)"),
    ),
)


async def help_text(context: BotContext, asker: CommandUser) -> str:
    chain = await chain_of(context, asker)
    personas = await personas_of(context, asker.server_id)
    first = _talking([persona.name for persona in personas], asker) if chain else _setting_up(asker)
    listed = "\n".join(f"- `{name}` {translated(what)}" for name, what in LISTED)
    return translated(
        "{first}\n\n{listed}\nRight-click an answer of mine, then Apps: delete it, or ask why.",
        first=first,
        listed=listed,
    )


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
    await answer(interaction, help_text(context_of(interaction), asker_of(interaction)))


COMMANDS: tuple[Command, ...] = (help_,)
