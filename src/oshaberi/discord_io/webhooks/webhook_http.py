"""Sends webhook requests over a session of our own, which never repeats a request.

discord.py repeats a request after a 5xx, and webhooks have no nonce: the message would be sent
twice (facts). For the same reason a request that was sent is never cancelled: a second call waits
for the first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import aiohttp
from discord.http import MultipartParameters, Route

from oshaberi.checked_json import bounded_seconds
from oshaberi.delivery.service_outage import ServiceOutage
from oshaberi.delivery.sink import AmbiguousError, RequestKind, WireState
from oshaberi.discord_io.requests.answer_classification import parsed, refusal_of, translated
from oshaberi.discord_io.requests.ban_guard import BanGuard
from oshaberi.discord_io.requests.bucket_headers import KnownRooms
from oshaberi.discord_io.requests.lease_fence import LeaseFence
from oshaberi.discord_io.requests.request_meter import RequestMeter
from oshaberi.discord_io.requests.rest_outage import note_answer, note_failure
from oshaberi.foreign_bodies import PLAIN, BodyTooLargeError, PackedBodyError, answer_body

Json = dict[str, Any]
Method = Literal["POST", "PATCH", "DELETE"]
_KINDS: Mapping[Method, RequestKind] = {"POST": "webhook_send", "PATCH": "webhook_edit"}
_TIMED: Mapping[Method, str] = {**_KINDS, "DELETE": "webhook_delete"}

MOST_BYTES = 1024 * 1024
"""The longest answer that is read: a message with all its embeds has less than 100 kB."""
TOTAL_SECONDS = 60.0
"""Shorter than the sender's timeout: if a request is never answered, there is time for another."""


@dataclass(frozen=True, slots=True)
class Hook:
    """A webhook's id and token."""

    id: int
    token: str = field(repr=False)


class WebhookHttp:
    """Sends webhook requests. Waits for a rate limit that it knows; a 429 is raised."""

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
        self._free_at: dict[tuple[Method, int], float] = {}
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
        message_id: int,
        form: MultipartParameters,
        thread_id: int | None,
        wire: WireState,
    ) -> None:
        path = f"/messages/{message_id}"
        await self._request("PATCH", hook, path, _address(thread_id), form, wire)

    async def delete(
        self, hook: Hook, message_id: int, thread_id: int | None, wire: WireState | None = None
    ) -> None:
        path = f"/messages/{message_id}"
        wire = wire or WireState(_now())
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
        await self._wait_for_room((method, hook.id), wire)
        status, left_at, kind = 0, _now(), _TIMED[method]
        try:
            async with self._open().request(method, url, params=query, **_payload(form)) as answer:
                status = answer.status
                body = await answer_body(answer, MOST_BYTES)
        except (BodyTooLargeError, PackedBodyError) as error:
            raise AmbiguousError(str(error)) from error
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            if self._outage is not None:
                note_failure(self._outage, error, _now() - left_at)
            raise translated(error) from error
        finally:
            self._meter.on_answer(kind, status, _now() - left_at)
        self._guard.note(answer.status)
        if self._outage is not None:
            note_answer(self._outage, answer.status, answer.headers)
        self._note_room((method, hook.id), answer.headers)
        if method in _KINDS:
            self._rooms.note(_KINDS[method], hook.id, answer.headers)
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

    async def _wait_for_room(self, bucket: tuple[Method, int], wire: WireState) -> None:
        while (wait := self._free_at.get(bucket, 0.0) - _now()) > 0:
            wire.hold()
            await asyncio.sleep(wait)
        if self._guard.is_spaced:
            wire.hold()
            await self._guard.turn()
        wire.leave(_now())

    def _note_room(self, bucket: tuple[Method, int], headers: Mapping[str, str]) -> None:
        if headers.get("X-RateLimit-Remaining") == "0":
            seconds = bounded_seconds(headers.get("X-RateLimit-Reset-After"))
            self._free_at[bucket] = _now() + (seconds or 0.0)


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


def _now() -> float:
    return asyncio.get_running_loop().time()
