"""Gateway sessions: each has its socket, the events it was sent and those it missed."""

from __future__ import annotations

import asyncio
import json
import secrets
import zlib
from collections import deque
from collections.abc import Iterable
from contextlib import suppress

from aiohttp import web

from discord_stage.gateway import intents
from discord_stage.state import StageState
from discord_stage.world.event_bus import GatewayEvent
from discord_stage.world.permissions import Permission
from discord_stage.world.records import Json

_EVERYWHERE = ("CHANNEL_", "INTERACTION_")
"""Events that a bot gets even from channels that it cannot see."""
HEARTBEAT, RECONNECT, INVALID_SESSION = 1, 7, 9


class GatewayConnection:
    """One WebSocket. Frames are queued at once and written in order."""

    def __init__(self, socket: web.WebSocketResponse, request: web.Request, compress: bool) -> None:
        self._socket = socket
        self._request = request
        self._zlib = zlib.compressobj() if compress else None
        self._queue: asyncio.Queue[str | int] = asyncio.Queue()

    def send(self, op: int, data: object) -> None:
        self._queue.put_nowait(json.dumps({"op": op, "d": data, "s": None, "t": None}))

    def send_frame(self, frame: str) -> None:
        self._queue.put_nowait(frame)

    def close(self, code: int) -> None:
        """Close the connection after the queued frames."""
        self._queue.put_nowait(code)

    def abort(self) -> None:
        """Cut the connection without a close frame."""
        if self._request.transport is not None:
            self._request.transport.abort()

    async def write(self) -> None:
        """Write the queue. Runs as a task while the socket is open."""
        with suppress(ConnectionError):
            while True:
                item = await self._queue.get()
                if isinstance(item, int):
                    await self._socket.close(code=item)
                    return
                await self._write_frame(item)

    async def _write_frame(self, frame: str) -> None:
        if self._zlib is None:
            await self._socket.send_str(frame)
            return
        packed = self._zlib.compress(frame.encode()) + self._zlib.flush(zlib.Z_SYNC_FLUSH)
        await self._socket.send_bytes(packed)


class GatewaySession:
    """A session, started by IDENTIFY. It outlives its socket, so that the client can resume it."""

    def __init__(self, wanted: int, shard: tuple[int, int], replay_most: int) -> None:
        self.id = secrets.token_hex(16)
        self.intents = wanted
        self.shard = shard
        self.sequence = 0
        self.acknowledged = 0
        self.connection: GatewayConnection | None = None
        self._sent: deque[tuple[int, str]] = deque(maxlen=replay_most)
        self._dispatched: deque[tuple[str, Json]] = deque(maxlen=replay_most)

    def dispatch(self, name: str, data: Json) -> None:
        self.sequence += 1
        frame = json.dumps({"op": 0, "t": name, "s": self.sequence, "d": data})
        self._sent.append((self.sequence, frame))
        self._dispatched.append((name, data))
        if self.connection is not None:
            self.connection.send_frame(frame)

    def can_resume(self, sequence: int) -> bool:
        first = self._sent[0][0] if self._sent else self.sequence + 1
        return first <= sequence + 1

    def resume(self, connection: GatewayConnection, sequence: int) -> int:
        """Send the missed events. Return their number."""
        self.connection = connection
        missed = [frame for number, frame in self._sent if number > sequence]
        for frame in missed:
            connection.send_frame(frame)
        return len(missed)

    def last_dispatched(self, name: str, count: int) -> list[Json]:
        return [data for event, data in self._dispatched if event == name][-count:]

    def handles(self, guild_id: int | None) -> bool:
        """Return whether this shard gets a guild's events. DMs go to shard 0 (facts: Scale)."""
        number, count = self.shard
        return number == (0 if guild_id is None else (guild_id >> 22) % count)


