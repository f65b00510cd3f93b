"""Where the conversation of a channel begins, also while the database is away."""

from __future__ import annotations

import logging

from oshaberi.bot.storage import Database
from oshaberi.bot.storage.changes import ALL
from oshaberi.bot.storage.errors import StorageError
from oshaberi.bot.storage.records import TalkStart
from oshaberi.bot.turns.caches import StoredCache

log = logging.getLogger(__name__)

MOST_CHANNELS = 4000


class TalkStarts:
    """Where conversations begin, kept until any process changes it."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._known: StoredCache[int, TalkStart] = StoredCache(MOST_CHANNELS, "talks")

    async def of(self, channel_id: int) -> TalkStart:
        """Return where it begins; while the database is away, as it was last known."""
        start_of = self._db.talks.start_of
        try:
            return await self._known.get(
                self._db.changes, channel_id, ALL, lambda: start_of(channel_id)
            )
        except StorageError as error:
            log.info("channel %s: where its conversation begins is unknown: %s", channel_id, error)
            return TalkStart()
