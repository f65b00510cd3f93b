"""Deletes data that is too old or exceeds a limit, and data of deleted servers and channels.

Once a minute it prunes the database: the oldest turns and memories of a channel, and what has
expired. Once an hour `DataRetention` deletes what is older than the operator promised. Each process
does this for the servers of its own shards. It does no harm if two processes delete the same rows.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection
from datetime import datetime, timedelta

from oshaberi.bot.config import LoadedSettings
from oshaberi.bot.storage import Database, StorageError
from oshaberi.bot.storage.picture_files import PictureFiles
from oshaberi.bot.storage.repositories.personal_data import RetentionPeriods
from oshaberi.bot.storage.schema.ownership import DataSubject
from oshaberi.clocks import loop_time_s, utc_now
from oshaberi.terminal_output import counted

log = logging.getLogger(__name__)

PRUNE_SECONDS = 60.0
EVERY_S = 3600.0
OPT_OUTS_EVERY_S = 30.0
ERASE_S = 60.0
"""How long to wait until deleted text has left the files. The erasure continues after that."""

Servers = Callable[[], Collection[int]]
"""Returns the ids of the servers that the bot is in."""
IsOurs = Callable[[int], bool]
"""Decides whether this process serves the shard of a server, and so would know if the bot were in
it."""
IsGone = Callable[[int, int], Awaitable[bool]]
"""Decides whether a channel was deleted; takes the server's id and the channel's id."""


async def never_gone(_server_id: int, _channel_id: int) -> bool:
    return False


class DataRetention:
    """Deletes old data. `servers` returns None while the bot's servers are unknown."""

    def __init__(
        self,
        db: Database,
        settings: Callable[[], LoadedSettings],
        servers: Callable[[], Collection[int] | None],
        is_ours: IsOurs = lambda _server_id: True,
        now: Callable[[], datetime] = utc_now,
        is_gone: IsGone = never_gone,
    ) -> None:
        self._db = db
        self._settings = settings
        self._servers = servers
        self._is_ours = is_ours
        self._now = now
        self._is_gone = is_gone

    async def run(self) -> None:
        """Delete periodically until cancelled. Skips a round if the database is down."""
        next_pass_s = 0.0
        while True:
            try:
                await self._db.opt_outs.refresh()
                if loop_time_s() >= next_pass_s and self._servers() is not None:
                    next_pass_s = loop_time_s() + EVERY_S
                    await self.delete_what_is_due()
            except StorageError as error:
                log.error("what is too old could not be deleted: %s", error)
            await asyncio.sleep(OPT_OUTS_EVERY_S)

    async def delete_what_is_due(self) -> None:
        await self._db.departed_servers.note_channels()
        settings = self._settings()
        periods = RetentionPeriods(
            settings.retention_turns_days,
            settings.retention_facts_days,
            settings.retention_usage_days,
        )
        count = await self._db.expiry.delete_expired(periods)
        if count:
            log.info("too old, and deleted: %s", counted(count, "record"))
        await self._delete_gone_channels()
        if settings.retention_left_servers_days:
            await self._look_for_left_servers()
            await self._delete_left_servers(settings.retention_left_servers_days)
        if settings.retention_backups_days:
            await self._db.delete_old_backups(settings.retention_backups_days)
        await self._db.erase(ERASE_S)

    async def _delete_gone_channels(self) -> None:
        """Find channels that were deleted while the bot was not running."""
        here = self._servers() or ()
        for server_id, channel_ids in (await self._db.servers.channels_with_own()).items():
            if server_id in here:
                gone = [one for one in channel_ids if await self._is_gone(server_id, one)]
                await self._db.servers.forget_channels(server_id, gone)

    async def _look_for_left_servers(self) -> None:
        """Find servers that the bot left or joined while it was not running."""
        here = self._servers()
        if here is None:
            return
        departed = set(await self._db.departed_servers.departed())
        back = departed & set(here)
        if back:
            await self._db.departed_servers.note_return(back)
        for server_id in await self._db.departed_servers.known_servers() - departed - set(here):
            # Asked again: this process may have got a shard in the meantime.
            if self._is_ours(server_id) and server_id not in (self._servers() or ()):
                log.info("the bot is not in server %s any more", server_id)
                await self._db.departed_servers.note(server_id)

    async def _delete_left_servers(self, days: int) -> None:
        before = self._now() - timedelta(days=days)
        for server_id in await self._db.departed_servers.departed(before):
            gone = await self._db.personal_data.delete(DataSubject("server", server_id))
            await PictureFiles(self._settings().data_dir).delete_server(server_id)
            log.info(
                "the bot left server %s %s ago: deleted %s",
                server_id,
                counted(days, "day"),
                counted(sum(gone.values()), "record"),
            )


async def prune_regularly(db: Database) -> None:
    """Prune periodically. Never returns by itself."""
    while True:
        await asyncio.sleep(PRUNE_SECONDS)
        try:
            await db.prune()
        except StorageError as error:
            log.warning("the database could not be tidied up: %s", error)
