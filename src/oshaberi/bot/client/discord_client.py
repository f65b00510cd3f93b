"""The bot's discord.py client: receives messages, registers commands, finds channels."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import discord
from discord import app_commands

from oshaberi.bot.bot_context import BotContext
from oshaberi.bot.client.answer_reactions import AnswerReactions
from oshaberi.bot.client.message_reader import NOT_FOUND, MessageReader
from oshaberi.bot.client.shards import ChannelsOfOtherShards, GatewayState, MovableShardsClient
from oshaberi.bot.client.turn_channel import DiscordTurnChannel
from oshaberi.bot.client.unanswered import UnansweredLog, UnansweredSearch, WhenReady
from oshaberi.bot.faces.picture_channel import PictureChannel
from oshaberi.bot.storage import Database
from oshaberi.bot.storage.errors import StorageAwayError, StorageError
from oshaberi.bot.storage.records import ShardShare
from oshaberi.bot.turns.admission.channel_queue import Arrival
from oshaberi.bot.turns.admission.questions import CLAIMED, Claim
from oshaberi.bot.turns.admission.rules import ADMITTED
from oshaberi.bot.turns.caches import BoundedCache
from oshaberi.bot.turns.own_threads import TalkStarts
from oshaberi.delivery.service_outage import ServiceOutage
from oshaberi.discord_io import (
    BanGuard,
    ClientState,
    LeaseFence,
    RequestBudget,
    RequestMeter,
    RequestTrace,
)
from oshaberi.discord_io.histories import ReceivedHistories
from oshaberi.discord_io.requests.limits import BucketSweep
from oshaberi.discord_io.webhooks import Alone, alone_anyway
from oshaberi.errors import ConfigError, OshaberiError, TemporaryError
from oshaberi.outage_log import OutageLog
from oshaberi.terminal_output import counted

log = logging.getLogger(__name__)

CONNECTING = ("discord.shard", "discord.gateway")
"""discord.py's loggers that report every attempt to reconnect as an error with a traceback."""

KEPT_IDS = 4000
REQUEST_TIMEOUT = aiohttp.ClientTimeout(total=300.0, sock_connect=30.0, sock_read=30.0)
SYSTEM = "system"
CommandTreeOf = Callable[[discord.Client], app_commands.CommandTree[Any]]
"""Makes the commands of a client (`oshaberi.bot.commands`)."""


