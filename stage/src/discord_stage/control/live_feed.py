"""The page's live feed: every event, numbered, over a WebSocket at `/stage/feed`.

A client's first frame has `token`, `user`, and the `epoch` and number (`after`) of the last event
that it knows. It gets the events that it missed, or `resumed: false`: then it must load everything
again.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any

from aiohttp import WSMsgType, web

from discord_stage.access_guard import is_token
from discord_stage.gateway.gateway_sessions import SessionHub
from discord_stage.interactions.data import GROUP, MESSAGE_MENU, SUBCOMMAND, USER_MENU
from discord_stage.json_bodies import parse_json
from discord_stage.payloads.message_payloads import reaction
from discord_stage.state import StageState
from discord_stage.world.event_bus import GatewayEvent
from discord_stage.world.ids import number_in
from discord_stage.world.records import Json, StageMessage
from discord_stage.world_changes import message_posting

KEPT = 2000
QUEUE_MOST = 10_000
HELLO_S = 10.0
PING_S = 20.0
BAD_HELLO, BAD_TOKEN, GOING_AWAY = 4000, 4001, 1001
_ITS_MESSAGE = ("MESSAGE_CREATE", "MESSAGE_UPDATE")


def as_people_see(state: StageState, item: StageMessage) -> Json:
    """Return a message with what a person's client shows: reactions, and who can see it."""
    return message_posting.shown(state, item) | {
        "ephemeral_to": None if item.ephemeral_to is None else str(item.ephemeral_to),
        "notified": [str(user_id) for user_id in item.notified],
        "reactions": _reactions(state, item),
        **_command(state, item),
    }


def _command(state: StageState, item: StageMessage) -> Json:
    """Return the command that a message answers, and whether it is an entry of a menu."""
    begun = state.world.interactions.get(item.interaction_id or 0)
    if begun is None or "name" not in begun.data:
        return {"command": None, "from_menu": False}
    from_menu = begun.data.get("type") in (USER_MENU, MESSAGE_MENU)
    return {"command": " ".join(_path(begun.data)), "from_menu": from_menu}


def _path(entry: Json) -> Iterator[str]:
    yield str(entry["name"])
    for option in entry.get("options") or ():
        if option["type"] in (SUBCOMMAND, GROUP):
            yield from _path(option)


def _reactions(state: StageState, item: StageMessage) -> list[Json]:
    return [
        reaction(state.world, r) | {"users": [str(user_id) for user_id in r.users]}
        for r in item.reactions
    ]


def standing_faults(state: StageState) -> list[Json]:
    """Return the active faults, and how often each has occurred."""
    return [asdict(fault) | {"struck": struck} for fault, struck in state.faults.standing()]


@dataclass(frozen=True, slots=True)
class _FeedEntry:
    number: int
    frame: str
    only_for: int | None


@dataclass(eq=False, slots=True)
class _FeedClient:
    user_id: int | None
    queue: asyncio.Queue[str | None] = field(default_factory=lambda: asyncio.Queue(QUEUE_MOST))

    def offer(self, entry: _FeedEntry) -> None:
        if entry.only_for is None or entry.only_for == self.user_id:
            self.put(entry.frame)

    def put(self, frame: str | None) -> None:
        # A page that does not read for long must load everything again.
        if self.queue.full():
            while not self.queue.empty():
                self.queue.get_nowait()
            frame = None
        self.queue.put_nowait(frame)


