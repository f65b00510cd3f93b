"""Changes and deletes messages of the bot after they were sent.

A webhook's message is changed and deleted with the webhook's own token, so that no permission is
needed. A change can be made twice without harm, so it is retried when its result is unknown.
Messages are deleted in bulk where that is allowed, else one by one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import timedelta
from typing import Any

import discord
from discord.http import HTTPClient, MultipartParameters

from oshaberi.clocks import loop_time_s, utc_now
from oshaberi.delivery.sink import (
    AmbiguousError,
    DiscordRefusalError,
    SinkAwayError,
    SinkError,
    WireState,
)
from oshaberi.discord_io.arrivals import PAGE
from oshaberi.discord_io.channels import ChannelAddress, may_manage_messages, may_read_history
from oshaberi.discord_io.requests.answers import MESSAGE_GONE, id_of, objects_of
from oshaberi.discord_io.requests.parameters import legible
from oshaberi.discord_io.requests.watch import RequestSender
from oshaberi.discord_io.webhooks import Hook, ManagedWebhooks, WebhookHttp

log = logging.getLogger(__name__)

RETRY_SECONDS = (1.0, 2.0, 4.0)
LONGEST_WAIT_SECONDS = 10.0
"""A change that Discord would accept only after this time is given up."""

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


BULK = 100
BULK_AGE = timedelta(days=13, hours=23)
"""Discord refuses a whole batch if one message in it is two weeks old (50034)."""
REASON = "the answer was taken back"


class MessageRemoval:
    """Deletes the bot's messages in one channel, thread or DM."""

    def __init__(
        self,
        channel: discord.abc.MessageableChannel,
        http: HTTPClient,
        line: RequestSender,
        webhooks: ManagedWebhooks,
        webhook_http: WebhookHttp,
    ) -> None:
        self._channel = channel
        self._http = http
        self._line = line
        self._webhooks = webhooks
        self._webhook_http = webhook_http
        self._address = ChannelAddress.of(channel)

    async def remove(self, message_ids: Iterable[int]) -> None:
        """Delete the messages. Missing ones are ignored; refusals are logged."""
        ids = sorted(set(message_ids))
        try:
            if ids:
                await self._remove(await self._hooks_of(ids))
        except SinkError as error:
            log.warning("channel %s: could not delete: %s", self._address.channel_id, error)

    async def _remove(self, hooks: dict[int, int | None]) -> None:
        ids = list(hooks)
        if may_manage_messages(self._channel):
            ids = await self._in_bulk(ids)
            hooks = dict.fromkeys(ids)
        for number in ids:
            await self._one(number, hooks[number])

    async def _hooks_of(self, ids: Sequence[int]) -> dict[int, int | None]:
        """Return the messages that still exist, each with the webhook that sent it."""
        if not may_read_history(self._channel):
            return dict.fromkeys(ids)
        request = self._http.logs_from(self._address.channel_id, PAGE, after=ids[0] - 1)
        page = objects_of(await self._line.call(request))
        sent_by = {id_of(item): item.get("webhook_id") for item in page}
        seen_all = len(page) < PAGE
        there = [number for number in ids if number in sent_by or not seen_all]
        return {number: _id(sent_by.get(number)) for number in there}

    async def _in_bulk(self, ids: Sequence[int]) -> list[int]:
        """Delete in bulk what Discord allows. Return the ids that must be deleted one by one."""
        oldest = discord.utils.time_snowflake(utc_now() - BULK_AGE)
        young = [number for number in ids if number > oldest]
        rest = [number for number in ids if number <= oldest]
        for start in range(0, len(young), BULK):
            batch: list[str | int] = [*young[start : start + BULK]]
            if len(batch) == 1:
                rest += young[start:]
                continue
            request = self._http.delete_messages(self._address.channel_id, batch, reason=REASON)
            await self._line.call(request)
        return rest

    async def _one(self, message_id: int, hook_id: int | None) -> None:
        try:
            if hook_id is None:
                request = self._http.delete_message(self._address.channel_id, message_id)
                await self._line.call(request)
            else:
                await self._through_webhook(message_id, hook_id)
        except DiscordRefusalError as refusal:
            if refusal.code != MESSAGE_GONE:
                raise

    async def _through_webhook(self, message_id: int, hook_id: int) -> None:
        owner = self._address.webhook_channel_id
        hook = None if owner is None else await self._webhooks.open(owner)
        if hook is None or hook.id != hook_id:
            log.info("message %s was sent by a webhook that is gone: it stays", message_id)
            return
        await self._webhook_http.delete(hook, message_id, self._address.thread_id)


def _id(snowflake: str | int | None) -> int | None:
    return None if snowflake is None else int(snowflake)
