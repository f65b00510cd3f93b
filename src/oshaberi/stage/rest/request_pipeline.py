"""Runs every request through its steps: read, log, faults, access, answer.

A handler returns what becomes JSON, or None for 204; a RefusalError is an answer too. Anything
else that is raised is a defect of the stage: it answers 500 and is kept as a problem.
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import traceback
from collections.abc import Sequence
from typing import Any
from urllib.parse import unquote

from aiohttp import web

from oshaberi.stage.access_guard import is_token
from oshaberi.stage.api_refusals import CODES, RefusalError, not_found, unauthorized
from oshaberi.stage.gateway.gateway_sessions import SessionHub
from oshaberi.stage.request_schema.constraint_table import constraint_table
from oshaberi.stage.request_schema.request_check import check_request
from oshaberi.stage.requests.injected_faults import BENDS_EVENTS, CHANGES_WORLD, Fault
from oshaberi.stage.requests.rate_limits import VIA, limited
from oshaberi.stage.rest.body_reading import read_body
from oshaberi.stage.rest.route_table import RouteCall, RouteHandler
from oshaberi.stage.rules.message_rules import Upload
from oshaberi.stage.stage_state import StageState
from oshaberi.stage.world.event_bus import GatewayEvent
from oshaberi.stage.world.snowflakes import number_in
from oshaberi.stage.world_changes import channel_changes

PREFIX = "/api/v10"
REASON = "X-Audit-Log-Reason"
REASON_MOST = 512
HTML = "<html><head><title>502 Bad Gateway</title></head><body>cloudflare</body></html>"
LATE_S = 0.05
"""How long a late event is held after the answer, unless the fault says."""


class _ConnectionDroppedError(Exception):
    """The connection is gone, so no answer can be sent."""


class RequestPipeline:
    """Serves the endpoints of the route tables."""

    def __init__(self, state: StageState, hub: SessionHub) -> None:
        self._state = state
        self._hub = hub

    async def unknown(self, request: web.Request) -> web.StreamResponse:
        """A test that gets here used something the stage does not have: it fails at its end.

        501 is what Discord has and the stage has not, 404 is what nobody has.
        """
        path = request.path.removeprefix(PREFIX)
        route = constraint_table().missing_route(request.method, path)
        if route is None:
            self._state.journal.problem(f"unknown route: {request.method} {path}")
            return _json_response(404, not_found().body)
        self._state.journal.problem(f"missing route: {route}")
        body = {"message": f"501: the stage does not have {route} (docs/stage.md)", "code": 0}
        return _json_response(501, body)

    async def serve(self, endpoint: RouteHandler, request: web.Request) -> web.StreamResponse:
        value: Any = None
        uploads: list[Upload] = []
        refused: RefusalError | None = None
        try:
            self._check_token(endpoint, request)
            value, uploads = await read_body(request)
        except RefusalError as error:
            refused = error
        call = self._call(request, value, uploads)
        call.refused = refused
        response: web.StreamResponse | None = None
        try:
            response = await self._answer(endpoint, request, call)
        except _ConnectionDroppedError:
            return web.Response()
        finally:
            status = 0 if response is None else response.status
            self._state.limits.note(status)
            self._state.journal.close(call.record, status, call.code)
        return response

    def _call(self, request: web.Request, value: Any, uploads: list[Upload]) -> RouteCall:
        body = value if isinstance(value, dict) else {}
        path = request.path.removeprefix(PREFIX)
        files = "".join(f"{upload.filename}:{len(upload.content)};" for upload in uploads)
        noted = body if value is None or body else {"": value}
        channel_id = self._channel_id(request)
        record = self._state.journal.open(request.method, path, noted, files, channel_id)
        call = RouteCall(
            self._state, self._hub, request.match_info, request.query, body, value, uploads, record
        )
        call.reason = unquote(request.headers.get(REASON, ""))[:REASON_MOST] or None
        return call

    def _channel_id(self, request: web.Request) -> int | None:
        """Return the request's channel: of the path, a webhook, or a named thread."""
        path = request.match_info
        named = number_in(path.get("channel_id", ""))
        if named is None:
            named = number_in(request.query.get("thread_id", ""))
        if named is not None:
            return named
        webhook = self._state.world.webhooks.get(number_in(path.get("webhook_id", "")) or 0)
        return None if webhook is None else webhook.channel_id

    async def _answer(
        self, endpoint: RouteHandler, request: web.Request, call: RouteCall
    ) -> web.StreamResponse:
        faults = self._state.faults.take(call.record)
        for fault in faults:
            if fault.kind in CHANGES_WORLD:
                channel_changes.strike(self._state, fault, call.record, call.path)
        struck = await self._strike(request, faults, after=False)
        if struck is not None:
            return struck
        if any(fault.kind in BENDS_EVENTS for fault in faults):
            response = await self._with_bent_events(endpoint, request, call, faults)
        else:
            response = await self._handle(endpoint, request, call)
        return await self._strike(request, faults, after=True) or response

    async def _handle(
        self, endpoint: RouteHandler, request: web.Request, call: RouteCall
    ) -> web.StreamResponse:
        try:
            self._check_token(endpoint, request)
            self._limit(endpoint, call)
            if call.refused is not None:
                raise call.refused
            constraints = constraint_table().route(endpoint.method, endpoint.path)
            if constraints is not None:
                check_request(constraints, call.path, call.query, call.value)
            answer = await endpoint.handler(call)
        except RefusalError as refused:
            call.code = refused.code
            return _json_response(refused.status, refused.body, call.headers | refused.headers)
        except Exception:
            self._state.journal.problem(f"{call.record.name} broke:\n{traceback.format_exc()}")
            return _json_response(500, {"message": "500: Internal Server Error", "code": 0})
        if answer is None:
            return web.Response(status=204, headers=VIA | call.headers)
        made = call.created or (constraints is not None and constraints.makes_something)
        return _json_response(201 if made else 200, answer, call.headers)

    def _check_token(self, endpoint: RouteHandler, request: web.Request) -> None:
        """Check the token before the body is read."""
        if not endpoint.for_bot:
            return
        given = request.headers.get("Authorization", "")
        if not is_token(given, f"Bot {self._state.world.application.token}"):
            raise unauthorized()

    def _limit(self, endpoint: RouteHandler, call: RouteCall) -> None:
        path = call.path
        names = ("channel_id", "guild_id", "webhook_id", "token")
        major = "+".join(path[name] for name in names if name in path)
        call.headers |= self._state.limits.enter(endpoint.limit, major, global_too=endpoint.for_bot)

    async def _strike(
        self, request: web.Request, faults: Sequence[Fault], *, after: bool
    ) -> web.StreamResponse | None:
        """Apply the faults. Return the answer they give instead, or None."""
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

    async def _hang(self) -> None:
        """Hang until the stage closes. Meanwhile the request does not count as running."""
        self._state.journal.running -= 1
        try:
            await self._state.closing.wait()
        finally:
            self._state.journal.running += 1
        raise _ConnectionDroppedError

    async def _with_bent_events(
        self, endpoint: RouteHandler, request: web.Request, call: RouteCall, faults: Sequence[Fault]
    ) -> web.StreamResponse:
        with self._state.bus.holding() as events:
            response = await self._handle(endpoint, request, call)
        kinds = {fault.kind for fault in faults}
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


def _json_response(
    status: int, body: object, headers: dict[str, str] | None = None
) -> web.Response:
    """Return JSON. The type is exactly `application/json`, as discord.py compares (facts)."""
    content = json.dumps(body).encode()
    heads = (VIA if status != 429 else {}) | (headers or {})
    return web.Response(status=status, body=content, content_type="application/json", headers=heads)


def _body_answer(body: str) -> web.Response:
    return web.Response(
        status=200, body=body.encode(), content_type="application/json", headers=VIA
    )


def _fault_answer(fault: Fault) -> web.Response:
    status, message = CODES.get(fault.code, (fault.status, f"{fault.status}: fault"))
    if fault.kind == "status":
        status = fault.status
    if status != 429:
        return _json_response(status, {"message": message, "code": fault.code})
    refused = limited(fault.retry_after_s, "shared", fault.code)
    if not fault.via:
        refused.headers.pop("Via")
    return _json_response(429, refused.body, refused.headers)


def _reset(request: web.Request) -> None:
    """Close with RST instead of FIN: data that was written may be lost."""
    transport = request.transport
    if transport is not None:
        raw = transport.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        transport.abort()
    raise _ConnectionDroppedError


def _close(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.close()
    raise _ConnectionDroppedError
