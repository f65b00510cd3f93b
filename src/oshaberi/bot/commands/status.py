"""`/status`: how far Discord is, what waits, how the models are, what they used."""

from __future__ import annotations

import math
from collections.abc import Sequence

import discord
from discord import app_commands

from oshaberi.bot.commands.answers import answer, plain
from oshaberi.bot.commands.desk import (
    Asker,
    Command,
    Desk,
    Interaction,
    asker_of,
    client_of,
    desk_of,
)
from oshaberi.bot.commands.models import chain_of, name_of
from oshaberi.providers.presets import PRESETS
from oshaberi.storage.records import KeyRecord, ModelRecord, UsageRecord

NO_MODEL = "No model is set: `/help` says what to do first."


async def status_of(desk: Desk, asker: Asker, latency_s: float) -> str:
    chain = await chain_of(desk, asker.server_id)
    health = [await _health(desk, asker.server_id, model) for model in chain]
    usage = await desk.db.usage.of(asker.server_id)
    lines = [_latency(latency_s), _queue(desk), "Models:" if health else NO_MODEL]
    lines += [f"- {line}" for line in health]
    if usage:
        lines += ["Used here:", *(f"- {_used(entry)}" for entry in usage)]
    return "\n".join(lines)


def _latency(seconds: float) -> str:
    if not math.isfinite(seconds):
        return "Discord has not answered a heartbeat yet."
    return f"Discord answers in {seconds * 1000:.0f} ms."


def _queue(desk: Desk) -> str:
    talks = desk.conversations
    return f"{talks.running()} answers under way, {talks.waiting()} messages waiting."


async def _health(desk: Desk, server_id: int, model: ModelRecord) -> str:
    stored = await desk.db.keys.of(server_id, model.provider)
    given = sum(len(link.keys) for link in desk.services.models if link.model == model)
    return f"{name_of(model)}: {_keys(desk, model, stored, given)}"


def _keys(desk: Desk, model: ModelRecord, stored: Sequence[KeyRecord], given: int) -> str:
    preset = PRESETS.get(model.provider)
    if preset is None or not preset.needs_key:
        return "ready, needs no key"
    now = desk.services.clock()
    ends = [key.rest_until for key in stored if key.rest_until and key.rest_until > now]
    count = len(stored) + given
    if count == 0:
        return "has no key (`/model key add`)"
    if len(ends) == count:
        return f"all keys rest until {discord.utils.format_dt(min(ends), 't')}"
    resting = f", {len(ends)} of them resting" if ends else ""
    return f"ready, {count} {'key' if count == 1 else 'keys'}{resting}"


def _used(entry: UsageRecord) -> str:
    name = plain(f"{entry.provider}/{entry.model}")
    tokens = f"{entry.input_tokens:,} tokens read, {entry.output_tokens:,} written"
    return f"{name}: {entry.requests:,} requests, {tokens}"


@app_commands.command(description="Latency, queue, models and what they used")
async def status(interaction: Interaction) -> None:
    latency_s = client_of(interaction).latency
    await answer(interaction, status_of(desk_of(interaction), asker_of(interaction), latency_s))


COMMANDS: tuple[Command, ...] = (status,)
