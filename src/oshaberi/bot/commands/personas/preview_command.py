"""`/persona preview`: what the model would read, part by part, with the tokens of each."""

from __future__ import annotations

import io
from collections.abc import Iterator

import discord
from discord import app_commands

from oshaberi.bot.bot_context import BotContext
from oshaberi.bot.client.turn_channel import DiscordTurnChannel
from oshaberi.bot.commands.answers import Choices, plain
from oshaberi.bot.commands.command_context import (
    Chosen,
    CommandUser,
    Interaction,
    asker_of,
    context_here,
    context_of,
)
from oshaberi.bot.commands.personas.persona_changes import persona_choices, persona_named
from oshaberi.bot.turns.running.preview import TAGS, RequestPreview, preview_request
from oshaberi.languages import translatable, translated, translated_count

WIDTH = 20
NAMES = {
    "system": translatable("the bot's rules"),
    "persona": translatable("the persona"),
    "sample": translatable("sample dialogue"),
    "memory": translatable("summary and memories"),
    "history": translatable("the conversation"),
    "knowledge": translatable("notes and lore"),
    "current": translatable("the question"),
}
TOOLS = translatable("the tools")


async def previewed(
    context: BotContext,
    asker: CommandUser,
    turn_channel: DiscordTurnChannel,
    name: str,
    question: str,
) -> RequestPreview:
    asker.must_manage()
    persona = await persona_named(context, asker.server_id, name)
    personas = await context.channel_turns.persona_cache.of(asker.server_id)
    services = context.services
    return await preview_request(
        services,
        await services.settings(turn_channel.path),
        turn_channel,
        personas,
        persona,
        asker.person,
        question,
    )


def shown_preview(name: str, found: RequestPreview) -> str:
    """Return the parts with their tokens, as bars of the window or of the whole."""
    whole = found.window or found.total
    parts = [(found.tokens(tag), NAMES[tag]) for tag in TAGS]
    lines = []
    for tokens, part in (*parts, (found.tool_tokens, TOOLS)):
        if tokens:
            bar = "█" * max(1, round(WIDTH * tokens / max(whole, 1)))
            lines.append(f"{tokens:>7,} {bar[:WIDTH]:<{WIDTH}} {translated(part)}")
    total = translated("**{name}** would read about {total} tokens", name=name, total=found.total)
    if found.window is not None:
        total += translated(" of {window}", window=f"{found.window:,}")
    table = "\n".join(lines)
    return "\n".join([f"{total}:", f"```\n{table}\n```", *_remarks(found)])


def _remarks(found: RequestPreview) -> Iterator[str]:
    if not found.model:
        yield translated("No model can be asked here now, so this is not fitted to a window.")
    if lost := len(found.fitted.left_out):
        yield translated_count(
            "There is no room for {count} older message.",
            "There is no room for {count} older messages.",
            lost,
        )
    if found.fitted.lost_tools:
        yield translated("There is no room for the tools.")


@app_commands.command(description="See what the model would read if you asked this now")
@app_commands.describe(name="Which persona", question="What you would ask")
async def preview(
    interaction: Interaction, name: Chosen, question: app_commands.Range[str, 1, 2000]
) -> None:
    context, asker, turn_channel = context_here(interaction)
    await interaction.response.defer(ephemeral=True, thinking=True)
    found = await previewed(context, asker, turn_channel, name, question)
    file = discord.File(io.BytesIO(found.text().encode("utf-8", "replace")), "request.txt")
    nobody = discord.AllowedMentions.none()
    words = shown_preview(plain(name), found)
    await interaction.followup.send(words, file=file, ephemeral=True, allowed_mentions=nobody)


@preview.autocomplete("name")
async def _names(interaction: Interaction, typed: str) -> Choices:
    return await persona_choices(context_of(interaction), asker_of(interaction).server_id, typed)