class OshaberiClient(MovableShardsClient):
    """The bot's client.

    `when_ready` is awaited once, before the first search for missed messages. `take_up` is awaited
    before every such search: it resumes stored questions that have no answer. `options` are
    discord.py's (`shard_ids`, `shard_count`, `guild_ready_timeout`, …) and `shard_terms`.
    """

    client_state: ClientState

    def __init__(
        self,
        context: BotContext,
        command_tree: CommandTreeOf,
        *,
        members: bool = False,
        alone: Alone = alone_anyway,
        when_ready: WhenReady | None = None,
        budget: RequestBudget | None = None,
        take_up: WhenReady | None = None,
        fence: LeaseFence | None = None,
        outage: ServiceOutage | None = None,
        claim: Claim | None = None,
        **options: Any,
    ) -> None:
        self.guard = BanGuard()
        self.budget = budget or RequestBudget()
        self.fence = fence or LeaseFence()
        self.request_meter = RequestMeter()
        self.outage = outage
        super().__init__(
            intents=intents(members=members),
            allowed_mentions=discord.AllowedMentions.none(),
            http_trace=RequestTrace(
                self.guard, self.budget, self.fence, self.request_meter, outage
            ),
            **options,
        )
        BucketSweep(self.http)
        self.gateway_state = GatewayState(self)
        self._outage_log = OutageLog(
            "gateway",
            "the connection to Discord's gateway",
            log,
            _is_try_to_connect,
            level=logging.WARNING,
            words=("{what} is lost ({reason})", "{what} is still lost", "{what} is back"),
        )
        self.histories = ReceivedHistories(self._is_live, self.shard_of)
        self.hear_first({"shard_disconnect": self._note_lost_connection})
        self.hear_first(self.histories.listeners)
        self.unanswered = UnansweredLog()
        self.context = context
        self.reader = MessageReader(self, context.db.opt_outs.ids, TalkStarts(context.db).of)
        self.claim = claim
        """Decides which process handles an interaction; None if there is only one."""
        self.pressing: set[tuple[int, int]] = set()
        """Channels and users whose press of an answer's button is being carried out."""
        self.reactions = AnswerReactions(context, self.reader, claim)
        self.tree = command_tree(self)
        self._alone = alone
        self._search = UnansweredSearch(
            context,
            self.reader,
            self.has_shard,
            lambda message: self.listen(message, "missed"),
            when_ready=when_ready,
            take_up=take_up,
            outage=outage,
        )
        self._elsewhere = ChannelsOfOtherShards(self)
        self._was_ready = False
        self._is_synced = False
        self._handled: BoundedCache[int, None] = BoundedCache(KEPT_IDS)

    async def serve(self, token: str) -> None:
        """Log in and run until closed. Raises a one-line ConfigError if the client cannot start."""
        with explain_login_errors():
            await self.login(token)
            await self.connect()

    async def setup_hook(self) -> None:
        # An unanswered request blocks all others of its bucket. aiohttp would wait for it
        # for five minutes, long after the outage is over.
        self.http._HTTPClient__session._timeout = REQUEST_TIMEOUT  # type: ignore[attr-defined]  # noqa: SLF001
        self.client_state = ClientState(self, self._alone, self.histories)
        faces = self.context.faces
        faces.connect(PictureChannel(self, self.client_state), self._alone)
        self.client_state.on_unseen_avatar = faces.note_unseen
        self.context.own_faces.connect(self, self.client_state)
        if not self.has_movable_shards and self.has_shard(0):
            await self._sync()

    def _note_lost_connection(self, shard_id: int) -> None:
        """Log it before discord.py logs its next try."""
        if not self.is_closed():
            self._outage_log.begins(f"shard {shard_id}", "it is tried again", by=shard_id)

    def _is_live(self, server_id: int) -> bool:
        return self.gateway_state.is_connected(self.shard_of(server_id))

    def server_ids(self) -> frozenset[int] | None:
        """Return the ids of the servers on this client's shards; None until they are known."""
        return frozenset(one.id for one in self.guilds) if self.is_ready() else None

    def share(self) -> ShardShare | None:
        """Return which servers this client serves at this moment; None if none."""
        if not self.is_ready():
            return None
        shards = range(self.shard_count or 1)
        mine = frozenset(
            one
            for one in shards
            if self.knows_servers_of(one) and self.gateway_state.is_connected(one)
        )
        return ShardShare(mine, len(shards)) if mine else None

    def would_have(self, server_id: int) -> bool:
        """Return whether a server belongs to one of the shards of this process."""
        return self.knows_servers_of(self.shard_of(server_id))

    async def close(self) -> None:
        self._outage_log.close()
        await self._search.close()
        if self.outage is not None:
            await self.outage.close()
        if hasattr(self, "client_state"):
            await self.client_state.close()
        if isinstance(
            self.loop, asyncio.AbstractEventLoop
        ):  # before the login discord.py cannot close
            await super().close()

    def turn_channel(
        self,
        channel: discord.abc.MessageableChannel,
        message: discord.Message | None = None,
    ) -> DiscordTurnChannel:
        return DiscordTurnChannel(self.reader, self.client_state, channel, message)

    def hear_happenings(
        self,
        joined: Callable[[DiscordTurnChannel, int], object],
        begun: Callable[[int, str, int | None], object],
    ) -> None:
        """Call these when Discord announces a new member, and when a scheduled event begins."""

        def message(message: discord.Message) -> None:
            if message.type is discord.MessageType.new_member and not message.author.bot:
                joined(self.turn_channel(message.channel), message.author.id)

        def event(before: discord.ScheduledEvent, after: discord.ScheduledEvent) -> None:
            active = discord.EventStatus.active
            if after.status is active and before.status is not active:
                begun(after.guild_id, after.name, after.channel_id)

        self.hear_first({"message": message, "scheduled_event_update": event})

    def turn_channels_of(self, place_id: int) -> list[DiscordTurnChannel]:
        """Return a channel of this client's servers, or the text channels of a category."""
        place = self.get_channel(place_id) if place_id else None
        found = place.text_channels if isinstance(place, discord.CategoryChannel) else [place]
        return [self.turn_channel(one) for one in found if isinstance(one, discord.abc.Messageable)]

    async def find_turn_channel(self, channel_id: int) -> DiscordTurnChannel | None:
        """Find a channel by id. Return None if it was deleted or the bot cannot see it.

        Raises if Discord does not answer.
        """
        try:
            channel = self.get_channel(channel_id) or await self._elsewhere.channel(channel_id)
        except (discord.NotFound, discord.Forbidden, discord.InvalidData):
            return None
        return self.turn_channel(channel) if isinstance(channel, discord.abc.Messageable) else None

    async def on_message(self, message: discord.Message) -> None:
        await self.client_state.on_message(message)
        if self.reader.is_ours(message):
            return
        self.reader.remember(message)
        await self.fence.passed()
        await self.turn_of(0 if message.guild is None else message.guild.id)
        await self.listen(message)

    async def listen(self, message: discord.Message, arrival: Arrival = "new") -> None:
        """Submit a message of another user, once. Discord may send it again after a RESUME."""
        if not self.reader.is_new_talk(message):
            return
        if message.id in self._handled:
            return
        self._handled.put(message.id, None)
        if arrival == "new" and await self._is_ignored(message):
            return
        incoming = await self.reader.incoming(message)
        if self.reader.is_opted_out_copy(incoming):
            return
        outcome = await self.context.channel_turns.submit(
            incoming, self.turn_channel(message.channel, message), arrival
        )
        log.debug("message %s in channel %s: %s", message.id, message.channel.id, outcome)
        if outcome not in ADMITTED:
            self.unanswered.note(incoming, outcome)
        if outcome == CLAIMED:
            self._handled.forget(message.id)

    async def _is_ignored(self, message: discord.Message) -> bool:
        """Return whether a quick check shows that a message is not for the bot."""
        unaddressed = self.reader.unaddressed(message)
        if unaddressed is None:
            return False
        reason = await self.context.channel_turns.why_ignored(unaddressed)
        if reason is None:
            return False
        log.debug("message %s in channel %s: %s", message.id, message.channel.id, reason)
        self.unanswered.count(reason)
        return True

    async def on_raw_typing(self, typing: discord.RawTypingEvent) -> None:
        self.context.channel_turns.note_typing(typing.channel_id, typing.user_id)

    async def on_raw_message_delete(self, gone: discord.RawMessageDeleteEvent) -> None:
        self.context.faces.note_deleted(gone.guild_id or 0, gone.channel_id)
        await forget_deleted(self.context, gone.channel_id, [gone.message_id])

    async def on_raw_bulk_message_delete(self, gone: discord.RawBulkMessageDeleteEvent) -> None:
        self.context.faces.note_deleted(gone.guild_id or 0, gone.channel_id)
        await forget_deleted(self.context, gone.channel_id, sorted(gone.message_ids))

    async def on_message_edit(self, _before: discord.Message, after: discord.Message) -> None:
        """Update a waiting question. Most edits are link previews and are ignored."""
        channel_turns = self.context.channel_turns
        if channel_turns.awaits(after.channel.id, after.id):
            await channel_turns.amend(await self.reader.incoming(after))

    async def on_raw_reaction_add(self, reaction: discord.RawReactionActionEvent) -> None:
        await self.reactions.added(reaction, self.client_state)

    async def on_raw_reaction_remove(self, reaction: discord.RawReactionActionEvent) -> None:
        await self.reactions.removed(reaction)

    async def on_raw_reaction_clear(self, gone: discord.RawReactionClearEvent) -> None:
        await self.reactions.cleared(gone.message_id)

    async def on_raw_reaction_clear_emoji(self, gone: discord.RawReactionClearEmojiEvent) -> None:
        await self.reactions.cleared(gone.message_id, gone.emoji)

    async def on_ready(self) -> None:
        if self.has_movable_shards and not self.guilds:
            log.info("logged in as %s; shards are taken as their leases are free", self.user)
        else:
            servers = counted(len(self.guilds), "server")
            log.info("connected as %s, in %s", self.user, servers)
        await self._search.run_when_ready()
        await self._refresh_profiles()
        self._was_ready = True

    async def _refresh_profiles(self) -> None:
        """Set what was still to be set when an earlier process ended."""
        with suppress(StorageError):
            servers = await self.context.db.own_faces.servers()
            here = self.server_ids() or frozenset()
            self.context.own_faces.refresh_soon(one for one in servers if one in here)

    async def on_shard_ready(self, shard_id: int) -> None:
        """Search for messages that were missed before this process got (or regained) a shard."""
        if not self.has_movable_shards and (len(self.shards) == 1 or not self._was_ready):
            return  # `on_ready` looks at all shards
        await self._search.run_when_ready(shard_id, lambda: self.note_caught_up(shard_id))
        self.note_caught_up(shard_id)
        if shard_id == 0 and self.has_movable_shards and not self._is_synced:
            self._is_synced = True
            await self._sync()

    async def look_back(self) -> None:
        """Find unanswered questions: first the stored ones, then those in the channels."""
        await self._search.run()

    async def on_shard_connect(self, shard_id: int) -> None:
        self.gateway_state.note_connected(shard_id)
        self._outage_log.ends(by=shard_id)
        self.catch_up(shard_id)

    async def on_shard_resumed(self, shard_id: int) -> None:
        self.gateway_state.note_connected(shard_id)
        self._outage_log.ends(by=shard_id)

    async def on_shard_disconnect(self, shard_id: int) -> None:
        self.gateway_state.note_lost(shard_id)

    async def on_guild_join(self, guild: discord.Guild) -> None:
        log.info("joined server %s (%s)", guild.id, guild.name)
        await self.context.db.departed_servers.note_return([guild.id])

    async def on_guild_channel_update(
        self, _before: discord.abc.GuildChannel, after: discord.abc.GuildChannel
    ) -> None:
        """Allow requests to these channels again after 403s: permissions may have changed."""
        self.client_state.try_again(_ids_with_threads(after))

    async def on_guild_channel_delete(self, gone: discord.abc.GuildChannel) -> None:
        self.context.faces.note_deleted(gone.guild.id, gone.id)
        await self.context.db.servers.forget_channels(gone.guild.id, (gone.id,))
        await self.context.db.talks.forget_channels((gone.id,))

    async def on_raw_thread_delete(self, gone: discord.RawThreadDeleteEvent) -> None:
        """Handle a deleted thread. Also called for each known thread of a deleted channel."""
        self.context.faces.note_deleted(gone.guild_id, gone.thread_id)
        await self.context.db.servers.forget_channels(gone.guild_id, (gone.thread_id,))
        await self.context.db.talks.forget_channels((gone.thread_id,))

    async def on_guild_role_update(self, _before: discord.Role, after: discord.Role) -> None:
        self.client_state.try_again(_ids_of_places(after.guild))

    async def on_member_update(self, _before: discord.Member, after: discord.Member) -> None:
        if after == after.guild.me:
            self.client_state.try_again(_ids_of_places(after.guild))

    async def on_guild_remove(self, guild: discord.Guild) -> None:
        """Stop answers in a server that the bot left. Its data stays for a grace time."""
        log.info("left server %s (%s)", guild.id, guild.name)
        stops = self.context.services.traffic.stops
        for place_id in _ids_of_places(guild):
            stops.request_stop(str(place_id), SYSTEM, "system_request")
        await self.context.db.departed_servers.note(guild.id, _ids_of_places(guild))

    async def on_error(self, event_method: str, /, *_args: Any, **_kwargs: Any) -> None:
        """Log one line. Only errors that are not ours get a traceback."""
        error = sys.exc_info()[1]
        ours = isinstance(error, OshaberiError)
        log.error("%s: %s", event_method, error if ours else repr(error), exc_info=not ours)

    async def _sync(self) -> None:
        """Register the commands. The bot also works if that fails."""
        try:
            await self.tree.sync()
        except (*NOT_FOUND, discord.DiscordException) as error:
            log.error("the commands could not be registered: %s", error)


