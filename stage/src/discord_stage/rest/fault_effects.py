"""Applies faults: changes the world, replaces an answer, drops a connection, changes events."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from collections.abc import Awaitable, Callable, Mapping, Sequence
from math import ceil

from aiohttp import web

from discord_stage.gateway.gateway_sessions import SessionHub
from discord_stage.refusals import CODES
from discord_stage.requests.injected_faults import Fault, Kind
from discord_stage.requests.rate_limits import VIA, limited
from discord_stage.requests.request_log import RequestRecord
from discord_stage.state import StageState
from discord_stage.world.event_bus import GatewayEvent
from discord_stage.world.ids import number_in
from discord_stage.world_changes.channel_changes import delete_channel, delete_webhook, deny

# The JSON answers of the stage, with the headers that Discord's have.


def json_answer(status: int, body: object, headers: dict[str, str] | None = None) -> web.Response:
    """Return JSON. The type is exactly `application/json`, which discord.py requires (facts)."""
    content = json.dumps(body).encode()
    heads = (VIA if status != 429 else {}) | (headers or {})
    return web.Response(status=status, body=content, content_type="application/json", headers=heads)


# Applies faults: changes the world, replaces an answer, drops a connection, changes events.
#
# `stage.requests.injected_faults` decides which requests a fault hits.


CHANGES_WORLD: frozenset[Kind] = frozenset({"revoke_webhook", "delete_channel", "lose_permission"})
BENDS_EVENTS: frozenset[Kind] = frozenset(
    {"event_first", "event_late", "event_twice", "event_lost"}
)
HTML = "<html><head><title>502 Bad Gateway</title></head><body>cloudflare</body></html>"
LATE_S = 0.05
"""How long after the answer a late event is sent, unless the fault says something else."""

Answer = Callable[[], Awaitable[web.StreamResponse]]


class ConnectionDroppedError(Exception):
    """The connection is gone, so no answer can be sent."""


class FaultEffects:
    """Applies the faults that hit one request."""

    def __init__(self, state: StageState, hub: SessionHub) -> None:
        self._state = state
        self._hub = hub

    def change_world(
        self, faults: Sequence[Fault], record: RequestRecord, path: Mapping[str, str]
    ) -> None:
        """Change the channel or webhook of a request, just before the request takes effect."""
        for fault in faults:
            if fault.kind in CHANGES_WORLD:
                self._change_place(fault, record, path)

    def _change_place(self, fault: Fault, record: RequestRecord, path: Mapping[str, str]) -> None:
        world = self._state.world
        channel = world.channels.get(record.channel_id or 0)
        if fault.kind == "revoke_webhook":
            webhook = world.webhooks.get(number_in(path.get("webhook_id", "")) or 0)
            if webhook is not None:
                delete_webhook(self._state, webhook)
        elif channel is None:
            return
        elif fault.kind == "delete_channel":
            delete_channel(self._state, channel)
        else:
            deny(self._state, channel, fault.permission)

    async def strike(
        self, faults: Sequence[Fault], request: web.Request, *, after: bool
    ) -> web.StreamResponse | None:
        """Apply the faults. Return the answer that replaces the real one, or None.

        Raises ConnectionDroppedError.
        """
        for fault in faults:
            if fault.after is not after:
                continue
            match fault.kind:
                case "delay":
                    await asyncio.sleep(fault.delay_s)
                case "hang":
                    await self._hang()
                case "reset":
                    _reset(request)
                case "close":
                    _close(request)
                case "html":
                    return web.Response(status=fault.status, text=HTML, content_type="text/html")
                case "body":
                    return _body_answer(fault.body)
                case "status" | "code":
                    return _fault_answer(fault)
                case _:
                    pass
        return None

    async def with_bent_events(self, faults: Sequence[Fault], answer: Answer) -> web.StreamResponse:
        """Answer a request, and send its events late, twice, before the answer or never."""
        kinds = {fault.kind for fault in faults}
        if not kinds & BENDS_EVENTS:
            return await answer()
        with self._state.bus.holding() as events:
            response = await answer()
        if "event_lost" in kinds:
            return response
        if "event_twice" in kinds:
            events = [event for event in events for _ in range(2)]
        if "event_late" in kinds:
            delay_s = max(fault.delay_s for fault in faults) or LATE_S
            asyncio.get_running_loop().call_later(delay_s, self._release, events)
            return response
        self._release(events)
        if "event_first" in kinds:
            await self._hub.caught_up()
        return response

    def _release(self, events: Sequence[GatewayEvent]) -> None:
        for event in events:
            self._state.bus.release(event)

    async def _hang(self) -> None:
        """Wait until the stage closes. Meanwhile the request does not count as running."""
        self._state.request_log.running -= 1
        try:
            await self._state.closing.wait()
        finally:
            self._state.request_log.running += 1
        raise ConnectionDroppedError


def _body_answer(body: str) -> web.Response:
    return web.Response(
        status=200, body=body.encode(), content_type="application/json", headers=VIA
    )


def _fault_answer(fault: Fault) -> web.Response:
    status, message = CODES.get(fault.code, (fault.status, f"{fault.status}: fault"))
    if fault.kind == "status":
        status = fault.status
    if status == 202:
        waiting = {"documents_indexed": 0, "retry_after": ceil(fault.retry_after_s)}
        return json_answer(status, {"message": message, "code": fault.code} | waiting)
    if status != 429:
        return json_answer(status, {"message": message, "code": fault.code})
    refused = limited(fault.retry_after_s, "shared", fault.code)
    if not fault.via:
        refused.headers.pop("Via")
    return json_answer(429, refused.body, refused.headers)


def _reset(request: web.Request) -> None:
    """Close with RST instead of FIN. Data that was already written may be lost."""
    transport = request.transport
    if transport is not None:
        raw = transport.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        transport.abort()
    raise ConnectionDroppedError


def _close(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.close()
    raise ConnectionDroppedError
