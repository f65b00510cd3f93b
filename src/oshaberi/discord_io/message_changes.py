"""Changes messages of the bot after they were sent: all they show, or only their buttons.

A webhook's message is changed with the webhook's own token. A change may be made twice without
harm, so it is tried again when nobody knows what became of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import discord
from discord.http import HTTPClient, MultipartParameters

from oshaberi.clocks import loop_time_s
from oshaberi.delivery.sink import AmbiguousError, DiscordRefusalError, SinkAwayError, WireState
from oshaberi.discord_io.channels import ChannelAddress
from oshaberi.discord_io.requests.answers import MESSAGE_GONE
from oshaberi.discord_io.requests.parameters import legible
from oshaberi.discord_io.requests.watch import RequestSender
from oshaberi.discord_io.webhooks import Hook, ManagedWebhooks, WebhookHttp

RETRY_SECONDS = (1.0, 2.0, 4.0)
LONGEST_WAIT_SECONDS = 10.0
"""A change that Discord would take only later than this is given up."""

Components = Sequence[dict[str, Any]]


class MessageChanges:
    """Changes the bot's messages in one channel, thread or DM. Raises SinkError."""

    def __init__(
        self,
        channel: discord.abc.MessageableChannel,
        http: HTTPClient,
        line: RequestSender,
        webhooks: ManagedWebhooks,
        webhook_http: WebhookHttp,
    ) -> None:
        self._http = http
        self._line = line
        self._webhooks = webhooks
        self._webhook_http = webhook_http
        self._address = ChannelAddress.of(channel)

    async def rewrite(self, message_id: int, webhook_id: int | None, text: str) -> None:
        """Replace the text, and remove files, embeds and buttons. Nobody is notified."""
        nobody = discord.AllowedMentions.none().to_dict()
        shown: dict[str, Any] = {"content": legible(text), "embeds": [], "attachments": []}
        await self._change(
            message_id, webhook_id, shown | {"components": [], "allowed_mentions": nobody}
        )

    async def set_components(
        self, message_id: int, webhook_id: int | None, components: Components
    ) -> None:
        await self._change(message_id, webhook_id, {"components": list(components)})

    async def _change(
        self, message_id: int, webhook_id: int | None, payload: dict[str, Any]
    ) -> None:
        form = MultipartParameters(payload=payload, multipart=None, files=None)
        hook = None if webhook_id is None else await self._hook(webhook_id)

        async def change() -> object:
            wire = WireState(loop_time_s())
            if hook is not None:
                thread_id = self._address.thread_id
                return await self._webhook_http.edit(hook, message_id, form, thread_id, wire)
            request = self._http.edit_message(self._address.channel_id, message_id, params=form)
            return await self._line.call(request, wire)

        await _patiently(change)

    async def _hook(self, webhook_id: int) -> Hook:
        owner = self._address.webhook_channel_id
        hook = None if owner is None else await self._webhooks.open(owner)
        if hook is None or hook.id != webhook_id:
            raise DiscordRefusalError(MESSAGE_GONE, "the webhook that sent it is gone")
        return hook


async def _patiently(change: Callable[[], Awaitable[object]]) -> None:
    for delay_s in (*RETRY_SECONDS, None):
        try:
            await change()
        except SinkAwayError:
            raise
        except DiscordRefusalError as refusal:
            if refusal.retry_after_ms is None or delay_s is None:
                raise
            if refusal.retry_after_ms > LONGEST_WAIT_SECONDS * 1000:
                raise
            await asyncio.sleep(refusal.retry_after_ms / 1000)
        except AmbiguousError:
            if delay_s is None:
                raise
            await asyncio.sleep(delay_s)
        else:
            return
