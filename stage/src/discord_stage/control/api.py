"""The control API, for tests in another process and for the page: JSON over `/stage/`."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass

from aiohttp import web

from discord_stage.access_guard import may_control
from discord_stage.control.actions import Action, ControlActions
from discord_stage.errors import RefusedFieldError, StageError
from discord_stage.gateway.gateway_sessions import SessionHub
from discord_stage.json_bodies import parse_json
from discord_stage.page import PageExtension
from discord_stage.payloads import record_payloads
from discord_stage.people_actions import PeopleActions
from discord_stage.refusals import RefusalError
from discord_stage.rest.routes.thread_routes import new_thread, note_begun_alone, note_begun_on
from discord_stage.rules.messages import read_draft
from discord_stage.state import StageState
from discord_stage.world.ids import number_in
from discord_stage.world.records import (
    NAME_MOST,
    Channel,
    ChannelType,
    Json,
    StageMessage,
)
from discord_stage.world_changes import message_posting

# Lets a person start a thread: from a message, in a channel, or as a post in a forum.


PARENTS = (ChannelType.TEXT, ChannelType.NEWS, ChannelType.FORUM)


def start_thread_action(state: StageState, user_id: int, said: Json) -> Json:
    """Start a thread from a request with `channel` and `name`.

    `content` is its first message; `message` is the message from which it is started.
    """
    parent = state.world.channels.get(number_in(str(said.get("channel"))) or 0)
    if parent is None or parent.type not in PARENTS:
        raise StageError("`channel` must be the id of a channel that can have threads")
    name, content = str(said.get("name") or ""), str(said.get("content") or "")
    message = None
    if said.get("message") is not None:
        message = state.world.find_message(parent.id, number_in(str(said["message"])) or 0)
    thread = start_thread(state, parent, user_id, name, content, message)
    return record_payloads.thread(state.world, thread)


def start_thread(
    state: StageState,
    parent: Channel,
    user_id: int,
    name: str,
    content: str,
    message: StageMessage | None = None,
) -> Channel:
    """Start a thread.

    `content` is its first message; for a thread from a message it is optional.
    """
    name = " ".join(name.split())
    if not 0 < len(name) <= NAME_MOST:
        raise RefusedFieldError("name", f"a name has 1 to {NAME_MOST} characters")
    if message is not None and message.id in state.world.channels:
        raise RefusedFieldError("name", "this message has a thread already")
    if message is None and not content.strip():
        raise RefusedFieldError("content", "a first message is needed")
    is_news = parent.type is ChannelType.NEWS
    kind = ChannelType.NEWS_THREAD if is_news else ChannelType.PUBLIC_THREAD
    number = None if message is None else message.id
    thread = new_thread(state, parent, name, user_id, kind=kind, thread_id=number)
    if message is not None:
        note_begun_on(state, thread, message, user_id)
    elif parent.type is not ChannelType.FORUM:
        note_begun_alone(state, thread, user_id)
    if content.strip():
        # The first message of a post in a forum has the id of its thread.
        first = thread.id if parent.type is ChannelType.FORUM else None
        author = message_posting.PostAuthor(user_id)
        draft = read_draft({"content": content}, [])
        message_posting.post(state, thread, author, draft, message_id=first)
    return thread


# The control API, for tests in another process and for the page: JSON over `/stage/`.
#
# Every request carries the control token. Users, channels and roles are given by name or id. A
# mistake of the caller is answered with 400 and its reason, a refusal with Discord's own answer.


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
        page_extensions: Mapping[str, PageExtension],
    ) -> None:
        self._actions = ControlActions(state, hub, people)
        self._token = token
        self._extensions = extensions
        self._actions.reads["extensions"] = lambda _asked: sorted(extensions)
        self._actions.reads["page_extensions"] = lambda _asked: [
            {"name": name, "address": one.address(name)} for name, one in page_extensions.items()
        ]
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
