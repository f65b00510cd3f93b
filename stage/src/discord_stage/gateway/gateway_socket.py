"""The gateway's WebSocket: HELLO, IDENTIFY, RESUME, heartbeats, member chunks, close codes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from aiohttp import WSMsgType, web

from discord_stage.gateway import intents
from discord_stage.gateway.gateway_sessions import (
    HEARTBEAT,
    INVALID_SESSION,
    GatewayConnection,
    GatewaySession,
    SessionHub,
)
from discord_stage.json_bodies import parse_json
from discord_stage.payloads import record_payloads
from discord_stage.state import StageState
from discord_stage.world.ids import number_in
from discord_stage.world.records import Guild, Json, Member

IDENTIFY, RESUME, REQUEST_MEMBERS, HELLO, HEARTBEAT_ACK = 2, 6, 8, 10, 11
IGNORED = frozenset({3, 4, 31})
"""Presence, voice state, soundboard: accepted, without effect."""
UNKNOWN_OPCODE, DECODE_ERROR, NOT_AUTHENTICATED, BAD_TOKEN = 4001, 4002, 4003, 4004
ALREADY_AUTHENTICATED, BAD_SEQUENCE, BAD_SHARD = 4005, 4007, 4010
BAD_INTENTS, DISALLOWED_INTENTS = 4013, 4014
CHUNK = 1000
FRAME_MOST = 1024 * 1024
"""In bytes. Discord accepts 4096, and no client sends that much."""


class _SocketClosedError(Exception):
    """The server ends the connection with this code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Gateway:
    """Serves `/gw/`."""

    def __init__(self, state: StageState, hub: SessionHub) -> None:
        self._state = state
        self._hub = hub

    async def serve(self, request: web.Request) -> web.StreamResponse:
        if self._hub.refuses:
            self._hub.refused += 1
            self._state.changes.notify()
            return web.Response(status=503)
        socket = web.WebSocketResponse(compress=False, max_msg_size=FRAME_MOST)
        await socket.prepare(request)
        # zstd needs a package of its own; plain frames are accepted whatever the client asked for
        # (facts)
        compress = request.query.get("compress") == "zlib-stream"
        connection = GatewayConnection(socket, request, compress)
        writer = asyncio.create_task(connection.write())
        try:
            await _GatewayConversation(self._state, self._hub, connection).run(socket)
            await writer
        finally:
            writer.cancel()
            with suppress(asyncio.CancelledError):
                await writer
        return socket