def _is_try_to_connect(record: logging.LogRecord) -> bool:
    tries = record.name == "discord.client" and "reconnect" in str(record.msg)
    return tries or record.name in CONNECTING


def intents(*, members: bool = False) -> discord.Intents:
    """Return the intents that the bot uses. Message content and members are privileged."""
    return discord.Intents(
        guilds=True,
        guild_messages=True,
        dm_messages=True,
        message_content=True,
        emojis_and_stickers=True,
        guild_typing=True,
        dm_typing=True,
        guild_reactions=True,
        dm_reactions=True,
        guild_scheduled_events=True,
        guild_polls=True,
        dm_polls=True,
        members=members,
    )


@contextmanager
def explain_login_errors() -> Iterator[None]:
    """Turn errors of login and connection into a one-line ConfigError or TemporaryError."""
    try:
        yield
    except discord.LoginFailure:
        raise ConfigError(
            "discord_token: Discord does not accept it; copy it again from the bot's page in "
            "the Developer Portal"
        ) from None
    except discord.PrivilegedIntentsRequired:
        raise ConfigError(
            "Discord refuses the intents: switch on Message Content Intent on the bot's page "
            "in the Developer Portal"
        ) from None
    except (aiohttp.ClientConnectionError, TimeoutError) as error:
        raise TemporaryError(
            f"Discord cannot be reached: {_host()}: {_reason(error)}; check the network "
            "of this machine, then start the bot again"
        ) from None
    except discord.HTTPException as error:
        raise TemporaryError(
            f"Discord refuses the connection: {_host()} answers HTTP {error.status}; "
            "try again later, and see https://discordstatus.com"
        ) from None


