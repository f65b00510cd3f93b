"""The control API, for tests in another process and for the page: JSON over `/stage/`.

Every request carries the control token. Users, channels and roles are given by name or id. A
mistake of the caller is answered with 400 and its reason, a refusal with Discord's own answer.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass

from aiohttp import web

from oshaberi.stage.access_guard import may_control
from oshaberi.stage.api_refusals import RefusalError
from oshaberi.stage.control.control_actions import Action, ControlActions
from oshaberi.stage.control.thread_starting import start_thread_action
from oshaberi.stage.gateway.gateway_sessions import SessionHub
from oshaberi.stage.json_bodies import parse_json
from oshaberi.stage.people_actions import PeopleActions
from oshaberi.stage.stage_errors import RefusedFieldError, StageError
from oshaberi.stage.stage_state import StageState
from oshaberi.stage.world.discord_records import Json
from oshaberi.stage.world.snowflakes import number_in


@dataclass(frozen=True, slots=True)
class ControlExtension:
    """An action from outside the stage, at `/stage/{name}`: GET reads, POST acts.

    `read` gets the query (texts), `act` the JSON object; either may be a coroutine function. Their
    return value is the `result`. Raise StageError for a mistake of the caller.
    """

    read: Action | None = None
    act: Action | None = None


class ControlApi:
    """Serves `/stage/{action}`: GET reads, POST acts."""

    def __init__(
        self,
        state: StageState,
        hub: SessionHub,
        people: PeopleActions,
        token: str,
        extensions: Mapping[str, ControlExtension],
    ) -> None:
        self._actions = ControlActions(state, hub, people)
        self._token = token
        self._extensions = extensions
        self._actions.reads["extensions"] = lambda _asked: sorted(extensions)
        self._actions.acts["start_thread"] = lambda said: start_thread_action(
            state, people.somebody(number_in(str(said.get("user") or ""))).id, said
        )

    async def read(self, request: web.Request) -> web.StreamResponse:
        if not may_control(request, self._token):
            return _refused(401, "the control token is missing or wrong")
        added = {name: e.read for name, e in self._extensions.items() if e.read is not None}
        return await self._serve(request, self._actions.reads | added, dict(request.query))

    async def act(self, request: web.Request) -> web.StreamResponse:
        """Run an action. Without the token, the body is not even read."""
        if not may_control(request, self._token):
            return _refused(401, "the control token is missing or wrong")
        # A form a website could send without asking is never JSON by its type.
        if request.content_type != "application/json":
            return _refused(415, "the body must be application/json")
        try:
            said = parse_json(await request.read())
        except ValueError:
            return _refused(400, "the body is not JSON")
        if not isinstance(said, dict):
            return _refused(400, "the body must be an object")
        added = {name: e.act for name, e in self._extensions.items() if e.act is not None}
        return await self._serve(request, self._actions.acts | added, said)

    async def _serve(
        self, request: web.Request, actions: Mapping[str, Action], said: Json
    ) -> web.StreamResponse:
        action = actions.get(request.match_info["action"])
        if action is None:
            return _refused(404, f"no such action; known are {', '.join(actions)}")
        try:
            result = action(said)
            if isinstance(result, Awaitable):
                result = await result
        except RefusedFieldError as error:
            return _answer(400, {"error": str(error), "field": error.field})
        except StageError as error:
            return _refused(400, str(error))
        except RefusalError as refused:
            return _answer(refused.status, refused.body)
        return _answer(200, {"result": result})


def _refused(status: int, why: str) -> web.Response:
    return _answer(status, {"error": why})


def _answer(status: int, body: object) -> web.Response:
    content = json.dumps(body, default=str).encode()
    return web.Response(status=status, body=content, content_type="application/json")
