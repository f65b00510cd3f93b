"""The bot's connection to Discord: hears messages and hands them on, has commands, finds rooms."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import discord

from oshaberi.bot.client.discord_turn_channel import DiscordTurnChannel
from oshaberi.bot.client.incoming_messages import NOT_FOUND, MessageReader
from oshaberi.bot.client.missed_messages import MOST_DIRECT, MissedMessages
from oshaberi.bot.commands import COMMANDS, BotCommandTree, CommandContext
from oshaberi.discord_io import BanGuard, ClientState, RequestTrace
from oshaberi.discord_io.webhooks.managed_webhooks import Alone, alone_anyway
from oshaberi.errors import ConfigError, OshaberiError
from oshaberi.turns.channel_turns import CLAIMED, Claim

log = logging.getLogger(__name__)

KEPT_IDS = 4000
SYSTEM = "system"

WhenReady = Callable[[], Awaitable[object]]


def intents(*, members: bool = False) -> discord.Intents:
    """No more than is used. Message content is a privileged one, members too."""
    return discord.Intents(
        guilds=True,
        guild_messages=True,
        dm_messages=True,
        message_content=True,
        emojis_and_stickers=True,
        members=members,
    )


class OshaberiClient(discord.AutoShardedClient):
    """`when_ready` is awaited once, before missed messages are looked for.

    `proxies`: see MessageReader. `options` are discord.py's: `shard_ids`, `shard_count`,
    `guild_ready_timeout`, …
    """

    client_state: ClientState

    def __init__(
        self,
        context: CommandContext,
        *,
        members: bool = False,
        proxies: Collection[int] = (),
        alone: Alone = alone_anyway,
        claim: Claim | None = None,
        when_ready: WhenReady | None = None,
        **options: Any,
    ) -> None:
        self.guard = BanGuard()
        super().__init__(
            intents=intents(members=members),
            allowed_mentions=discord.AllowedMentions.none(),
            http_trace=RequestTrace(self.guard),
            **options,
        )
        self.context = context
        self.reader = MessageReader(self, proxies)
        self.tree = BotCommandTree(self, claim)
        self._alone = alone
        self._when_ready = when_ready
        self._heard = _HandledMessages()
        self._settling = asyncio.Lock()
        self._getting_ready: set[asyncio.Task[Any]] = set()
        for command in COMMANDS:
            self.tree.add_command(command)

    async def serve(self, token: str) -> None:
        """Until it is closed. What keeps it from starting is told in one line."""
        try:
            await self.login(token)
            await self.connect()
        except discord.LoginFailure:
            raise ConfigError(
                "discord_token: Discord does not accept it; copy it anew from the bot's page in "
                "the Developer Portal"
            ) from None
        except discord.PrivilegedIntentsRequired:
            raise ConfigError(
                "Discord refuses the intents: switch on Message Content Intent on the bot's page "
                "in the Developer Portal"
            ) from None
        except (aiohttp.ClientConnectionError, TimeoutError) as error:
            raise OshaberiError(
                f"Discord cannot be reached: {_place()}: {_reason(error)}; look at the connection "
                "of this machine, then start the bot again"
            ) from None
        except discord.HTTPException as error:
            raise OshaberiError(
                f"Discord does not let the bot in: {_place()} answers HTTP {error.status}; "
                "try again later, and see https://discordstatus.com"
            ) from None

    async def setup_hook(self) -> None:
        self.client_state = ClientState(self, self._alone)
        if self._has_first_shard:
            await self._sync()

    @property
    def _has_first_shard(self) -> bool:
        """The one that hears direct messages, and speaks for all of them."""
        return self.shard_ids is None or 0 in self.shard_ids

    async def close(self) -> None:
        under_way = self._getting_ready - {asyncio.current_task()}
        for task in under_way:
            task.cancel()
        if under_way:
            await asyncio.wait(under_way)
        if hasattr(self, "client_state"):
            await self.client_state.close()
        if isinstance(self.loop, asyncio.AbstractEventLoop):  # before a login discord.py cannot
            await super().close()

    def turn_channel(
        self,
        channel: discord.abc.MessageableChannel,
        message: discord.Message | None = None,
    ) -> DiscordTurnChannel:
        return DiscordTurnChannel(self.reader, self.client_state, channel, message)

    async def find_turn_channel(self, channel_id: int) -> DiscordTurnChannel | None:
        """By its id alone; None if it is gone or out of sight. Raises if nobody can say."""
        try:
            channel = self.get_channel(channel_id) or await self.fetch_channel(channel_id)
        except (discord.NotFound, discord.Forbidden, discord.InvalidData):
            return None
        return self.turn_channel(channel) if isinstance(channel, discord.abc.Messageable) else None

    async def on_message(self, message: discord.Message) -> None:
        await self.client_state.on_message(message)
        await self.listen(message)

    async def listen(self, message: discord.Message) -> None:
        """Somebody else's message, once: after a RESUME Discord may tell it again."""
        if self.reader.is_ours(message) or not self.reader.is_talk(message):
            return
        if not self._heard.is_new(message.id):
            return
        incoming = await self.reader.incoming(message)
        outcome = await self.context.channel_turns.submit(
            incoming, self.turn_channel(message.channel, message)
        )
        log.debug("message %s in channel %s: %s", message.id, message.channel.id, outcome)
        if outcome == CLAIMED:
            self._heard.forget(message.id)

    async def on_raw_message_delete(self, gone: discord.RawMessageDeleteEvent) -> None:
        self.context.channel_turns.withdraw(gone.channel_id, gone.message_id)

    async def on_raw_bulk_message_delete(self, gone: discord.RawBulkMessageDeleteEvent) -> None:
        for message_id in gone.message_ids:
            self.context.channel_turns.withdraw(gone.channel_id, message_id)

    async def on_message_edit(self, _before: discord.Message, after: discord.Message) -> None:
        """Discord tells of every preview of a link this way too: few of them are worth reading."""
        channel_turns = self.context.channel_turns
        if channel_turns.awaits(after.channel.id, after.id):
            channel_turns.amend(await self.reader.incoming(after))

    async def on_ready(self) -> None:
        servers = "1 server" if len(self.guilds) == 1 else f"{len(self.guilds)} servers"
        log.info("connected as %s, in %s", self.user, servers)
        with self._until_closed():
            await self._get_ready()

    async def _get_ready(self) -> None:
        async with self._settling:
            first, self._when_ready = self._when_ready, None
            if first is not None:
                await first()
            await self._look_back()

    @contextmanager
    def _until_closed(self) -> Iterator[None]:
        """What is in it must not go on when the database is closed."""
        task = asyncio.current_task()
        assert task is not None
        self._getting_ready.add(task)
        try:
            yield
        finally:
            self._getting_ready.discard(task)

    async def look_back(self) -> None:
        """For messages that nobody answers."""
        async with self._settling:
            await self._look_back()

    async def _look_back(self) -> None:
        missed_messages = MissedMessages(
            self.reader, self._last_seen, self._is_for_us, self.listen, self._direct_ids
        )
        count = await missed_messages.run()
        if count:
            log.info("%d messages came while nobody listened", count)

    async def on_resumed(self) -> None:
        log.info("the connection to Discord is back")

    async def on_guild_join(self, guild: discord.Guild) -> None:
        log.info("joined server %s (%s)", guild.id, guild.name)

    async def on_guild_channel_update(
        self, _before: discord.abc.GuildChannel, after: discord.abc.GuildChannel
    ) -> None:
        """Whoever gives us a permission need not wait until we try again by ourselves."""
        threads = (one.id for one in after.guild.threads if one.parent_id == after.id)
        self.client_state.try_again((after.id, *threads))

    async def on_guild_role_update(self, _before: discord.Role, after: discord.Role) -> None:
        self.client_state.try_again(_place_ids(after.guild))

    async def on_member_update(self, _before: discord.Member, after: discord.Member) -> None:
        if after == after.guild.me:
            self.client_state.try_again(_place_ids(after.guild))

    async def on_guild_remove(self, guild: discord.Guild) -> None:
        """What is stored stays: removals are sometimes mistakes."""
        log.info("left server %s (%s)", guild.id, guild.name)
        stops = self.context.services.stops
        for place_id in _place_ids(guild):
            stops.request_stop(str(place_id), SYSTEM, "system_request")

    async def on_error(self, event_method: str, /, *_args: Any, **_kwargs: Any) -> None:
        """One line; whose fault it is decides whether the traceback is worth reading."""
        error = sys.exc_info()[1]
        ours = isinstance(error, OshaberiError)
        log.error("%s: %s", event_method, error if ours else repr(error), exc_info=not ours)

    async def _last_seen(self, channel_id: int) -> int:
        """A turn that was interrupted was begun all the same."""
        db = self.context.db
        seen, turn = await db.seen.last(channel_id), await db.turns.last(channel_id)
        return max(seen or 0, (turn.asked_id or 0) if turn else 0)

    async def _direct_ids(self) -> tuple[int, ...]:
        if not self._has_first_shard:
            return ()
        return await self.context.db.turns.direct_channels(MOST_DIRECT)

    async def _is_for_us(self, message: discord.Message) -> bool:
        return await self.context.channel_turns.admits(await self.reader.incoming(message))

    async def _sync(self) -> None:
        """Without its commands the bot still talks."""
        try:
            await self.tree.sync()
        except (*NOT_FOUND, discord.DiscordException) as error:
            log.error("the commands could not be registered: %s", error)


def _place_ids(guild: discord.Guild) -> tuple[int, ...]:
    return tuple(place.id for place in (*guild.channels, *guild.threads))


def _place() -> str:
    return urlsplit(discord.http.Route.BASE).netloc


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


class _HandledMessages:
    """The newest ids."""

    def __init__(self) -> None:
        self._ids: OrderedDict[int, None] = OrderedDict()

    def is_new(self, message_id: int) -> bool:
        if message_id in self._ids:
            return False
        self._ids[message_id] = None
        if len(self._ids) > KEPT_IDS:
            self._ids.popitem(last=False)
        return True

    def forget(self, message_id: int) -> None:
        self._ids.pop(message_id, None)
