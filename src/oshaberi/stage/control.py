"""The control API, for tests in another process and for the page: JSON over `/stage/`.

Every request carries the control token. Users, channels and roles are said by name or id. A
mistake answers 400 with its reason, a refusal of the API with Discord's own answer.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Any

from aiohttp import web

from oshaberi.stage import changes, payloads, posting
from oshaberi.stage.core import Core
from oshaberi.stage.door import may_control
from oshaberi.stage.errors import StageError
from oshaberi.stage.faults import Fault
from oshaberi.stage.interactions import Interaction
from oshaberi.stage.model import Json
from oshaberi.stage.people import People
from oshaberi.stage.refusals import RefusalError

Action = Callable[[Json], object]
_GATEWAY = ("drop", "close", "reconnect", "invalidate", "mute", "unmute", "redeliver")


class Control:
    """Serves `/stage/{action}`: GET reads, POST acts."""

    def __init__(self, core: Core, people: People, token: str) -> None:
        self._core = core
        self._people = people
        self._token = token
        self._reads: dict[str, Action] = {
            "world": self._world,
            "messages": self._messages,
            "requests": self._requests,
            "interactions": self._interaction,
            "problems": lambda _asked: list(self._core.journal.problems),
        }
        self._acts: dict[str, Action] = {
            "post": self._post,
            "dm": lambda said: self._shown(
                people.dm(_text(said, "content"), user=said.get("user"))
            ),
            "edit": lambda said: self._shown(
                people.edit(_number(said, "message"), _text(said, "content"))
            ),
            "delete": lambda said: people.delete(_number(said, "message")),
            "type": lambda said: people.type(_key(said, "channel"), user=said.get("user")),
            "react": lambda said: people.react(
                _number(said, "message"), _text(said, "emoji"), user=said.get("user")
            ),
            "press": self._press,
            "run": self._run,
            "complete": self._complete,
            "submit": self._submit,
            "fault": self._fault,
            "clear_faults": lambda _said: self._core.faults.clear(),
            "gateway": self._gateway,
            "change": self._change,
        }

    async def read(self, request: web.Request) -> web.StreamResponse:
        return await self._serve(request, self._reads, dict(request.query))

    async def act(self, request: web.Request) -> web.StreamResponse:
        # A form a website could send without asking is never JSON by its type.
        if request.content_type != "application/json":
            return _answer(415, {"error": "the body must be application/json"})
        try:
            said = await request.json()
        except ValueError:
            return _answer(400, {"error": "the body is not JSON"})
        if not isinstance(said, dict):
            return _answer(400, {"error": "the body must be an object"})
        return await self._serve(request, self._acts, said)

    async def _serve(
        self, request: web.Request, actions: dict[str, Action], said: Json
    ) -> web.StreamResponse:
        if not may_control(request, self._token):
            return _answer(401, {"error": "the control token is missing or wrong"})
        action = actions.get(request.match_info["action"])
        if action is None:
            return _answer(404, {"error": f"no such action; known are {', '.join(actions)}"})
        try:
            result = action(said)
            if isinstance(result, Awaitable):
                result = await result
        except StageError as error:
            return _answer(400, {"error": str(error)})
        except RefusalError as refused:
            return _answer(refused.status, refused.body)
        return _answer(200, {"result": result})

    def _world(self, _asked: Json) -> Json:
        world = self._core.world
        places = [c for c in world.channels.values() if c.guild_id is None]
        return {
            "bot": payloads.user(world.bot),
            "users": [payloads.user(user) for user in world.users.values()],
            "guilds": [
                payloads.guild_create(world, guild, all_members=True)
                for guild in world.guilds.values()
            ],
            "dms": [payloads.channel(world, channel) for channel in places],
            "webhooks": [payloads.webhook(world, hook) for hook in world.webhooks.values()],
            "commands": [payloads.command(world, c) for c in world.commands.values()],
        }

    def _messages(self, asked: Json) -> list[Json]:
        """Everything in a channel, ephemeral answers too: with `ephemeral_to` and `notified`."""
        channel = self._core.world.channel(_key(asked, "channel"))
        return [
            posting.shown(self._core, item)
            | {
                "ephemeral_to": None if item.ephemeral_to is None else str(item.ephemeral_to),
                "notified": [str(user_id) for user_id in item.notified],
            }
            for item in self._core.world.messages.get(channel.id, {}).values()
        ]

    def _requests(self, _asked: Json) -> list[Json]:
        return [asdict(record) for record in self._core.journal.records]

    def _interaction(self, asked: Json) -> Json:
        item = self._core.world.interactions.get(_number(asked, "id"))
        if item is None:
            raise StageError("there is no such interaction")
        return _interaction(item)

    def _shown(self, item: Any) -> Json:
        return posting.shown(self._core, item)

    def _post(self, said: Json) -> Json:
        reply_to = _number(said, "reply_to") if said.get("reply_to") else None
        channel, content = _key(said, "channel"), _text(said, "content")
        item = self._people.post(channel, content, user=said.get("user"), reply_to=reply_to)
        return self._shown(item)

    def _press(self, said: Json) -> Json:
        message, button = _number(said, "message"), _text(said, "button")
        values = said.get("values")
        return _interaction(
            self._people.press(message, button, user=said.get("user"), values=values)
        )

    def _run(self, said: Json) -> Json:
        options = said.get("options") or {}
        return _interaction(
            self._people.run(
                _text(said, "command"),
                options,
                channel=said.get("channel"),
                user=said.get("user"),
            )
        )

    def _complete(self, said: Json) -> Json:
        command, option, typed = (_text(said, key) for key in ("command", "option", "typed"))
        place, user = said.get("channel"), said.get("user")
        return _interaction(self._people.complete(command, option, typed, channel=place, user=user))

    def _submit(self, said: Json) -> Json:
        asked = self._core.world.interactions.get(_number(said, "interaction"))
        if asked is None:
            raise StageError("there is no such interaction")
        return _interaction(self._people.submit(asked, said.get("values") or {}))

    def _fault(self, said: Json) -> None:
        self._core.faults.add(Fault.from_json(said))

    def _gateway(self, said: Json) -> None:
        hub, what = self._core.hub, said.get("do")
        match what:
            case "drop":
                hub.drop()
            case "close":
                hub.drop(_number(said, "code"))
            case "reconnect":
                hub.ask_to_reconnect()
            case "invalidate":
                hub.invalidate(resumable=said.get("resumable") is True)
            case "mute" | "unmute":
                hub.acknowledges = what == "unmute"
            case "redeliver":
                hub.redeliver(count=_number(said, "count") if "count" in said else 1)
            case _:
                raise StageError(f"gateway: `do` is one of {', '.join(_GATEWAY)}")

    def _change(self, said: Json) -> None:
        """`delete_channel`, `revoke_webhook` or `lose_permission`, at once."""
        world, what = self._core.world, said.get("do")
        if what == "delete_channel":
            changes.delete_channel(self._core, world.channel(_key(said, "channel")))
        elif what == "revoke_webhook":
            webhook = world.webhooks.get(_number(said, "webhook"))
            if webhook is None:
                raise StageError("there is no such webhook")
            changes.delete_webhook(self._core, webhook)
        elif what == "lose_permission":
            channel = world.channel(_key(said, "channel"))
            changes.deny(self._core, channel, _text(said, "permission"))
        else:
            raise StageError("change: `do` is delete_channel, revoke_webhook or lose_permission")


def _interaction(item: Interaction) -> Json:
    return {
        "id": str(item.id),
        "type": int(item.type),
        "reply": None if item.reply is None else item.reply.name.lower(),
        "message_id": None if item.original_id is None else str(item.original_id),
        "choices": item.choices,
        "modal": item.modal,
    }


def _text(said: Json, key: str) -> str:
    value = said.get(key)
    if not isinstance(value, str):
        raise StageError(f"`{key}` must be a text")
    return value


def _number(said: Json, key: str) -> int:
    value = str(said.get(key, ""))
    if not value.isdecimal():
        raise StageError(f"`{key}` must be a number")
    return int(value)


def _key(said: Json, key: str) -> int | str:
    """Ids arrive as text: JavaScript cannot hold them as numbers."""
    value = said.get(key)
    if isinstance(value, str) and value:
        return int(value) if value.isdecimal() else value
    raise StageError(f"`{key}` must be a name or an id, as a text")


def _answer(status: int, body: object) -> web.Response:
    content = json.dumps(body, default=str).encode()
    return web.Response(status=status, body=content, content_type="application/json")
