"""The shards of a client: which are connected, and how each is started and stopped."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import defaultdict
from collections.abc import Callable, Coroutine, Iterable, Mapping
from contextlib import suppress
from typing import Any, Protocol

import aiohttp
import discord
import yarl
from discord.gateway import DiscordWebSocket, ReconnectWebSocket
from discord.shard import EventItem, Shard
from discord.state import AutoShardedConnectionState

from oshaberi.bot.coordination.reconnect_backoff import ReconnectBackoff
from oshaberi.bot.turns.caches import BoundedCache, KeyedLocks
from oshaberi.clocks import loop_time_s
from oshaberi.errors import TemporaryError
from oshaberi.terminal_output import counted

LATE_SECONDS = 10.0
"""How long an acknowledgement may arrive after the next heartbeat is due."""


class GatewayState:
    """Which shards of a client are connected. The client reports when one connects or disconnects.

    discord.py's `is_ready` stays true while a shard reconnects. So this follows the events of the
    shards, and checks when Discord last acknowledged each shard's heartbeat.
    """

    def __init__(
        self, client: discord.AutoShardedClient, now_s: Callable[[], float] = time.perf_counter
    ) -> None:
        self._client = client
        self._now_s = now_s
        self._connected: set[int] = set()

    def note_connected(self, shard_id: int) -> None:
        self._connected.add(shard_id)

    def note_lost(self, shard_id: int) -> None:
        self._connected.discard(shard_id)

    def shard_ids(self) -> tuple[int, ...]:
        """Return the shards that the client has started."""
        return tuple(sorted(self._client.shards))

    def missing(self) -> tuple[int, ...]:
        """Return the started shards that are not connected."""
        shards = self._client.shards
        return tuple(one for one in sorted(shards) if not self._is_up(shards[one]))

    def is_connected(self, shard_id: int) -> bool:
        """Return whether a shard is connected, and Discord answers its heartbeats."""
        shard = self._client.shards.get(shard_id)
        return shard is not None and self._is_up(shard)

    def connected_count(self) -> int:
        return len(self.shard_ids()) - len(self.missing())

    def problem(self) -> str | None:
        """Describe what is wrong with the connection to Discord; None if nothing is."""
        if self._client.is_closed():
            return "the bot has ended"
        if not self._client.is_ready():
            return "not connected to Discord"
        missing = self.missing()
        if not missing:
            return None
        count = len(self.shard_ids())
        which = "" if count == 1 else f" (shards {', '.join(map(str, missing))} of {count})"
        return f"not connected to Discord{which}"

    def _is_up(self, shard: discord.ShardInfo) -> bool:
        connected = shard.id in self._connected and not shard.is_closed()
        return connected and self._silence_s(shard) < LATE_SECONDS

    def _silence_s(self, shard: discord.ShardInfo) -> float:
        """Return how many seconds an acknowledgement is overdue; negative if it is not."""
        beats = shard._parent.ws._keep_alive  # noqa: SLF001
        if beats is None or beats.interval is None:
            return 0.0
        return self._now_s() - beats._last_ack - beats.interval  # noqa: SLF001


MOST_GUILDS = 100
FRESH_SECONDS = 60.0
"""How long a fetched guild is used again: channels of one guild are often fetched together."""

Fetched = discord.abc.GuildChannel | discord.abc.PrivateChannel | discord.Thread


class ChannelsOfOtherShards:
    """Fetches channels of guilds that another process serves.

    discord.py knows only the guilds of its own shards. When it fetches a channel of another guild,
    that guild has no roles and no member for the bot, so the bot's permissions would be unknown.
    """

    def __init__(self, client: discord.Client) -> None:
        self._client = client
        self._guilds: BoundedCache[int, tuple[float, discord.Guild]] = BoundedCache(MOST_GUILDS)
        self._fetching: KeyedLocks[int] = KeyedLocks()

    async def channel(self, channel_id: int) -> Fetched:
        """Fetch a channel by id. Raises what discord.py raises."""
        channel = await self._client.fetch_channel(channel_id)
        if isinstance(channel, discord.abc.PrivateChannel):
            return channel
        if self._client.get_guild(channel.guild.id) is not None:
            return channel
        guild = await self._guild(channel.guild.id)
        channel = await guild.fetch_channel(channel_id)
        if isinstance(channel, discord.Thread) and channel.parent is None:
            # The permissions in a thread are those of its channel.
            parent = await guild.fetch_channel(channel.parent_id)
            if not isinstance(parent, discord.Thread):
                guild._add_channel(parent)  # noqa: SLF001
        return channel

    async def _guild(self, guild_id: int) -> discord.Guild:
        now = loop_time_s()
        async with self._fetching.through(guild_id):
            known = self._guilds.get(guild_id)
            if known is not None and now - known[0] < FRESH_SECONDS:
                return known[1]
            guild = await self._fetch_guild(guild_id)
            self._guilds.put(guild_id, (now, guild))
            return guild

    async def _fetch_guild(self, guild_id: int) -> discord.Guild:
        guild = await self._client.fetch_guild(guild_id, with_counts=False)
        me = self._client.user
        if me is not None:
            # discord.py has no public way to add the bot's own member.
            guild._add_member(await guild.fetch_member(me.id))  # noqa: SLF001
        return guild


class ArrivingServers(asyncio.Queue[discord.Guild]):
    """The servers of a shard that READY named, in the order in which they arrive.

    Each arrives as an event of its own, and discord.py does not count them: it counts a shard as
    ready when none has arrived for `guild_ready_timeout` seconds. That long pause is only needed if
    there is a server that Discord cannot send. So once all have been taken, `get` raises
    TimeoutError, as if discord.py's wait were over.
    """

    def __init__(self, named: Iterable[int]) -> None:
        super().__init__()
        self._missing = set(named)

    def put_nowait(self, item: discord.Guild) -> None:
        self._missing.discard(item.id)
        super().put_nowait(item)

    async def get(self) -> discord.Guild:
        if self.empty() and not self._missing:
            raise TimeoutError
        return await super().get()


class LastingConnectionState(AutoShardedConnectionState[Any]):
    """discord.py's state, with one lasting object per server, and shards that get ready at once.

    A new session sends all servers again. discord.py makes new objects of them, and each message
    and member that is kept would hold a copy of its whole server from the session in which it came.
    So the objects stay, and only what they contain is replaced.
    """

    def parse_ready(self, data: Any) -> None:
        servers = ArrivingServers(int(guild["id"]) for guild in data["guilds"])
        self._ready_states[data["shard"][0]] = servers
        super().parse_ready(data)

    def _add_guild_from_data(self, data: Any) -> discord.Guild:
        """Create a server, or replace what a known one contains.

        READY only names the server: running turns continue with what it contained before.
        """
        known = self._get_guild(int(data["id"]))
        if known is None:
            return super()._add_guild_from_data(data)
        if data.get("unavailable"):
            known.unavailable = True
        else:
            discord.Guild.__init__(known, data=data, state=self)
        return known

    def _get_create_guild(self, data: Any) -> discord.Guild:
        return self._add_guild_from_data(data)

    def forget_servers(self, is_gone: Callable[[discord.Guild], bool]) -> None:
        """Forget servers that another process will serve, together with their data."""
        for guild in [one for one in self.guilds if is_gone(one)]:
            self._remove_guild(guild)
        kept = [one for one in self._messages or () if one.guild is None or not is_gone(one.guild)]
        if self._messages is not None:
            self._messages.clear()
            self._messages.extend(kept)


log = logging.getLogger(__name__)

IDENTIFY_SECONDS = 5.0
"""Discord accepts one IDENTIFY of a small bot in this time."""
ANSWER_SECONDS = 30.0
"""An IDENTIFY without an answer for this long never arrived."""
CONNECT_SECONDS = 60.0
CLOSE_SECONDS = 2.0
"""How long Discord may take to confirm that a shard is closed. Nothing is read in that time."""
FAULTS = (aiohttp.ClientError, discord.DiscordException, ReconnectWebSocket, TimeoutError)


class ShardTerms(Protocol):
    """What a client asks the shard keeper about its shards."""

    async def begin(self, host: MovableShardsClient, recommended: int, max_concurrency: int) -> int:
        """Return the total number of shards of the bot."""

    async def identify_turn(self, shard_id: int) -> None:
        """Wait for permission to send IDENTIFY. Raises OSError if the shard is not ours."""

    def holds(self, shard_id: int) -> bool: ...


class MovableShard(Shard):
    """A shard that can be given up, or closed. After that it never connects again."""

    is_given_up = False

    def __init__(self, ws: DiscordWebSocket, client: MovableShardsClient) -> None:
        super().__init__(ws, client, client._AutoShardedClient__queue.put_nowait)  # noqa: SLF001
        self._backoff: ReconnectBackoff = ReconnectBackoff()
        self._reconnecting: asyncio.Task[None] | None = None

    def launch(self) -> None:
        if self.is_given_up:
            self._task = asyncio.create_task(self.ws.close(code=1000))
        else:
            super().launch()

    async def reidentify(self, exc: ReconnectWebSocket) -> None:
        self._begin(super().reidentify(exc))

    async def reconnect(self) -> None:
        self._begin(super().reconnect())

    def _begin(self, connecting: Coroutine[Any, Any, None]) -> None:
        """Connect in a task. The client awaits its shards one by one, even while they wait."""
        if self.is_given_up:
            connecting.close()
        else:
            self._reconnecting = asyncio.create_task(connecting)

    async def _handle_disconnect(self, e: Exception) -> None:
        if not self.is_given_up:
            await super()._handle_disconnect(e)

    async def give_up(self) -> None:
        """Close the connection; if it is still being opened, as soon as it is open."""
        self.is_given_up = True
        self._cancel_task()
        # Do not wait for a gateway that does not confirm it.
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await self.ws.close(code=1000)
        except (TimeoutError, OSError, aiohttp.ClientError):
            pass

    async def close(self) -> None:
        """Close the connection because the client is closing all of them."""
        if self._reconnecting is not None:
            self._reconnecting.cancel()
        await self.give_up()


class MovableShardsClient(discord.AutoShardedClient):
    """A client whose shards can move between processes.

    discord.py starts all shards of an `AutoShardedClient` once and keeps them. With `ShardTerms`
    this client starts none by itself: the shard keeper starts and stops them (decision 20). With or
    without, a shard that cannot connect waits for half a minute at most, does not hold up the other
    shards, and gives up when the client is closed. discord.py's own shards do none of this.
    """

    # private attributes of discord.py, under their mangled names
    _connection: LastingConnectionState
    _AutoShardedClient__shards: dict[int, Shard]
    _AutoShardedClient__queue: asyncio.PriorityQueue[EventItem]

    def __init__(self, *, shard_terms: ShardTerms | None = None, **options: Any) -> None:
        super().__init__(**options)
        self._terms = shard_terms
        self._gateway: yarl.URL | None = None
        self._sockets: dict[int, DiscordWebSocket] = {}
        """The newest socket of each shard, from before it sends IDENTIFY."""
        if shard_terms is not None:
            self._connection._update_references = self._note_socket  # type: ignore[method-assign]  # noqa: SLF001
        self._identifying = asyncio.Lock()
        self._identified: int | None = None
        """The shard that sent the last IDENTIFY."""
        self._answered = asyncio.Event()
        """Set when Discord has answered it, or the connection has ended."""
        self._answered.set()
        self._caught_up: defaultdict[int, asyncio.Event] = defaultdict(asyncio.Event)
        """Set for a shard when the messages that it missed have been found."""
        self._first: defaultdict[str, list[Callable[..., object]]] = defaultdict(list)
        for event in ("shard_connect", "shard_disconnect"):
            self._first[event].append(self._note_answer)

    def _get_state(self, **options: Any) -> LastingConnectionState:
        return LastingConnectionState(
            dispatch=self.dispatch,
            handlers=self._handlers,
            hooks=self._hooks,
            http=self.http,
            **options,
        )

    @property
    def has_movable_shards(self) -> bool:
        return self._terms is not None

    def has_shard(self, shard_id: int) -> bool:
        """Return whether this process has a shard."""
        if self._terms is not None:
            return self._terms.holds(shard_id)
        return self.shard_ids is None or shard_id in self.shard_ids

    def knows_servers_of(self, shard_id: int) -> bool:
        """Return whether this process has a shard and already knows its servers."""
        is_told = self._terms is None or self._caught_up[shard_id].is_set()
        return self.has_shard(shard_id) and is_told

    def shard_of(self, server_id: int) -> int:
        """Return the shard of a server. Server 0 (direct messages) belongs to shard 0."""
        return (server_id >> 22) % (self.shard_count or 1)

    async def launch_shards(self) -> None:
        """Start the shards, unless the shard keeper does that."""
        if self._terms is None:
            await super().launch_shards()
            return
        recommended, url, limits = await self.http.get_bot_gateway()
        if limits["remaining"] <= 0:
            minutes = limits["reset_after"] // 60_000 + 1
            raise TemporaryError(
                f"Discord allows no further session for {counted(minutes, 'minute')}"
            )
        self._gateway = yarl.URL(url)
        count = await self._terms.begin(self, recommended, limits["max_concurrency"])
        self.shard_count = self._connection.shard_count = count
        self._connection.shard_ids = range(count)
        # There may be no shard for a long time, so start now whatever needs none.
        self._connection.call_handlers("ready")
        self.dispatch("ready")

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:
        if self._terms is None or shard_id is None:
            await self._own_identify_turn(shard_id, is_first=initial)
            return
        try:
            await self._terms.identify_turn(shard_id)
        except BaseException:
            # Nothing else can close this connection, and its thread would go on sending heartbeats.
            if (socket := self._sockets.get(shard_id)) is not None:
                await socket.close(code=1000)
            raise

    async def _own_identify_turn(self, shard_id: int | None, *, is_first: bool) -> None:
        """Wait until Discord has answered the last IDENTIFY, and then for as long as it asks.

        The time since sending is not a safe measure: the last one may have taken longer to arrive
        than the next one will.
        """
        async with self._identifying:
            if not is_first:
                with suppress(TimeoutError):
                    async with asyncio.timeout(ANSWER_SECONDS):
                        await self._answered.wait()
                await asyncio.sleep(IDENTIFY_SECONDS)
            self._identified = shard_id
            self._answered.clear()

    def hear_first(self, listeners: Mapping[str, Callable[..., object]]) -> None:
        """Call these with their events before all handlers, and before the next event arrives."""
        for event, listener in listeners.items():
            self._first[event].append(listener)

    def dispatch(self, event: str, /, *args: Any, **kwargs: Any) -> None:
        for listener in self._first.get(event, ()):
            listener(*args)
        super().dispatch(event, *args, **kwargs)

    def _note_answer(self, shard_id: int) -> None:
        if shard_id == self._identified:
            self._answered.set()

    def _note_socket(self, ws: DiscordWebSocket) -> None:
        """Note a new connection. discord.py calls this; its own method is for voice only."""
        if ws.shard_id is not None:
            self._sockets[ws.shard_id] = ws

    async def launch_shard(
        self, gateway: yarl.URL, shard_id: int, *, initial: bool = False
    ) -> None:
        """Connect a shard at the start, however long Discord's gateway is down."""
        self._gateway = gateway
        backoff, level = ReconnectBackoff(), logging.WARNING
        while not self.is_closed():
            try:
                await self._connect_shard(shard_id, initial=initial)
                return
            except (*FAULTS, OSError) as error:
                reason = str(error) or repr(error)
                log.log(level, "shard %d is not connected, and keeps trying: %s", shard_id, reason)
                level, initial = logging.DEBUG, False
                self._note_answer(shard_id)
                await asyncio.sleep(backoff.delay())
            except RuntimeError:
                if not self.is_closed():  # then its session is closed too
                    raise

    async def start_shard(self, shard_id: int) -> None:
        """Connect a shard. Raises OSError if a later attempt may succeed."""
        self._caught_up[shard_id].clear()
        try:
            await self._connect_shard(shard_id)
        except FAULTS as error:
            raise OSError(f"Discord's gateway: {error!r}") from error

    async def _connect_shard(self, shard_id: int, *, initial: bool = False) -> None:
        opening = DiscordWebSocket.from_client(
            self, initial=initial, gateway=self._gateway, shard_id=shard_id
        )
        # Not `wait_for`: on Python 3.11 it may lose the cancellation that ends the process.
        async with asyncio.timeout(CONNECT_SECONDS):
            socket = await opening
        shard = self._AutoShardedClient__shards[shard_id] = MovableShard(socket, self)
        shard.launch()

    async def stop_shard(self, shard_id: int) -> None:
        """Disconnect a shard and forget its servers, which another process will serve."""
        shard = self._AutoShardedClient__shards.pop(shard_id, None)
        if isinstance(shard, MovableShard):
            await shard.give_up()
        state = self._connection
        task = state._ready_tasks.pop(shard_id, None)  # noqa: SLF001
        if task is not None:
            task.cancel()
        state._ready_states.pop(shard_id, None)  # noqa: SLF001
        state.forget_servers(lambda guild: self.shard_of(guild.id) == shard_id)
        self._caught_up.pop(shard_id, asyncio.Event()).set()
        self.dispatch("shard_disconnect", shard_id)

    def catch_up(self, shard_id: int) -> None:
        """Hold back new messages of a shard until its missed messages are found."""
        if self._terms is not None:
            self._caught_up[shard_id].clear()

    def note_caught_up(self, shard_id: int) -> None:
        if self._terms is not None and self._terms.holds(shard_id):
            self._caught_up[shard_id].set()

    async def turn_of(self, server_id: int) -> None:
        """Wait until a server's missed messages have been found: the bot answers them first."""
        shard_id = self.shard_of(server_id)
        if self._terms is not None and self._terms.holds(shard_id):
            await self._caught_up[shard_id].wait()
