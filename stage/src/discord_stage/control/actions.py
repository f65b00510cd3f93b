"""The actions of the control API, by name, with their checked values."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterable
from dataclasses import asdict

from discord_stage.control.live_feed import as_people_see, standing_faults
from discord_stage.errors import StageError
from discord_stage.gateway.gateway_sessions import SessionHub
from discord_stage.interactions.interaction_flow import interaction_payload
from discord_stage.interactions.targets import PostedFile
from discord_stage.payloads import record_payloads
from discord_stage.people_actions import PeopleActions
from discord_stage.requests.injected_faults import Fault
from discord_stage.state import StageState
from discord_stage.world.ids import number_in
from discord_stage.world.records import USERNAME_MOST, Interaction, Json, StageMessage
from discord_stage.world.world_state import Key
from discord_stage.world_changes import channel_changes

# Reads the values of a control request. An invalid value raises StageError with its key.


def text_of(said: Json, key: str) -> str:
    value = said.get(key)
    if not isinstance(value, str):
        raise StageError(f"`{key}` must be a text")
    return value


def number_of(said: Json, key: str) -> int:
    number = number_in(str(said.get(key, "")))
    if number is None:
        raise StageError(f"`{key}` must be a number")
    return number


def close_code_of(said: Json) -> int:
    """Return the close code, if it is one that a server may send (RFC 6455, 7.4)."""
    code = number_of(said, "code")
    if not (1000 <= code <= 4999 and code not in (1004, 1005, 1006, 1015)):
        raise StageError("`code` must be a close code from 1000 to 4999")
    return code


def key_of(said: Json, key: str) -> Key:
    """Return a name or an id. Ids arrive as text: JavaScript cannot hold them as numbers."""
    value = said.get(key)
    if isinstance(value, str) and value:
        number = number_in(value)
        return value if number is None else number
    raise StageError(f"`{key}` must be a name or an id, as a text")


def user_of(said: Json) -> Key | None:
    return None if said.get("user") is None else key_of(said, "user")


def texts_of(said: Json, key: str) -> list[str]:
    values = said.get(key)
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise StageError(f"`{key}` must be a list of texts")
    return values


def fields_of(said: Json) -> Json:
    values = said.get("values") or {}
    if not isinstance(values, dict):
        raise StageError("`values` must be an object")
    return {key: _field(value) for key, value in values.items()}


def _field(value: object) -> object:
    """Return a text, a switch, a list of texts, or files (`{"name": …, "content": base64}`)."""
    if isinstance(value, str | bool) or value is None:
        return value
    if isinstance(value, dict):
        return _file(value)
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return value
    if isinstance(value, list) and all(isinstance(one, dict) for one in value):
        return [_file(one) for one in value]
    raise StageError("`values` must be texts, switches, lists of texts, or files")


def options_of(said: Json) -> Json:
    """Return the options of a command. A file is `{"name": …, "content": base64}`."""
    options = said.get("options") or {}
    if not isinstance(options, dict):
        raise StageError("`options` must be an object")
    return {key: _file(v) if isinstance(v, dict) else v for key, v in options.items()}


def files_of(said: Json) -> list[PostedFile]:
    """Return the files in `[{"name": …, "content": base64, "alt": …}]`."""
    entries = said.get("files") or []
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise StageError("`files` must be a list of objects")
    return [_file(entry) for entry in entries]


def _file(entry: Json) -> PostedFile:
    return PostedFile(text_of(entry, "name"), _decoded(text_of(entry, "content")), _alt(entry))


def _alt(entry: Json) -> str | None:
    return text_of(entry, "alt") if entry.get("alt") else None


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise StageError("a file's `content` must be base64") from None


# The actions of the control API, by name. Their JSON values are checked here.


Action = Callable[[Json], object]
"""Takes the JSON object or query of a request; its result (or that of its awaitable) is the
answer."""
_GATEWAY = ("drop", "close", "reconnect", "invalidate", "mute", "unmute", "redeliver")


class ControlActions:
    """The actions. `reads` change nothing, `acts` change something."""

    def __init__(self, state: StageState, hub: SessionHub, people: PeopleActions) -> None:
        self._state = state
        self._hub = hub
        self._people = people
        self.reads: dict[str, Action] = {
            "world": self._world,
            "messages": self._messages,
            "requests": lambda _asked: [asdict(record) for record in state.request_log.records],
            "interactions": lambda asked: interaction_payload(self._interaction(asked, "id")),
            "problems": lambda _asked: list(state.request_log.problems),
        }
        self.acts: dict[str, Action] = {
            "post": self._post,
            "dm": lambda said: self._message_payload(
                people.dm(text_of(said, "content"), user=user_of(said))
            ),
            "open_dm": self._open_dm,
            "join": self._join,
            "leave": lambda said: people.leave(key_of(said, "user")),
            "edit": lambda said: self._message_payload(
                people.edit(number_of(said, "message"), text_of(said, "content"))
            ),
            "delete": lambda said: people.delete(number_of(said, "message")),
            "type": lambda said: people.type(key_of(said, "channel"), user=user_of(said)),
            "react": lambda said: people.react(
                number_of(said, "message"),
                text_of(said, "emoji"),
                user=user_of(said),
            ),
            "unreact": lambda said: people.unreact(
                number_of(said, "message"),
                text_of(said, "emoji"),
                user=user_of(said),
            ),
            "vote": lambda said: people.vote(
                number_of(said, "message"), text_of(said, "answer"), user=user_of(said)
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
            "connected": bool(self._hub.connected()),
            "faults": standing_faults(self._state),
        }

    def _messages(self, asked: Json) -> list[Json]:
        """Return a channel's messages, ephemeral ones included: those of all users, or of `user`.

        `limit` takes the newest, or the newest that are older than `before`.
        """
        channel = self._state.world.channel(key_of(asked, "channel"))
        items: Iterable[StageMessage] = self._state.world.messages.get(channel.id, {}).values()
        if asked.get("user"):
            allowed = (None, number_of(asked, "user"))
            items = [item for item in items if item.ephemeral_to in allowed]
        if asked.get("before"):
            items = [item for item in items if item.id < number_of(asked, "before")]
        picked = list(items)[-number_of(asked, "limit") :] if asked.get("limit") else items
        return [as_people_see(self._state, item) for item in picked]

    def _interaction(self, said: Json, key: str) -> Interaction:
        item = self._state.world.interactions.get(number_of(said, key))
        if item is None:
            raise StageError("there is no such interaction")
        return item

    def _message_payload(self, item: StageMessage) -> Json:
        return as_people_see(self._state, item)

    def _post(self, said: Json) -> Json:
        reply_to = number_of(said, "reply_to") if said.get("reply_to") else None
        channel, content = key_of(said, "channel"), text_of(said, "content")
        user, files = user_of(said), files_of(said)
        nonce = None if said.get("nonce") is None else text_of(said, "nonce")
        return self._message_payload(
            self._people.post(
                channel, content, user=user, reply_to=reply_to, files=files, nonce=nonce
            )
        )

    def _open_dm(self, said: Json) -> Json:
        world = self._state.world
        return record_payloads.channel(
            world, world.dm_with(self._people.somebody(user_of(said)).id)
        )

    def _join(self, said: Json) -> Json:
        invite = None if said.get("invite") is None else text_of(said, "invite")
        name = text_of(said, "user")
        if not 1 <= len(name.strip()) <= USERNAME_MOST:
            raise StageError(f"`user` must be a name of 1 to {USERNAME_MOST} characters")
        return record_payloads.user(self._people.join(name.strip(), invite=invite))

    def _press(self, said: Json) -> Json:
        message, button = (
            number_of(said, "message"),
            text_of(said, "button"),
        )
        values = None if said.get("values") is None else texts_of(said, "values")
        return interaction_payload(
            self._people.press(message, button, user=user_of(said), values=values)
        )

    def _run(self, said: Json) -> Json:
        command, place = text_of(said, "command"), said.get("channel")
        channel = None if place is None else key_of(said, "channel")
        options = options_of(said)
        return interaction_payload(
            self._people.run(command, options, channel=channel, user=user_of(said))
        )

    def _choose(self, said: Json) -> Json:
        """Use an entry in the context menu of a message, or of a `person`."""
        entry = text_of(said, "entry")
        if said.get("person") is not None:
            person = key_of(said, "person")
            place = None if said.get("channel") is None else key_of(said, "channel")
            begun = self._people.choose_for_person(entry, person, channel=place, user=user_of(said))
            return interaction_payload(begun)
        return interaction_payload(
            self._people.choose(entry, number_of(said, "message"), user=user_of(said))
        )

    def _complete(self, said: Json) -> Json:
        command, option, typed = (text_of(said, key) for key in ("command", "option", "typed"))
        channel = None if said.get("channel") is None else key_of(said, "channel")
        begun = self._people.complete(
            command,
            option,
            typed,
            options=options_of(said),
            channel=channel,
            user=user_of(said),
        )
        return interaction_payload(begun)

    def _submit(self, said: Json) -> Json:
        asked = self._interaction(said, "interaction")
        return interaction_payload(self._people.submit(asked, fields_of(said)))

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
        hub, what = self._hub, said.get("do")
        match what:
            case "drop":
                hub.drop()
            case "close":
                hub.drop(close_code_of(said))
            case "reconnect":
                hub.ask_to_reconnect()
            case "invalidate":
                hub.invalidate(resumable=said.get("resumable") is True)
            case "mute" | "unmute":
                hub.acknowledges = what == "unmute"
            case "redeliver":
                hub.redeliver(count=number_of(said, "count") if "count" in said else 1)
            case _:
                raise StageError(f"gateway: `do` is one of {', '.join(_GATEWAY)}")

    def _change(self, said: Json) -> None:
        """Do `delete_channel`, `revoke_webhook` or `lose_permission` at once."""
        world, what = self._state.world, said.get("do")
        if what == "delete_channel":
            channel_changes.delete_channel(self._state, world.channel(key_of(said, "channel")))
        elif what == "revoke_webhook":
            webhook = world.webhooks.get(number_of(said, "webhook"))
            if webhook is None:
                raise StageError("there is no such webhook")
            channel_changes.delete_webhook(self._state, webhook)
        elif what == "lose_permission":
            channel = world.channel(key_of(said, "channel"))
            channel_changes.deny(self._state, channel, text_of(said, "permission"))
        else:
            raise StageError("change: `do` is delete_channel, revoke_webhook or lose_permission")