class LiveFeed:
    """The feed of any number of pages. Other parts of the stage may `publish` too."""

    def __init__(self, state: StageState, hub: SessionHub, token: str) -> None:
        self._state = state
        self._hub = hub
        self._token = token
        self.epoch = secrets.token_hex(8)
        self._number = 0
        self._kept: deque[_FeedEntry] = deque(maxlen=KEPT)
        self._clients: set[_FeedClient] = set()
        self._told: dict[str, Json] = {}
        state.bus.witness(self._witness)

    def publish(self, name: str, data: Json, *, only_for: int | None = None) -> None:
        """Send an event. Every page gets a CustomEvent `name` on its bus."""
        self._number += 1
        frame = json.dumps({"seq": self._number, "t": name, "d": data}, default=str)
        entry = _FeedEntry(self._number, frame, only_for)
        self._kept.append(entry)
        for client in tuple(self._clients):
            client.offer(entry)

    def bot_state(self) -> Json:
        return {"connected": bool(self._hub.connected())}

    async def watch(self) -> None:
        """Publish changes that have no gateway event: the bot's state, its commands, faults."""
        while True:
            commands = self._state.world.commands.values()
            self._tell_if_new("BOT_STATE", self.bot_state())
            self._tell_if_new("FAULTS", {"faults": standing_faults(self._state)})
            self._tell_if_new(
                "COMMANDS_UPDATE", {"ids": [f"{c.id}.{id(c.payload)}" for c in commands]}
            )
            await self._state.changes.wait()

    def _tell_if_new(self, name: str, state: Json) -> None:
        if self._told.get(name) != state:
            self._told[name] = state
            self.publish(name, state)

    def close(self) -> None:
        for client in self._clients:
            client.put(None)

    def _witness(self, event: GatewayEvent) -> None:
        # It contains the token with which it is answered.
        if event.name != "INTERACTION_CREATE":
            self.publish(event.name, self._as_seen(event), only_for=event.only_for)

    def _as_seen(self, event: GatewayEvent) -> Json:
        number = event.data.get("message_id" if "REACTION" in event.name else "id", 0)
        item = self._state.world.messages.get(event.channel_id or 0, {}).get(int(number))
        if item is None:
            return event.data
        if event.name in _ITS_MESSAGE:
            return as_people_see(self._state, item)
        if event.name.startswith("MESSAGE_REACTION"):
            return event.data | {"reactions": _reactions(self._state, item)}
        return event.data

    async def serve(self, request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse(heartbeat=PING_S * self._state.loop_scale)
        await socket.prepare(request)
        hello = await self._hello(socket)
        if hello is None:
            await socket.close(code=BAD_HELLO, message=b"the first frame is no hello")
        elif not is_token(str(hello.get("token", "")), self._token):
            await socket.close(code=BAD_TOKEN, message=b"the control token is missing or wrong")
        else:
            await self._attend(socket, hello)
        return socket

    async def _hello(self, socket: web.WebSocketResponse) -> dict[str, Any] | None:
        try:
            async with asyncio.timeout(HELLO_S * self._state.loop_scale):
                message = await socket.receive()
        except TimeoutError:
            return None
        if message.type is not WSMsgType.TEXT:
            return None
        try:
            hello = parse_json(message.data)
        except ValueError:
            return None
        return hello if isinstance(hello, dict) else None

    async def _attend(self, socket: web.WebSocketResponse, hello: dict[str, Any]) -> None:
        client = _FeedClient(number_in(str(hello.get("user") or "")))
        self._welcome(client, hello)
        self._clients.add(client)
        writer = asyncio.create_task(_write(socket, client))
        try:
            # Nothing more is expected, but reading answers pings and notices when the socket
            # closes.
            async for _ in socket:
                pass
        finally:
            self._clients.discard(client)
            writer.cancel()
            with suppress(asyncio.CancelledError):
                await writer

    def _welcome(self, client: _FeedClient, hello: dict[str, Any]) -> None:
        after = hello.get("after")
        missed = [entry for entry in self._kept if isinstance(after, int) and entry.number > after]
        first = self._number - len(missed)
        resumed = hello.get("epoch") == self.epoch and isinstance(after, int) and first == after
        greeting = {"epoch": self.epoch, "seq": self._number, "resumed": resumed}
        client.put(json.dumps({"hello": greeting}))
        for entry in missed if resumed else ():
            client.offer(entry)


async def _write(socket: web.WebSocketResponse, client: _FeedClient) -> None:
    with suppress(ConnectionError):
        while (frame := await client.queue.get()) is not None:
            await socket.send_str(frame)
        await socket.close(code=GOING_AWAY)
