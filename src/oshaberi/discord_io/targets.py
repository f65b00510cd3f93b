"""Finds the place for an answer that each object of discord.py stands for."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

import discord

from oshaberi.delivery.sink import DeliveryTarget
from oshaberi.discord_io.channels import emojis_of, known_people
from oshaberi.discord_io.client_hook import state_of
from oshaberi.discord_io.requests.guards import BanGuard
from oshaberi.discord_io.requests.limits import KnownRooms
from oshaberi.discord_io.requests.watch import RequestMeter
from oshaberi.discord_io.sink import ClientState
from oshaberi.discord_io.token_sinks import InteractionSink, WebhookSink, channel_of
from oshaberi.discord_io.webhooks import WebhookHttp
from oshaberi.errors import ConfigError
from oshaberi.text.config import Persona

UNKNOWN_INTERACTION = 10062
ALREADY_ANSWERED = 40060
USER_AGENT = "DiscordBot (oshaberi, 1)"


async def open_target(to: Any, ephemeral: bool | None) -> DeliveryTarget:
    """Return the target that an object of discord.py stands for. Raises TypeError."""
    if _is_context(to):
        to = to.interaction or to.message
    if isinstance(to, discord.Interaction):
        return await _interaction(to, ephemeral)
    if ephemeral:
        raise ConfigError("ephemeral: only the answer to an interaction can be ephemeral")
    if isinstance(to, discord.Message):
        return _reply(to)
    if isinstance(to, discord.Webhook):
        return _webhook(to)
    if isinstance(to, discord.User | discord.Member):
        return _channel(to.dm_channel or await to.create_dm(), [to])
    if isinstance(to, discord.abc.Messageable):
        return _channel(to, ())
    raise TypeError(
        f"deliver: cannot send to {type(to).__name__!r}; pass a message, a channel or thread with "
        "text, a user, a context, an interaction or a webhook"
    )


def _is_context(to: Any) -> bool:
    commands = sys.modules.get("discord.ext.commands")
    return commands is not None and isinstance(to, commands.Context)


def _state(of: Any) -> ClientState:
    """Return the state of the client that an object came from."""
    return state_of(of._state._get_client())  # noqa: SLF001


def _reply(message: discord.Message) -> DeliveryTarget:
    client_state = _state(message)
    people = [message.author, *message.mentions]
    return DeliveryTarget(
        client_state.sink(message.channel, answering=message),
        channel=str(message.channel.id),
        replies=True,
        known=_known(message, people),
        emojis=emojis_of(message.guild),
    )


def _channel(channel: Any, people: Iterable[discord.User | discord.Member]) -> DeliveryTarget:
    return DeliveryTarget(
        _state(channel).sink(channel),
        channel=str(channel.id),
        known=_known(channel, people),
        emojis=emojis_of(getattr(channel, "guild", None)),
    )


def _known(of: Any, people: Iterable[discord.User | discord.Member]) -> Any:
    return known_people(people, of._state.user)  # noqa: SLF001


# Interactions.


async def _interaction(
    interaction: discord.Interaction[Any], ephemeral: bool | None
) -> DeliveryTarget:
    client_state = state_of(interaction.client)
    if interaction.response.is_done():
        if ephemeral is None:
            ephemeral = await _is_ephemeral(interaction)
    elif not await _defer(interaction, is_ephemeral=bool(ephemeral)):
        return _channel(channel_of(interaction), [interaction.user])
    sink = InteractionSink(client_state, interaction, is_ephemeral=bool(ephemeral))
    return DeliveryTarget(
        sink,
        channel=str(interaction.channel_id),
        known=known_people([interaction.user]),
        emojis=emojis_of(interaction.guild),
        close=sink.close,
    )


async def _defer(interaction: discord.Interaction[Any], *, is_ephemeral: bool) -> bool:
    """Tell Discord that an answer will come. Return False if it is too late for that.

    Then the answer can still go to the channel, unless it is for one person only.
    """
    try:
        await interaction.response.defer(thinking=True, ephemeral=is_ephemeral)
    except discord.InteractionResponded:
        return True
    except discord.HTTPException as error:
        if error.code == UNKNOWN_INTERACTION and not is_ephemeral:
            return False
        if error.code != ALREADY_ANSWERED:
            raise
    return True


async def _is_ephemeral(interaction: discord.Interaction[Any]) -> bool:
    """Return whether only one person sees the answer that the caller has given or deferred."""
    try:
        return (await interaction.original_response()).flags.ephemeral
    except discord.HTTPException:
        return True  # unknown, so nothing is shown to everybody


# Webhooks.


def _webhook(webhook: discord.Webhook) -> DeliveryTarget:
    if webhook.type is discord.WebhookType.application:
        raise TypeError("deliver: pass the interaction itself instead of its `followup`")
    if not webhook.token:
        raise TypeError("deliver: the webhook has no token; pass one that the bot has made")
    name = webhook.name or "Webhook"
    own = Persona(name, is_alter=True)
    client = getattr(webhook._state, "_get_client", None)  # noqa: SLF001
    key = str(webhook.channel_id or webhook.id)
    if client is not None:
        state = state_of(client())
        sink = WebhookSink(webhook, state.webhook_http, state)
        return DeliveryTarget(sink, key, emojis=emojis_of(webhook.guild), persona=own)
    http = WebhookHttp(USER_AGENT, BanGuard(), KnownRooms(), RequestMeter())
    return DeliveryTarget(WebhookSink(webhook, http, None), key, persona=own, close=http.close)
