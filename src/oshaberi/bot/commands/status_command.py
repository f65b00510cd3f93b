"""`/status`: how far Discord is, what waits, how the models are, what they used."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby

import discord
from discord import app_commands

from oshaberi.bot.commands.command_answers import answer, plain
from oshaberi.bot.commands.command_context import (
    Command,
    CommandContext,
    CommandUser,
    Interaction,
    asker_of,
    client_of,
    context_of,
)
from oshaberi.bot.commands.model_commands import name_of
from oshaberi.providers.provider_presets import PRESETS
from oshaberi.storage.stored_records import ModelRecord, UsageRecord
from oshaberi.turns.generation.model_chain import ModelCandidate, chain_of

NO_MODEL = "No model is set. `/help` says what to do first."


async def status_of(context: CommandContext, asker: CommandUser, latency_s: float) -> str:
    chain = groupby(await chain_of(context.services, asker.server_id), lambda one: one.model)
    health = [f"{name_of(model)}: {_keys(context, model, list(tries))}" for model, tries in chain]
    usage = await context.db.usage.of(asker.server_id)
    lines = [_latency(latency_s), _queue(context), "Models:" if health else NO_MODEL]
    lines += [f"- {line}" for line in health]
    if usage:
        lines += ["Used here:", *(f"- {_used(entry)}" for entry in usage)]
    return "\n".join(lines)


def _latency(seconds: float) -> str:
    if not math.isfinite(seconds):
        return "Discord has not answered a heartbeat yet."
    return f"Discord answers in {seconds * 1000:.0f} ms."


def _queue(context: CommandContext) -> str:
    talks = context.channel_turns
    return f"{talks.running()} answers under way, {talks.waiting()} messages waiting."


def _keys(context: CommandContext, model: ModelRecord, tries: Sequence[ModelCandidate]) -> str:
    """How those keys are that would be tried for the next answer."""
    services = context.services
    keys = [one.key for one in tries if one.key is not None]
    if not keys:
        preset = PRESETS.get(model.provider)
        needed = preset is not None and preset.needs_key and model.base_url is None
        return "has no key (`/model key add`)" if needed else "ready, needs no key"
    now = services.clock()
    ends = [end for key in keys if (end := services.cooldowns.until(key, now)) is not None]
    if len(ends) == len(keys):
        return f"all keys failed; paused until {discord.utils.format_dt(min(ends), 't')}"
    resting = f", {len(ends)} of them paused" if ends else ""
    return f"ready, {len(keys)} {'key' if len(keys) == 1 else 'keys'}{resting}"


def _used(entry: UsageRecord) -> str:
    name = plain(f"{entry.provider}/{entry.model}")
    tokens = f"{entry.input_tokens:,} tokens read, {entry.output_tokens:,} written"
    return f"{name}: {entry.requests:,} requests, {tokens}"


@app_commands.command(description="Show latency, queue, models and their usage")
async def status(interaction: Interaction) -> None:
    latency_s = client_of(interaction).latency
    await answer(interaction, status_of(context_of(interaction), asker_of(interaction), latency_s))


COMMANDS: tuple[Command, ...] = (status,)
