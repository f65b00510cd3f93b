"""Runs every request through its steps: read, log, faults, access, answer."""

from __future__ import annotations

import re
import traceback
from typing import Any
from urllib.parse import parse_qsl, unquote

from aiohttp import BodyPartReader, web
from aiohttp.http_exceptions import HttpProcessingError

from discord_stage.access_guard import is_token
from discord_stage.gateway.gateway_sessions import SessionHub
from discord_stage.json_bodies import parse_json
from discord_stage.refusals import RefusalError, not_found, refusal, unauthorized
from discord_stage.request_schema.check import check_request, constraint_table
from discord_stage.requests.rate_limits import VIA
from discord_stage.rest.fault_effects import ConnectionDroppedError, FaultEffects, json_answer
from discord_stage.rest.routing import RouteCall, RouteHandler
from discord_stage.rules.messages import REQUEST_MOST, Upload
from discord_stage.state import StageState
from discord_stage.world.ids import number_in

# Reads a request's body: JSON, or a form with `payload_json` and `files[n]`.


_FILE = re.compile(r"files\[(\d{1,3})\]")
_SLACK = 1024 * 1024
"""How many bytes a form may have, not counting its files."""


async def read_body(request: web.Request) -> tuple[Any, list[Upload]]:
    """Return the JSON value (None if there is no body) and the files."""
    if not request.can_read_body:
        return None, []
    if request.content_type == "multipart/form-data":
        return await _read_form(request)
    content = await request.read()
    if len(content) > REQUEST_MOST + _SLACK:
        raise refusal(40005)
    if request.content_type == "application/x-www-form-urlencoded" and content:
        return _parse_fields(content), []
    return (_parse(content) if content else None), []


def _parse_fields(content: bytes) -> Any:
    """Parse a form without files, as py-cord sends it: `payload_json=…`."""
    try:
        fields = dict(parse_qsl(content.decode(), strict_parsing=True))
    except ValueError:
        return _parse(content)
    return _parse(fields["payload_json"].encode()) if "payload_json" in fields else fields


def _parse(content: bytes) -> Any:
    try:
        return parse_json(content)
    except ValueError:
        raise refusal(50109) from None


async def _read_form(request: web.Request) -> tuple[Any, list[Upload]]:
    """Read a form. It is read to its end even if too large, so that the client gets an answer."""
    try:
        parts = await _parts(request)
    except (ValueError, HttpProcessingError):
        raise RefusalError(400, 50035, "Invalid Form Body") from None
    value: Any = None
    uploads: list[Upload] = []
    for name, filename, content in parts:
        file = _FILE.fullmatch(name)
        if name == "payload_json":
            value = _parse(content)
        elif file:
            uploads.append(Upload(int(file[1]), filename, content))
    return value, uploads


async def _parts(request: web.Request) -> list[tuple[str, str, bytes]]:
    """Return name, file name and content of each part. Content beyond the limit is dropped."""
    found: list[tuple[str, str, bytes]] = []
    left = REQUEST_MOST + _SLACK
    async for part in await request.multipart():
        if not isinstance(part, BodyPartReader):
            raise ValueError("a form has no forms in it")
        content = bytearray()
        while chunk := await part.read_chunk():
            left -= len(chunk)
            if left >= 0:
                content += chunk
        found.append((part.name or "", part.filename or "file", bytes(content)))
    if left < 0:
        raise refusal(40005)
    return found


# Runs every request through its steps: read, log, faults, access, answer.
#
# A handler returns what becomes JSON, or None for 204; a RefusalError is an answer too. A route
# that the stage does not have answers 501, or 404 if Discord does not have it either. Any other
# exception is a defect of the stage and answers 500. All of these are noted as problems, which
# fail a test.


PREFIX = "/api/v10"
REASON = "X-Audit-Log-Reason"
REASON_MOST = 512


class RequestPipeline:
    """Serves the endpoints of the route tables."""

    def __init__(self, state: StageState, hub: SessionHub) -> None:
        self._state = state
        self._hub = hub
        self._effects = FaultEffects(state, hub)

    async def unknown(self, request: web.Request) -> web.StreamResponse:
        """Answer a request for a route that the stage does not have. The test fails at its end.

        501 means that Discord has the route, 404 that Discord does not have it either.
        """
        path = request.path.removeprefix(PREFIX)
        route = constraint_table().missing_route(request.method, path)
        if route is None:
            self._state.request_log.problem(f"unknown route: {request.method} {path}")
            return json_answer(404, not_found().body)
        self._state.request_log.problem(f"missing route: {route}")
        body = {"message": f"501: the stage does not have {route}", "code": 0}
        return json_answer(501, body)

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
        except ConnectionDroppedError:
            return web.Response()
        finally:
            status = 0 if response is None else response.status
            self._state.limits.note(status)
            self._state.request_log.close(call.record, status, call.code)
        return response

    def _call(self, request: web.Request, value: Any, uploads: list[Upload]) -> RouteCall:
        body = value if isinstance(value, dict) else {}
        path = request.path.removeprefix(PREFIX)
        files = "".join(f"{upload.filename}:{len(upload.content)};" for upload in uploads)
        noted = body if value is None or body else {"": value}
        channel_id = self._channel_id(request)
        record = self._state.request_log.open(request.method, path, noted, files, channel_id)
        call = RouteCall(
            self._state, self._hub, request.match_info, request.query, body, value, uploads, record
        )
        call.reason = unquote(request.headers.get(REASON, ""))[:REASON_MOST] or None
        return call

    def _channel_id(self, request: web.Request) -> int | None:
        """Return the request's channel: from the path, its webhook, or the thread that it names."""
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
        self._effects.change_world(faults, call.record, call.path)
        struck = await self._effects.strike(faults, request, after=False)
        if struck is not None:
            return struck
        response = await self._effects.with_bent_events(
            faults, lambda: self._handle(endpoint, request, call)
        )
        struck = await self._effects.strike(faults, request, after=True)
        return response if struck is None else struck

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
            return json_answer(refused.status, refused.body, call.headers | refused.headers)
        except Exception:
            self._state.request_log.problem(f"{call.record.name} broke:\n{traceback.format_exc()}")
            return json_answer(500, {"message": "500: Internal Server Error", "code": 0})
        if answer is None:
            return web.Response(status=204, headers=VIA | call.headers)
        made = call.created or (constraints is not None and constraints.makes_something)
        return json_answer(201 if made else 200, answer, call.headers)

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
