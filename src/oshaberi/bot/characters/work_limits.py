"""Limits on the uploads that one process holds: cards that wait for a button, and drafts.

A card with its pictures may have tens of megabytes, and it waits for two minutes for somebody to
press a button. So there is a bound for each server, and one for all.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from oshaberi.bot.characters.cards import Card, CardError
from oshaberi.errors import Sentence

MOST_OF_SERVER = 64 * 1024 * 1024
MOST_OF_ALL = 128 * 1024 * 1024
"""The most bytes of waiting cards; the oldest are dropped first."""
MOST_AT_ONCE = 3
"""How many servers have their files read at the same time; others wait for their turn."""


class HeldCards:
    """Cards that wait for a button."""

    def __init__(self, server_id: int, cards: Sequence[Card], size: int) -> None:
        self.server_id = server_id
        self.size = size
        self._cards: Sequence[Card] | None = cards

    @property
    def cards(self) -> Sequence[Card]:
        """Return the cards. Raises CardError if they have been dropped in the meantime."""
        if self._cards is None:
            raise CardError(
                Sentence(
                    "these cards are no longer here, because others came in meanwhile: use "
                    "/persona import again"
                )
            )
        return self._cards

    def let_go(self) -> None:
        self._cards = None


class CharacterWork:
    """The imports and drafts that are under way in one process."""

    def __init__(self) -> None:
        self._busy: set[tuple[str, int]] = set()
        self.reading = asyncio.Semaphore(MOST_AT_ONCE)
        """Held while files are read."""
        self._held: list[HeldCards] = []

    @contextmanager
    def alone(self, what: str, server_id: int) -> Iterator[None]:
        """Let a server do one such thing at a time, for example an import.

        Raises CardError if it is busy.
        """
        if (what, server_id) in self._busy:
            raise CardError(
                Sentence("a character is being brought in here already: try again in a moment")
            )
        self._busy.add((what, server_id))
        try:
            yield
        finally:
            self._busy.discard((what, server_id))

    def hold(self, server_id: int, cards: Sequence[Card], size: int) -> HeldCards:
        """Keep cards until they are stored or dropped; older ones make room for them."""
        held = HeldCards(server_id, cards, size)
        self._held.append(held)
        self._make_room([one for one in self._held if one.server_id == server_id], MOST_OF_SERVER)
        self._make_room(self._held, MOST_OF_ALL)
        return held

    def release(self, held: HeldCards) -> None:
        held.let_go()
        self._held = [one for one in self._held if one is not held]

    @property
    def held_bytes(self) -> int:
        return sum(one.size for one in self._held)

    def _make_room(self, candidates: Sequence[HeldCards], most: int) -> None:
        left = list(candidates)
        while len(left) > 1 and sum(one.size for one in left) > most:
            self.release(left.pop(0))
