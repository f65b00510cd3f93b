"""`/status`: latency, waiting messages, the models' health and usage."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby

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
from oshaberi.bot.commands.config_answers import settings_in
from oshaberi.bot.commands.models.model_commands import name_of
from oshaberi.bot.commands.usage_command import format_requests_and_tokens
from oshaberi.bot.config import DECLARED
from oshaberi.bot.conversation.messages import TurnChannel
from oshaberi.bot.storage.records import ConversationSummary, ModelRecord, UsageRecord
from oshaberi.bot.turns.services.model_access import ModelCandidate, place_of_model
from oshaberi.discord_io.requests.parameters import shortened
from oshaberi.languages import translatable, translated, translated_count

INSTRUCTION_SHOWN = 300
NO_MODEL = translatable("No model is set. `/help` says what to do first.")


async def status_of(context: BotContext, asker: CommandUser, latency_s: float) -> str:
    candidates = await context.services.models.chain(asker.path, asker.person.id)
    chain = groupby(candidates, lambda one: one.model)
    health = [
        f"{name_of(model)}: {_keys(context, list(tries))}{_refused(context, asker, model)}"
        for model, tries in chain
    ]
    # Only the operator sees how much all direct messages used together.
    hidden = asker.server_id == 0 and not asker.is_owner
    usage = () if hidden else await context.db.usage.of(asker.server_id)
    lines = [
        _latency(latency_s),
        _queue(context, asker),
        translated("Models:") if health else translated(NO_MODEL),
    ]
    lines += [f"- {line}" for line in health]
    instruction = await _instruction(context, asker)
    if instruction:
        lines.append(instruction)
    summary = await context.db.summaries.of(asker.channel_id)
    if summary is not None:
        lines.append(_summary_note(summary))
    if usage:
        lines += [translated("Used here:"), *(f"- {_usage(entry)}" for entry in usage)]
    return "\n".join(lines)


async def _instruction(context: BotContext, asker: CommandUser) -> str:
    """Show the channel's instruction to the model and where it was set, to admins only."""
    if not asker.may_manage:
        return ""
    here = await settings_in(context.db, context.settings(), asker.path)
    text = here.now.turn.channel_instruction
    if not text:
        return ""
    return translated(
        "Instruction here (from {origin}): {text}",
        origin=here.origin_of(DECLARED["channel_instruction"], context.settings()),
        text=plain(shortened(text, INSTRUCTION_SHOWN)),
    )


def _latency(seconds: float) -> str:
    if not math.isfinite(seconds):
        return translated("Discord has not answered a heartbeat yet.")
    return translated("Discord answers in {ms:.0f} ms.", ms=seconds * 1000)


def _queue(context: BotContext, asker: CommandUser) -> str:
    """Count the turns of this server or DM; the bot's owner sees those of all."""

    def is_here(turn_channel: TurnChannel) -> bool:
        if asker.is_owner:
            return True
        if asker.server_id == 0:
            return turn_channel.channel_id == asker.channel_id
        return turn_channel.server_id == asker.server_id

    talks = context.channel_turns
    running, waiting = talks.running(is_here), talks.waiting(is_here)
    return translated(
        "{running}, {waiting}.",
        running=translated_count("{count} answer under way", "{count} answers under way", running),
        waiting=translated_count("{count} message waiting", "{count} messages waiting", waiting),
    )


def _keys(context: BotContext, tries: Sequence[ModelCandidate]) -> str:
    """Describe the state of the keys that the next answer would try."""
    keys = [one.key for one in tries if one.key is not None]
    if not keys:
        lacking = any(one.lacks_key for one in tries)
        return (
            translated("has no key (`/model key add`)")
            if lacking
            else translated("ready, needs no key")
        )
    ends = [end for key in keys if (end := context.cooldown_end(key)) is not None]
    if len(ends) == len(keys):
        return translated(
            "all keys failed; paused until {ends}", ends=discord.utils.format_dt(min(ends), "t")
        )
    resting = translated(", {ends} of them paused", ends=len(ends)) if ends else ""
    ready = translated_count("ready, {count} key", "ready, {count} keys", len(keys))
    return f"{ready}{resting}"


def _refused(context: BotContext, asker: CommandUser, model: ModelRecord) -> str:
    """Describe what the model has refused, fields and tools; they are not sent for a day.

    Only the bot's owner sees what a private server said.
    """
    learned = context.services.models.adapters.learned
    lessons = learned.told(place_of_model(model), to_operator=asker.is_owner)
    return plain(f"; {'; '.join(lessons)}") if lessons else ""


def _summary_note(summary: ConversationSummary) -> str:
    """Say that older messages were summarised. `/memory forget channel` deletes the summary."""
    when = "" if summary.at is None else f", {discord.utils.format_dt(summary.at, 'R')}"
    return translated_count(
        "Summarised here: {count} earlier message{when}.",
        "Summarised here: {count} earlier messages{when}.",
        summary.messages,
        when=when,
    )


def _usage(entry: UsageRecord) -> str:
    name = plain(f"{entry.provider}/{entry.model}")
    return translated("{name}: {used}", name=name, used=format_requests_and_tokens(entry))


@app_commands.command(description="Show latency, queue, models and their usage")
async def status(interaction: Interaction) -> None:
    latency_s = client_of(interaction).latency
    await answer(interaction, status_of(context_of(interaction), asker_of(interaction), latency_s))


COMMANDS: tuple[Command, ...] = (status,)
