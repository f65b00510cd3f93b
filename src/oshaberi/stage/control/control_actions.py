"""The actions of the control API, by name. Their JSON values are checked here."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterable
from dataclasses import asdict

from oshaberi.stage.control.live_feed import as_people_see, standing_faults
from oshaberi.stage.interactions.interaction_flow import Interaction, told
from oshaberi.stage.payloads import record_payloads
from oshaberi.stage.rest.injected_faults import Fault
from oshaberi.stage.stage_errors import StageError
from oshaberi.stage.stage_state import StageState
from oshaberi.stage.world import world_changes
from oshaberi.stage.world.discord_records import Json, StageMessage
from oshaberi.stage.world.people_actions import PeopleActions, PostedFile
from oshaberi.stage.world.snowflakes import number_in
from oshaberi.stage.world.world_state import Key

Action = Callable[[Json], object]
"""Takes what was said; what it returns, or what its awaitable returns, is the answer."""
_GATEWAY = ("drop", "close", "reconnect", "invalidate", "mute", "unmute", "redeliver")


class ControlActions:
    """`reads` change nothing, `acts` do."""

    def __init__(self, state: StageState, people: PeopleActions) -> None:
        self._state = state
        self._people = people
        self.reads: dict[str, Action] = {
            "world": self._world,
            "messages": self._messages,
            "requests": lambda _asked: [asdict(record) for record in state.journal.records],
            "interactions": lambda asked: told(self._interaction(asked, "id")),
            "problems": lambda _asked: list(state.journal.problems),
        }
        self.acts: dict[str, Action] = {
            "post": self._post,
            "dm": lambda said: self._shown(people.dm(_text(said, "content"), user=_user(said))),
            "open_dm": self._open_dm,
            "edit": lambda said: self._shown(
                people.edit(_number(said, "message"), _text(said, "content"))
            ),
            "delete": lambda said: people.delete(_number(said, "message")),
            "type": lambda said: people.type(_key(said, "channel"), user=_user(said)),
            "react": lambda said: people.react(
                _number(said, "message"), _text(said, "emoji"), user=_user(said)
            ),
            "unreact": lambda said: people.unreact(
                _number(said, "message"), _text(said, "emoji"), user=_user(said)
            ),
            "press": self._press,
            "run": self._run,
            "choose": self._choose,
            "complete": self._complete,
            "submit": self._submit,
            "fault": self._fault,
            "clear_faults": self._clear_faults,
            "rate_limits": self._rate_limits,
            "gateway": self._gateway,
            "change": self._change,
        }

    def _world(self, _asked: Json) -> Json:
        world = self._state.world
        places = [c for c in world.channels.values() if c.guild_id is None]
        return {
            "bot": record_payloads.user(world.bot),
            "application_id": str(world.application.id),
            "you": str(self._people.somebody().id),
            "users": [record_payloads.user(user) for user in world.users.values()],
            "guilds": [
                record_payloads.guild_create(world, guild, all_members=True)
                for guild in world.guilds.values()
            ],
            "dms": [record_payloads.channel(world, channel) for channel in places],
            "webhooks": [record_payloads.webhook(world, hook) for hook in world.webhooks.values()],
            "commands": [record_payloads.command(world, c) for c in world.commands.values()],
            "connected": bool(self._state.hub.connected()),
            "faults": standing_faults(self._state),
        }

    def _messages(self, asked: Json) -> list[Json]:
        """A channel's messages, ephemeral answers too: those of everybody, or of `user` alone.

        `limit` takes the newest, or the newest that are older than `before`.
        """
        channel = self._state.world.channel(_key(asked, "channel"))
        items: Iterable[StageMessage] = self._state.world.messages.get(channel.id, {}).values()
        if asked.get("user"):
            allowed = (None, _number(asked, "user"))
            items = [item for item in items if item.ephemeral_to in allowed]
        if asked.get("before"):
            items = [item for item in items if item.id < _number(asked, "before")]
        picked = list(items)[-_number(asked, "limit") :] if asked.get("limit") else items
        return [as_people_see(self._state, item) for item in picked]

    def _interaction(self, said: Json, key: str) -> Interaction:
        item = self._state.world.interactions.get(_number(said, key))
        if item is None:
            raise StageError("there is no such interaction")
        return item

    def _shown(self, item: StageMessage) -> Json:
        return as_people_see(self._state, item)

    def _post(self, said: Json) -> Json:
        reply_to = _number(said, "reply_to") if said.get("reply_to") else None
        channel, content = _key(said, "channel"), _text(said, "content")
        user, files = _user(said), _files(said)
        nonce = None if said.get("nonce") is None else _text(said, "nonce")
        return self._shown(
            self._people.post(
                channel, content, user=user, reply_to=reply_to, files=files, nonce=nonce
            )
        )

    def _open_dm(self, said: Json) -> Json:
        world = self._state.world
        return record_payloads.channel(world, world.dm_with(self._people.somebody(_user(said)).id))

    def _press(self, said: Json) -> Json:
        message, button = _number(said, "message"), _text(said, "button")
        values = None if said.get("values") is None else _texts(said, "values")
        return told(self._people.press(message, button, user=_user(said), values=values))

    def _run(self, said: Json) -> Json:
        command, place = _text(said, "command"), said.get("channel")
        channel = None if place is None else _key(said, "channel")
        options = _options(said)
        return told(self._people.run(command, options, channel=channel, user=_user(said)))

    def _choose(self, said: Json) -> Json:
        entry, message = _text(said, "entry"), _number(said, "message")
        return told(self._people.choose(entry, message, user=_user(said)))

    def _complete(self, said: Json) -> Json:
        command, option, typed = (_text(said, key) for key in ("command", "option", "typed"))
        channel = None if said.get("channel") is None else _key(said, "channel")
        begun = self._people.complete(
            command, option, typed, options=_options(said), channel=channel, user=_user(said)
        )
        return told(begun)

    def _submit(self, said: Json) -> Json:
        asked = self._interaction(said, "interaction")
        return told(self._people.submit(asked, _filled_in(said)))

    def _fault(self, said: Json) -> None:
        self._state.faults.add(Fault.from_json(said))
        self._state.changes.notify()

    def _clear_faults(self, _said: Json) -> None:
        self._state.faults.clear()
        self._state.changes.notify()

    def _rate_limits(self, said: Json) -> None:
        on = said.get("on")
        if not isinstance(on, bool):
            raise StageError("rate_limits: `on` must be true or false")
        self._state.limits.on = on

    def _gateway(self, said: Json) -> None:
        hub, what = self._state.hub, said.get("do")
        match what:
            case "drop":
                hub.drop()
            case "close":
                hub.drop(_close_code(said))
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
        world, what = self._state.world, said.get("do")
        if what == "delete_channel":
            world_changes.delete_channel(self._state, world.channel(_key(said, "channel")))
        elif what == "revoke_webhook":
            webhook = world.webhooks.get(_number(said, "webhook"))
            if webhook is None:
                raise StageError("there is no such webhook")
            world_changes.delete_webhook(self._state, webhook)
        elif what == "lose_permission":
            channel = world.channel(_key(said, "channel"))
            world_changes.deny(self._state, channel, _text(said, "permission"))
        else:
            raise StageError("change: `do` is delete_channel, revoke_webhook or lose_permission")


def _text(said: Json, key: str) -> str:
    value = said.get(key)
    if not isinstance(value, str):
        raise StageError(f"`{key}` must be a text")
    return value


def _number(said: Json, key: str) -> int:
    number = number_in(str(said.get(key, "")))
    if number is None:
        raise StageError(f"`{key}` must be a number")
    return number


def _close_code(said: Json) -> int:
    """One that a server may send (RFC 6455, 7.4)."""
    code = _number(said, "code")
    if not (1000 <= code <= 4999 and code not in (1004, 1005, 1006, 1015)):
        raise StageError("`code` must be a close code from 1000 to 4999")
    return code


def _key(said: Json, key: str) -> Key:
    """Ids arrive as text: JavaScript cannot hold them as numbers."""
    value = said.get(key)
    if isinstance(value, str) and value:
        number = number_in(value)
        return value if number is None else number
    raise StageError(f"`{key}` must be a name or an id, as a text")


def _user(said: Json) -> Key | None:
    return None if said.get("user") is None else _key(said, "user")


def _texts(said: Json, key: str) -> list[str]:
    values = said.get(key)
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise StageError(f"`{key}` must be a list of texts")
    return values


def _filled_in(said: Json) -> dict[str, str]:
    values = said.get("values") or {}
    if not isinstance(values, dict) or not all(isinstance(v, str) for v in values.values()):
        raise StageError("`values` must be an object of texts")
    return values


def _options(said: Json) -> Json:
    options = said.get("options") or {}
    if not isinstance(options, dict):
        raise StageError("`options` must be an object")
    return options


def _files(said: Json) -> list[PostedFile]:
    """`[{"name": …, "content": base64, "alt": …}]`."""
    entries = said.get("files") or []
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise StageError("`files` must be a list of objects")
    return [
        PostedFile(_text(entry, "name"), _decoded(_text(entry, "content")), _alt(entry))
        for entry in entries
    ]


def _alt(entry: Json) -> str | None:
    return _text(entry, "alt") if entry.get("alt") else None


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise StageError("a file's `content` must be base64") from None