class _GatewayConversation:
    """The exchange on one connection."""

    def __init__(self, state: StageState, hub: SessionHub, connection: GatewayConnection) -> None:
        self._state = state
        self._hub = hub
        self._connection = connection
        self._session: GatewaySession | None = None
        self._answers: dict[int, Callable[[Json], None]] = {
            IDENTIFY: self._identify,
            RESUME: self._resume,
            REQUEST_MEMBERS: self._chunk,
        }

    async def run(self, socket: web.WebSocketResponse) -> None:
        # discord.py sends heartbeats by the wall clock, but its time-outs use the loop's clock.
        interval = max(1, round(self._state.settings.heartbeat_ms / self._state.loop_scale))
        self._connection.send(HELLO, {"heartbeat_interval": interval})
        try:
            async for message in socket:
                # Some libraries (hikari) send their JSON as bytes, and Discord accepts that.
                if message.type in (WSMsgType.TEXT, WSMsgType.BINARY):
                    self._hear(message.data)
        except _SocketClosedError as closed:
            self._connection.close(closed.code)
        finally:
            self._leave()
        self._connection.close(1000)

    def _leave(self) -> None:
        session = self._session
        # In the meantime the session may have been resumed on another socket.
        if session is not None and session.connection is self._connection:
            session.connection = None
        self._state.changes.notify()

    def _hear(self, text: str | bytes) -> None:
        try:
            payload = parse_json(text)
            op, data = payload["op"], payload.get("d")
        except (ValueError, KeyError, TypeError, AttributeError):
            raise _SocketClosedError(DECODE_ERROR) from None
        if not isinstance(op, int):
            raise _SocketClosedError(DECODE_ERROR)
        if op == HEARTBEAT:
            self._heartbeat(data)
        elif op in self._answers:
            if not isinstance(data, dict):
                raise _SocketClosedError(DECODE_ERROR)
            self._answers[op](data)
        elif op not in IGNORED:
            raise _SocketClosedError(UNKNOWN_OPCODE)
        self._state.changes.notify()

    def _heartbeat(self, sequence: object) -> None:
        if self._session is not None and isinstance(sequence, int):
            self._session.acknowledged = max(self._session.acknowledged, sequence)
        if not self._hub.acknowledges:
            return
        delay_s = self._state.settings.heartbeat_ack_s * self._state.loop_scale
        if not delay_s:
            self._connection.send(HEARTBEAT_ACK, None)
            return
        asyncio.get_running_loop().call_later(delay_s, self._connection.send, HEARTBEAT_ACK, None)

    def _check_token(self, data: Json) -> None:
        if data.get("token") != self._state.world.application.token:
            raise _SocketClosedError(BAD_TOKEN)

    def _identify(self, data: Json) -> None:
        if self._session is not None:
            raise _SocketClosedError(ALREADY_AUTHENTICATED)
        self._check_token(data)
        wanted, shard = self._intents(data.get("intents")), _shard(data)
        hub = self._hub
        if hub.starts_left() == 0:
            raise _SocketClosedError(BAD_TOKEN)
        if not hub.may_identify(shard[0]):
            self._connection.send(INVALID_SESSION, False)
            return
        session = GatewaySession(wanted, shard, self._state.settings.replay_most)
        session.connection = self._connection
        self._session = session
        hub.sessions[session.id] = session
        self._greet(session)

    def _intents(self, wanted: object) -> int:
        if not isinstance(wanted, int) or wanted & ~intents.KNOWN:
            raise _SocketClosedError(BAD_INTENTS)
        granted = self._state.world.application.privileged
        for name, intent in intents.PRIVILEGED.items():
            if wanted & intent and name not in granted:
                raise _SocketClosedError(DISALLOWED_INTENTS)
        return wanted

    def _greet(self, session: GatewaySession) -> None:
        world = self._state.world
        guilds = [g for g in world.guilds.values() if session.handles(g.id)]
        ready: Json = {
            "v": 10,
            "user": record_payloads.own_user(world),
            "guilds": [{"id": str(guild.id), "unavailable": True} for guild in guilds],
            "session_id": session.id,
            "resume_gateway_url": self._state.url.replace("http", "ws", 1) + "/gw/",
            "application": {
                "id": str(world.application.id),
                "flags": record_payloads.application_flags(world),
            },
            "private_channels": [],
            "shard": list(session.shard),
        }
        session.dispatch("READY", ready)
        if session.intents & intents.Intent.GUILDS:
            everybody = bool(session.intents & intents.Intent.MEMBERS)
            for guild in guilds:
                data = record_payloads.guild_create(world, guild, all_members=everybody)
                session.dispatch("GUILD_CREATE", data)

    def _resume(self, data: Json) -> None:
        self._check_token(data)
        session = self._hub.sessions.get(str(data.get("session_id")))
        sequence = data.get("seq")
        if not isinstance(sequence, int) or session is None or not session.can_resume(sequence):
            self._connection.send(INVALID_SESSION, False)
            return
        if sequence > session.sequence:
            raise _SocketClosedError(BAD_SEQUENCE)
        self._session = session
        session.resume(self._connection, sequence)
        self._hub.resumed += 1
        session.dispatch("RESUMED", {})

    def _chunk(self, data: Json) -> None:
        session = self._session
        if session is None:
            raise _SocketClosedError(NOT_AUTHENTICATED)
        guild = self._state.world.guilds.get(_number(data.get("guild_id")))
        if guild is None:
            return
        people, missing = _asked_for(guild, data)
        parts = [people[i : i + CHUNK] for i in range(0, len(people), CHUNK)] or [[]]
        for index, part in enumerate(parts):
            answer: Json = {
                "guild_id": str(guild.id),
                "members": [record_payloads.member(member) for member in part],
                "chunk_index": index,
                "chunk_count": len(parts),
                "not_found": missing,
                "nonce": data.get("nonce"),
            }
            session.dispatch("GUILD_MEMBERS_CHUNK", answer)


def _shard(data: Json) -> tuple[int, int]:
    shard = data.get("shard", [0, 1])
    match shard:
        case [int(number), int(count)] if 0 <= number < count:
            return number, count
        case _:
            raise _SocketClosedError(BAD_SHARD)


def _number(value: object) -> int:
    return number_in(str(value)) or 0


def _asked_for(guild: Guild, data: Json) -> tuple[list[Member], list[str]]:
    """Return the members asked for by id or by the beginning of a name, and the unknown ids."""
    wanted = data.get("user_ids")
    if wanted is not None:
        ids = [_number(u) for u in (wanted if isinstance(wanted, list) else [wanted])]
        found = [guild.members[i] for i in ids if i in guild.members]
        return found, [str(i) for i in ids if i not in guild.members]
    start = str(data.get("query") or "").lower()
    matching = [m for m in guild.members.values() if _called(m).startswith(start)]
    most = _number(data.get("limit"))
    return (matching[:most] if most else matching), []


def _called(member: Member) -> str:
    return (member.nick or member.user.display_name or member.user.name).lower()
