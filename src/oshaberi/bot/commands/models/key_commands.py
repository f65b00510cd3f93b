"""`/model key`: API keys.

Users type a key into a form, so that it never appears in a channel. The bot shows only its last
letters.
"""

from __future__ import annotations

from typing import Any

import discord
from discord import app_commands

from oshaberi.bot.bot_context import BotContext
from oshaberi.bot.commands.answers import (
    Choices,
    CommandForm,
    answer,
    choices,
    number_in,
    plain,
)
from oshaberi.bot.commands.command_context import (
    Chosen,
    CommandRefusedError,
    CommandUser,
    Interaction,
    asker_of,
    context_of,
)
from oshaberi.bot.commands.models.model_commands import (
    checked_provider,
    model,
    provider_choices,
    provider_names,
)
from oshaberi.bot.storage.records import KeyRecord
from oshaberi.languages import translated

KEY_LIMIT = 500
LABEL_LIMIT = 50
MOST_KEYS = 10
SHOWN_LETTERS = 4
SHORTEST_SHOWN = 16


async def add_key(
    context: BotContext, asker: CommandUser, provider: str, secret: str, label: str
) -> str:
    asker.must_manage()
    provider = checked_provider(provider)
    secret = secret.strip()
    if not (secret.isascii() and secret.isprintable()) or " " in secret or not secret:
        raise CommandRefusedError(
            translated("This is not an API key. Copy it again, without spaces.")
        )
    own = await keys_of(context, asker, provider)
    if any(key.secret == secret for key in own):
        raise CommandRefusedError(
            translated("This key is already stored; `/model key list` shows all.")
        )
    if len(own) >= MOST_KEYS:
        raise CommandRefusedError(
            translated(
                "At most {most_keys} keys; remove one first: `/model key remove`.",
                most_keys=MOST_KEYS,
            )
        )
    record = KeyRecord(
        asker.server_id,
        provider,
        secret,
        plain(label)[:LABEL_LIMIT],
        user_id=0 if asker.server_id else asker.person.id,
    )
    added = await context.db.keys.add(record)
    used = (
        translated("Only this server uses it")
        if asker.server_id
        else translated("Only your direct messages use it")
    )
    return translated(
        "The key {key} is stored, encrypted. {used}.", key=describe_key(added), used=used
    )


async def list_keys(context: BotContext, asker: CommandUser) -> str:
    asker.must_manage()
    keys = await all_keys(context, asker)
    if not keys:
        return translated("No keys are stored here. Add one with `/model key add`.")
    return "\n".join(f"- {describe_key(key)}{_resting(context, key)}" for key in keys)


async def remove_key(context: BotContext, asker: CommandUser, key_id: int) -> str:
    asker.must_manage()
    if not await context.db.keys.remove(asker.server_id, key_id, asker.person.id):
        raise CommandRefusedError(translated("There is no such key; `/model key list` shows all."))
    return translated("The key is deleted.")


async def key_choices(context: BotContext, asker: CommandUser, typed: str) -> Choices:
    if not asker.may_manage:
        return []
    keys = await all_keys(context, asker)
    return choices(typed, ((describe_key(key), str(key.id)) for key in keys))


async def keys_of(context: BotContext, asker: CommandUser, provider: str) -> tuple[KeyRecord, ...]:
    """Return the keys of the server, or in direct messages the keys of the user."""
    return await context.db.keys.of(asker.server_id, provider, asker.person.id)


async def all_keys(context: BotContext, asker: CommandUser) -> list[KeyRecord]:
    return [key for name in provider_names() for key in await keys_of(context, asker, name)]


def describe_key(key: KeyRecord) -> str:
    label = f" ({key.label})" if key.label else ""
    return f"{key.provider} {mask(key.secret)}{label}"


def mask(secret: str) -> str:
    """Return the last letters of a key; nothing of a short key."""
    return "…" + (secret[-SHOWN_LETTERS:] if len(secret) >= SHORTEST_SHOWN else "")


def key_form(context: BotContext, asker: CommandUser, provider: str) -> CommandForm:
    """Return the form for a new key. Permission and provider are checked before it opens."""
    asker.must_manage()
    provider = checked_provider(provider)

    async def take(sender: CommandUser, values: dict[str, str]) -> str:
        return await add_key(context, sender, provider, values["key"], values["label"])

    key: discord.ui.TextInput[Any] = discord.ui.TextInput(
        label=translated("API key of {provider}", provider=provider),
        custom_id="key",
        max_length=KEY_LIMIT,
    )
    label: discord.ui.TextInput[Any] = discord.ui.TextInput(
        label=translated("A name for it"), custom_id="label", max_length=LABEL_LIMIT, required=False
    )
    return CommandForm(translated("Add an API key"), (key, label), take)


def _resting(context: BotContext, key: KeyRecord) -> str:
    end = context.cooldown_end(key)
    return (
        ""
        if end is None
        else translated(", paused until {end}", end=discord.utils.format_dt(end, "t"))
    )


keys = app_commands.Group(name="key", description="API keys of this server", parent=model)


@keys.command(description="Add an API key: a form opens, nothing is shown in the channel")
@app_commands.describe(provider="Whose key it is")
async def add(interaction: Interaction, provider: Chosen) -> None:
    form = key_form(context_of(interaction), asker_of(interaction), provider)
    await interaction.response.send_modal(form)


@keys.command(name="list", description="List the keys of this server, masked")
async def list_(interaction: Interaction) -> None:
    await answer(interaction, list_keys(context_of(interaction), asker_of(interaction)))


@keys.command(description="Delete a key")
@app_commands.describe(key="Which one")
async def remove(interaction: Interaction, key: Chosen) -> None:
    context, asker = context_of(interaction), asker_of(interaction)
    await answer(interaction, remove_key(context, asker, number_in(key)))


@add.autocomplete("provider")
async def _providers(_interaction: Interaction, typed: str) -> Choices:
    return provider_choices(typed)


@remove.autocomplete("key")
async def _keys(interaction: Interaction, typed: str) -> Choices:
    return await key_choices(context_of(interaction), asker_of(interaction), typed)
