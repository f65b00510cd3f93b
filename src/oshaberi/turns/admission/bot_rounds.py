"""Counts how often the bot has answered other bots in a channel without a person in between."""

from __future__ import annotations

from oshaberi.turns.bounded_cache import BoundedCache

MOST_CHANNELS = 2000


class BotRounds:
    """The loop guard of `answer_bots`. It is in memory only, so a restart resets it."""

    def __init__(self) -> None:
        self._rounds: BoundedCache[int, int] = BoundedCache(MOST_CHANNELS)

    def allows(self, channel_id: int, most: int) -> bool:
        return (self._rounds.get(channel_id) or 0) < most

    def note_bot(self, channel_id: int) -> None:
        """Note that the bot answers a message of another bot."""
        self._rounds.put(channel_id, (self._rounds.get(channel_id) or 0) + 1)

    def note_person(self, channel_id: int) -> None:
        """Note that a person wrote something, to anybody."""
        self._rounds.forget(channel_id)
