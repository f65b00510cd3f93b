"""Shows the typing indicator, if it is allowed, needed and there are requests to spare.

One request lasts ten seconds (facts). When requests are scarce, these are left out first.
"""

from __future__ import annotations

import asyncio
from functools import partial

import discord

from oshaberi.delivery.sink import DiscordRefusalError
from oshaberi.discord_io.requests.guards import BanGuard, CircuitBreaker
from oshaberi.discord_io.requests.limits import KnownRooms, RequestBudget, RequestRank
from oshaberi.discord_io.requests.watch import RequestSender

SERVES_SECONDS = 9.5
"""How long one request lasts: ten seconds, less the time that a request may take."""
OFF_SECONDS = 3600.0
"""How long the indicator is not shown in a channel where Discord refused it."""


class TypingRequests:
    """The typing indicators of one client, for all channels."""

    def __init__(
        self,
        client: discord.Client,
        line: RequestSender,
        guard: BanGuard,
        budget: RequestBudget,
        rooms: KnownRooms,
    ) -> None:
        self._http = client.http
        self._line = line
        self._guard = guard
        self._budget = budget
        self._rooms = rooms
        self._circuit = CircuitBreaker(most=1, open_seconds=OFF_SECONDS)
        self._shown_until: dict[int, float] = {}

    async def show(self, channel_id: int, seconds: float) -> None:
        """Show the indicator for so long, at most ten seconds. No request if it is shown anyway."""
        if not self._may_show(channel_id, seconds):
            return
        self._circuit.check(channel_id)
        self._note(channel_id)
        try:
            request = self._http.send_typing(channel_id)
            noted = partial(self._rooms.note, "typing", channel_id)
            await self._line.call(request, on_headers=noted)
        except BaseException as error:
            self._shown_until.pop(channel_id, None)
            if isinstance(error, DiscordRefusalError):
                self._circuit.refused(channel_id, error.code)
            raise

    def message_came(self, channel_id: int) -> None:
        """Note a message of ours, which ends the indicator."""
        self._shown_until.pop(channel_id, None)

    def try_again(self, channel_id: int) -> None:
        self._circuit.passed(channel_id)

    def _may_show(self, channel_id: int, seconds: float) -> bool:
        if not self._guard.allows_courtesies or not self._budget.allows(RequestRank.TYPING):
            return False
        room = self._rooms.of("typing", channel_id)
        if room is not None and room.is_empty(_now()):
            return False
        needed_until = _now() + min(seconds, SERVES_SECONDS - 0.01)
        return needed_until > self._shown_until.get(channel_id, 0.0)

    def _note(self, channel_id: int) -> None:
        now = _now()
        kept = {place: until for place, until in self._shown_until.items() if until > now}
        self._shown_until = kept | {channel_id: now + SERVES_SECONDS}


def _now() -> float:
    return asyncio.get_running_loop().time()
