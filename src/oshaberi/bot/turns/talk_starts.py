"""Where the conversation of a channel begins, also while the database is away."""

from __future__ import annotations

import logging

from oshaberi.bot.storage.errors import StorageError
from oshaberi.bot.storage.records import TalkStart
from oshaberi.bot.storage.repositories.talks import TalkRepository
from oshaberi.bot.turns.caches import BoundedCache

log = logging.getLogger(__name__)

MOST_CHANNELS = 4000


class TalkStarts:
    """Reads it for each turn: another process may have stored it a moment ago."""

    def __init__(self, talks: TalkRepository) -> None:
        self._talks = talks
        self._known: BoundedCache[int, TalkStart] = BoundedCache(MOST_CHANNELS)

    async def of(self, channel_id: int) -> TalkStart:
        """Return where it begins; while the database is away, as it was last known."""
        try:
            found = await self._talks.start_of(channel_id)
        except StorageError as error:
            log.info("channel %s: where its conversation begins is unknown: %s", channel_id, error)
            return self._known.get(channel_id) or TalkStart()
        self._known.put(channel_id, found)
        return found
