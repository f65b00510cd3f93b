"""What a person sees of the typing indicator: ten seconds per request, ended by a message."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from oshaberi.delivery.recording_sink import RecordingSink

SHOWN_SECONDS = 10.0
MESSAGES = ("message", "file", "embed", "reply_notice")


class TypingWatch:
    """Notes every request for the indicator. Put its `typing` in the place of a sink's."""

    def __init__(self, sink: RecordingSink) -> None:
        self.asked_at: list[float] = []
        self._sink = sink
        self._typing = sink.typing
        place: Any = sink
        place.typing = self.typing

    async def typing(self, ms: int | None) -> None:
        self.asked_at.append(asyncio.get_running_loop().time())
        await self._typing(ms)

    def came_at(self, *kinds: str) -> list[float]:
        records = self._sink.records
        return [one["at_ms"] / 1000 for one in records if one["kind"] in (kinds or MESSAGES)]

    def longest_silence(self, end: float, *, edits_count: bool = False) -> float:
        """Return the longest time without indicator or news, from 0 to `end`, in seconds."""
        news = [(at, "message") for at in self.came_at()]
        if edits_count:
            news += [(at, "edit") for at in self.came_at("edit")]
        return longest_silence(self.asked_at, news, end)


def longest_silence(
    asked_at: Iterable[float], news: Iterable[tuple[float, str]], end: float
) -> float:
    """Walk along the time line: silence begins where the indicator ends, or with a message."""
    longest, silent_since, shown_until = 0.0, 0.0, 0.0
    moments = sorted([*((at, "typing") for at in asked_at), *news, (end, "end")])
    for at, what in moments:
        if at > end:
            break
        if at > shown_until:
            longest = max(longest, at - max(silent_since, shown_until))
        silent_since = at
        if what == "typing":
            shown_until = at + SHOWN_SECONDS
        elif what == "message":
            shown_until = at
    return longest