class SessionHub:
    """All sessions. It also injects faults of the gateway."""

    def __init__(self, state: StageState) -> None:
        self._state = state
        self.sessions: dict[str, GatewaySession] = {}
        self.acknowledges = True
        """If False, heartbeats stay unanswered, as on a half-dead connection."""
        self.refuses = False
        """If True, new connections are answered with HTTP 503, as in an outage."""
        self.refused = 0
        self.resumed = 0
        self.identified = 0
        self.too_early = 0
        """IDENTIFYs that came too soon after another of their bucket."""
        self.overlaps = 0
        """IDENTIFYs of a shard while another session of it was connected."""
        self._identified_at: dict[int, float] = {}
        state.bus.listen(self._deliver)

    def connected(self) -> list[GatewaySession]:
        return [session for session in self.sessions.values() if session.connection is not None]

    def may_identify(self, shard_id: int) -> bool:
        """Return whether a shard may start a session now, and count the session (facts: Scale)."""
        settings, now = self._state.settings, self._state.now()
        bucket = shard_id % settings.max_concurrency
        last = self._identified_at.get(bucket)
        if last is not None and now - last < settings.identify_s:
            self.too_early += 1
            return False
        self._identified_at[bucket] = now
        self.identified += 1
        self.overlaps += any(one.shard[0] == shard_id for one in self.connected())
        return True

    def starts_left(self) -> int | None:
        """Return how many more sessions may be started; None without a limit."""
        most = self._state.settings.session_starts
        return None if most is None else max(0, most - self.identified)

    def drop(self, code: int | None = None) -> None:
        """Cut every connection, without a close frame or with this code."""
        for session in self.connected():
            connection, session.connection = session.connection, None
            if connection is not None:
                connection.abort() if code is None else connection.close(code)

    def freeze(self) -> None:
        """Send nothing more on the open connections, which still look alive to the client."""
        for session in self.connected():
            session.connection = None
        self.acknowledges = False

    def ask_to_reconnect(self) -> None:
        for connection in self._connections():
            connection.send(RECONNECT, None)

    def invalidate(self, *, resumable: bool = False) -> None:
        for session in self.connected():
            if not resumable:
                del self.sessions[session.id]
            if session.connection is not None:
                session.connection.send(INVALID_SESSION, resumable)

    def redeliver(self, name: str = "MESSAGE_CREATE", count: int = 1) -> None:
        """Send the last events of this name once more, as a replay after RESUME can."""
        for session in self.sessions.values():
            for data in session.last_dispatched(name, count):
                session.dispatch(name, data)

    async def caught_up(self) -> None:
        """Wait until every connected client has read all its events.

        The stage asks for a heartbeat. The client answers in order, and the heartbeat names the
        last event that it has read.
        """
        waiting = [(session, session.sequence) for session in self.connected()]
        for session, sequence in waiting:
            # Ask only if necessary: discord.py sends at most 110 frames a minute.
            if session.connection is not None and _is_behind(session, sequence):
                session.connection.send(HEARTBEAT, None)
        while any(_is_behind(session, sequence) for session, sequence in waiting):
            await self._state.changes.wait()

    def dispatched(self) -> int:
        """Return how many events all sessions were sent in total."""
        return sum(session.sequence for session in self.sessions.values())

    def _connections(self) -> Iterable[GatewayConnection]:
        return [session.connection for session in self.connected() if session.connection]

    def _deliver(self, event: GatewayEvent) -> None:
        for session in tuple(self.sessions.values()):
            if self._wanted(session, event):
                bot_id = self._state.world.bot.id
                session.dispatch(event.name, intents.as_seen(event, session.intents, bot_id))

    def _wanted(self, session: GatewaySession, event: GatewayEvent) -> bool:
        if event.only_for is not None:
            return False
        if not session.handles(event.guild_id) or not intents.wants(session.intents, event):
            return False
        world = self._state.world
        channel = world.channels.get(event.channel_id or 0)
        if channel is None or event.name.startswith(_EVERYWHERE):
            return True
        return bool(world.permissions_of(world.bot.id, channel) & Permission.VIEW_CHANNEL)


def _is_behind(session: GatewaySession, sequence: int) -> bool:
    return session.connection is not None and session.acknowledged < sequence