def _host() -> str:
    return urlsplit(discord.http.Route.BASE).netloc


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


async def forget_deleted(context: BotContext, channel_id: int, message_ids: Sequence[int]) -> None:
    """Withdraw deleted questions, and delete their exchanges from short-term memory.

    A summary that may contain one of the messages is deleted as a whole.
    """
    for message_id in message_ids:
        context.channel_turns.withdraw(channel_id, message_id)
    db = context.db
    for forget in _forgetting(db):
        try:
            await forget(channel_id, message_ids)
        except StorageAwayError as error:
            log.info("deleted messages are forgotten when the database is back: %s", error)


def _forgetting(db: Database) -> tuple[Callable[[int, Sequence[int]], Awaitable[None]], ...]:
    parts = (db.memory, db.summaries, db.versions, db.reactions)
    return (*(one.forget_messages for one in parts), partial(_forget_in_branches, db))


async def _forget_in_branches(db: Database, channel_id: int, message_ids: Sequence[int]) -> None:
    """Delete the summaries of threads whose conversation begins with these messages."""
    for thread_id in await db.talks.branches_of(channel_id):
        await db.summaries.forget_messages(thread_id, message_ids)


def _ids_with_threads(channel: discord.abc.GuildChannel) -> tuple[int, ...]:
    """Return the ids of a channel and of its threads, as far as the client knows them."""
    threads = (one.id for one in channel.guild.threads if one.parent_id == channel.id)
    return (channel.id, *threads)


def _ids_of_places(guild: discord.Guild) -> tuple[int, ...]:
    """Return the ids of all channels and threads of a server, as far as the client knows them."""
    return tuple(place.id for place in (*guild.channels, *guild.threads))
