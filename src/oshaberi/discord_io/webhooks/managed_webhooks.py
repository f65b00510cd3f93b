"""Finds or creates one webhook per channel, and remembers it until it is deleted."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext

import discord

from oshaberi.delivery.sink import DiscordRefusalError
from oshaberi.discord_io.requests.request_meter import RequestMeter
from oshaberi.discord_io.requests.request_watch import RequestSender
from oshaberi.discord_io.requests.success_reading import id_of, objects_of
from oshaberi.discord_io.webhooks.webhook_http import Hook
from oshaberi.text.normalize.names.webhook_usernames import webhook_username

log = logging.getLogger(__name__)

REASON = "to speak under the names of personas"
REFUSED_SECONDS = 300.0
LASTING_REFUSALS = frozenset({30007, 50001, 50013, 50024})
"""After these refusals, asking again soon would only count towards a ban (facts)."""


Alone = Callable[[str], AbstractAsyncContextManager[object]]
"""Locks a name against other processes, for a block. Yields None if there are no others."""


def alone_anyway(_what: str) -> AbstractAsyncContextManager[object]:
    return nullcontext()


class ManagedWebhooks:
    """Our webhooks by the channel that owns them. A thread uses its parent's webhook."""

    def __init__(
        self,
        client: discord.Client,
        line: RequestSender,
        meter: RequestMeter,
        alone: Alone = alone_anyway,
    ) -> None:
        self._meter = meter
        self._client = client
        self._line = line
        self._alone = alone
        self._hooks: dict[int, Hook] = {}
        self._known_ids: defaultdict[int, set[int]] = defaultdict(set)
        self._locks: defaultdict[int, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._refusals: dict[int, tuple[DiscordRefusalError, float]] = {}

    async def open(self, channel_id: int) -> Hook:
        async with self._locks[channel_id]:
            hook = self._hooks.get(channel_id)
            if hook is None:
                self._recall_refusal(channel_id)
                hook = await self._found_or_made(channel_id)
                self._hooks[channel_id] = hook
                self._known_ids[channel_id].add(hook.id)
            return hook

    def current(self, channel_id: int) -> Hook | None:
        return self._hooks.get(channel_id)

    def forget(self, channel_id: int) -> None:
        self._hooks.pop(channel_id, None)

    def ids(self, channel_id: int) -> frozenset[int]:
        """Return the ids of all webhooks used in the channel, deleted ones included."""
        return frozenset(self._known_ids[channel_id])

    async def _found_or_made(self, channel_id: int) -> Hook:
        try:
            return await self._find(channel_id) or await self._find_or_make(channel_id)
        except DiscordRefusalError as refusal:
            self._meter.on_webhook_refusal(refusal.code)
            if refusal.code in LASTING_REFUSALS:
                self._refusals[channel_id] = (refusal, _now() + REFUSED_SECONDS)
            raise

    async def _find(self, channel_id: int) -> Hook | None:
        """Find our webhook. Discord shows its token only to the application that made it."""
        request = self._client.http.channel_webhooks(channel_id)
        for item in objects_of(await self._line.call(request)):
            token = item.get("token")
            ours = str(item.get("application_id")) == str(self._client.application_id)
            if ours and token:
                return Hook(id_of(item, "webhook"), token)
        return None

    async def _find_or_make(self, channel_id: int) -> Hook:
        """Create a webhook, unless another process has just created one."""
        async with self._alone(f"webhook:{channel_id}") as waited:
            found = None if waited is None else await self._find(channel_id)
            return found or await self._make(channel_id)

    async def _make(self, channel_id: int) -> Hook:
        user = self._client.user
        name = webhook_username(user.display_name if user else "Oshaberi")
        request = self._client.http.create_webhook(channel_id, name=name, reason=REASON)
        made = await self._line.call(request)
        hook = Hook(id_of(made, "webhook"), made.get("token") or "")
        log.info("made a webhook in channel %s", channel_id)
        return hook

    def _recall_refusal(self, channel_id: int) -> None:
        refusal, until = self._refusals.get(channel_id, (None, 0.0))
        if refusal is None:
            return
        if _now() < until:
            raise DiscordRefusalError(refusal.code, f"{refusal} (a moment ago)")
        del self._refusals[channel_id]


def _now() -> float:
    return asyncio.get_running_loop().time()
