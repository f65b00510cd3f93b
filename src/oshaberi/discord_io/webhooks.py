"""The bot's webhooks: one per channel, found or created, and requests that are never repeated."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Literal

import aiohttp
import discord
from discord.http import MultipartParameters, Route

from oshaberi.checked_json import bounded_seconds
from oshaberi.clocks import loop_time_s
from oshaberi.delivery.service_outage import ServiceOutage
from oshaberi.delivery.sink import AmbiguousError, DiscordRefusalError, RequestKind, WireState
from oshaberi.discord_io.requests.answers import (
    id_of,
    note_answer,
    note_failure,
    objects_of,
    parsed,
    refusal_of,
    translated,
)
from oshaberi.discord_io.requests.guards import BanGuard, LeaseFence
from oshaberi.discord_io.requests.limits import KnownRooms
from oshaberi.discord_io.requests.watch import RequestMeter, RequestSender
from oshaberi.foreign_bodies import PLAIN, BodyTooLargeError, PackedBodyError, answer_body
from oshaberi.text.normalize.webhook_names import webhook_username

Json = dict[str, Any]
Method = Literal["POST", "PATCH", "DELETE"]
Original = Literal["@original"]
"""The first answer to an interaction, whose token serves as a webhook's."""
_KINDS: Mapping[Method, RequestKind] = {"POST": "webhook_send", "PATCH": "webhook_edit"}
_TIMED: Mapping[Method, str] = {**_KINDS, "DELETE": "webhook_delete"}

MOST_BYTES = 1024 * 1024
"""The longest answer that is read: a message with all its embeds has less than 100 kB."""
TOTAL_SECONDS = 60.0
"""Shorter than the sender's timeout: if a request is never answered, there is time for another."""


@dataclass(frozen=True, slots=True)
class Hook:
    """A webhook's id and token, or an application's id and the token of an interaction."""

    id: int
    token: str = field(repr=False)


class WebhookHttp:
    """Sends webhook requests over a session of our own, which never repeats one.

    discord.py repeats a request after a 5xx, and webhooks have no nonce: the message would be sent
    twice (facts). For the same reason a request that was sent is never cancelled: a second call
    waits for the first. A rate limit that is known is waited for; a 429 is raised.
    """

    def __init__(
        self,
        user_agent: str,
        guard: BanGuard,
        rooms: KnownRooms,
        meter: RequestMeter,
        fence: LeaseFence | None = None,
        outage: ServiceOutage | None = None,
    ) -> None:
        self._meter = meter
        self._outage = outage
        self._guard = guard
        self._fence = fence or LeaseFence()
        self._rooms = rooms
        self._headers = {"User-Agent": user_agent}
        self._session: aiohttp.ClientSession | None = None
        self._free_at: dict[tuple[Method, Hook], float] = {}
        self._flights: dict[str, asyncio.Task[Json]] = {}

    async def execute(
        self,
        key: str,
        hook: Hook,
        form: MultipartParameters,
        thread_id: int | None,
        wire: WireState,
    ) -> Json:
        """Create the message `key` and return it. `wait` makes Discord report errors (facts).

        While an earlier request for the same message is running, that one is awaited.
        """
        flight = self._flights.get(key)
        if flight is None:
            query = {"wait": "true", "with_components": "true"} | _address(thread_id)
            request = self._request("POST", hook, "", query, form, wire)
            flight = self._flights[key] = asyncio.create_task(request)
            flight.add_done_callback(_seen)
        try:
            return await asyncio.shield(flight)
        finally:
            self._land(key, flight, wire)

    def _land(self, key: str, flight: asyncio.Task[Json], wire: WireState) -> None:
        """Forget a finished request. Cancel one that was not sent; keep one that was."""
        if not flight.done() and wire.on_wire:
            asyncio.get_running_loop().call_later(TOTAL_SECONDS, self._flights.pop, key, None)
            return
        flight.cancel()
        self._flights.pop(key, None)

    async def edit(
        self,
        hook: Hook,
        message_id: int | Original,
        form: MultipartParameters,
        thread_id: int | None,
        wire: WireState,
    ) -> Json:
        path, query = f"/messages/{message_id}", _address(thread_id)
        if form.payload is not None and "components" in form.payload:
            query["with_components"] = "true"
        return await self._request("PATCH", hook, path, query, form, wire)

    async def delete(
        self,
        hook: Hook,
        message_id: int | Original,
        thread_id: int | None,
        wire: WireState | None = None,
    ) -> None:
        path = f"/messages/{message_id}"
        wire = wire or WireState(loop_time_s())
        await self._request("DELETE", hook, path, _address(thread_id), None, wire)

    async def close(self) -> None:
        for flight in self._flights.values():
            flight.cancel()
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _request(
        self,
        method: Method,
        hook: Hook,
        path: str,
        query: Mapping[str, str],
        form: MultipartParameters | None,
        wire: WireState,
    ) -> Json:
        url = f"{Route.BASE}/webhooks/{hook.id}/{hook.token}{path}"
        if self._outage is not None:
            self._outage.check()
        await self._wait_for_room((method, hook), wire)
        status, left_at, kind = 0, loop_time_s(), _TIMED[method]
        try:
            async with self._open().request(method, url, params=query, **_payload(form)) as answer:
                status = answer.status
                body = await answer_body(answer, MOST_BYTES)
        except (BodyTooLargeError, PackedBodyError) as error:
            raise AmbiguousError(str(error)) from error
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            if self._outage is not None:
                note_failure(self._outage, error, loop_time_s() - left_at)
            raise translated(error) from error
        finally:
            self._meter.on_answer(kind, status, loop_time_s() - left_at)
        self._guard.note(answer.status)
        if self._outage is not None:
            note_answer(self._outage, answer.status, answer.headers)
        self._note_room((method, hook), answer.headers)
        if method in _KINDS:
            self._rooms.note(_KINDS[method], hook.id, answer.headers, loop_time_s())
        if not 200 <= answer.status < 300:
            raise refusal_of(answer.status, body, answer.headers)
        created: Json = parsed(body)
        return created

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0),
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=TOTAL_SECONDS),
                headers={**PLAIN, **self._headers},
                auto_decompress=False,
                trace_configs=[self._fence.guard(aiohttp.TraceConfig())],
            )
        return self._session

    async def _wait_for_room(self, bucket: tuple[Method, Hook], wire: WireState) -> None:
        while (wait := self._free_at.get(bucket, 0.0) - loop_time_s()) > 0:
            wire.hold()
            await asyncio.sleep(wait)
        if self._guard.is_spaced:
            wire.hold()
            await self._guard.turn()
        wire.leave(loop_time_s())

    def _note_room(self, bucket: tuple[Method, Hook], headers: Mapping[str, str]) -> None:
        if headers.get("X-RateLimit-Remaining") == "0":
            # Every interaction has a token of its own: the past ones are not kept.
            now = loop_time_s()
            self._free_at = {one: at for one, at in self._free_at.items() if at > now}
            seconds = bounded_seconds(headers.get("X-RateLimit-Reset-After"))
            self._free_at[bucket] = now + (seconds or 0.0)


def _address(thread_id: int | None) -> dict[str, str]:
    return {} if thread_id is None else {"thread_id": str(thread_id)}


def _payload(form: MultipartParameters | None) -> dict[str, Any]:
    if form is None:
        return {}
    if not form.files:
        return {"json": form.payload}
    data = aiohttp.FormData(quote_fields=False)
    for part in form.multipart or []:
        data.add_field(**part)
    return {"data": data}


def _seen(flight: asyncio.Task[Json]) -> None:
    if not flight.cancelled():
        flight.exception()  # retrieved, so that asyncio does not log it


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
    """Our webhooks by the channel that owns them. A thread uses its parent's webhook.

    There is one per channel: it is found or created, and remembered until it is deleted.
    """

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
                self._refusals[channel_id] = (refusal, loop_time_s() + REFUSED_SECONDS)
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
        if loop_time_s() < until:
            raise DiscordRefusalError(refusal.code, f"{refusal} (a moment ago)")
        del self._refusals[channel_id]
