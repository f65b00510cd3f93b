"""What one member may read of the server besides this channel: links, search, scheduled events.

The member's rights are checked at this moment. What others may read of it is decided in
`reading_rights`. Something that may not be read looks exactly like something that is not there.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import discord

from oshaberi.bot.client.discord_values import AnyUser, is_age_restricted, may_see
from oshaberi.bot.client.message_reader import NOT_FOUND, MessageReader
from oshaberi.bot.client.reading_rights import Audience, Place, may_read, reads_history
from oshaberi.bot.conversation.messages import FoundMessage
from oshaberi.bot.conversation.server_reading import (
    LONGEST_SEARCH,
    MOST_FOUND,
    DiscordLink,
    MessageSearch,
    SearchFailedError,
    ServerEvent,
)
from oshaberi.bot.conversation.transcript import plain_name, plain_words
from oshaberi.bot.storage.records import TalkStart
from oshaberi.clocks import loop_time_s

log = logging.getLogger(__name__)

MOST_PLACES = 150
"""The most channels that a search covers: their ids have to fit into one URL."""
AT_ONCE = 50
"""After how many channels the event loop gets a turn: a large server has 500, and 250 roles."""
MOST_EVENTS = 100
"""How many events Discord allows in a server."""
SEARCH_S = 20.0
"""How long a search may take, including Discord's waits."""
MOST_TRIES = 3
LONGEST_WAIT_S = 5.0
"""How long the bot waits for an index that is not ready; a longer wait is reported instead."""
NOT_READY = 110000
_SEARCHABLE = (
    discord.TextChannel,
    discord.VoiceChannel,
    discord.StageChannel,
    discord.ForumChannel,
    discord.Thread,
)
_MessagePlace = discord.TextChannel | discord.VoiceChannel | discord.StageChannel | discord.Thread
_ERRORS = (*NOT_FOUND, discord.InvalidData)


class DiscordServerView:
    """The view of one member (`viewer`; None sees what @everyone does) from the channel `here`."""

    def __init__(self, reader: MessageReader, here: Place, viewer: AnyUser | None) -> None:
        self._reader = reader
        self._here = here
        self._guild = here.guild
        self._viewer = viewer
        self._audience = Audience(here)

    # Rights

    def _may_show(self, place: Place, *, is_own: bool = False) -> bool:
        """Return whether messages of a channel may be shown in an answer here."""
        us = self._guild.me
        if place == self._here:
            # Whoever writes in a private thread is in it.
            return reads_history(place, us) and reads_history(place, self._viewer)
        if not self._fits_age(place) or not may_read(place, us):
            return False
        return may_read(place, self._viewer) and (is_own or self._audience.reads(place))

    def _fits_age(self, place: Place) -> bool:
        return is_age_restricted(self._here) or not is_age_restricted(place)

    async def _is_in(self, place: Place) -> bool:
        """Return whether the viewer is in a private thread that the bot can read, too."""
        if not isinstance(place, discord.Thread) or not place.is_private():
            return False
        viewer = self._viewer
        if viewer is None or place.parent is None or not self._fits_age(place):
            return False
        if not (reads_history(place, viewer) and reads_history(place, self._guild.me)):
            return False
        try:
            await place.fetch_member(viewer.id)
        except _ERRORS:
            return False
        return True

    # Links

    async def follow(self, links: Sequence[DiscordLink]) -> tuple[FoundMessage | ServerEvent, ...]:
        found = await asyncio.gather(*map(self._target, links))
        return tuple(one for one in found if one is not None)

    async def _target(self, link: DiscordLink) -> FoundMessage | ServerEvent | None:
        if link.server_id not in (0, self._guild.id):
            return None
        try:
            if not link.channel_id:
                event = await self._guild.fetch_scheduled_event(link.target_id, with_counts=False)
                return self._event(event)
            return await self._linked_message(link)
        except _ERRORS as error:
            log.debug("a link in channel %s leads to nothing: %s", self._here.id, error)
            return None

    async def _linked_message(self, link: DiscordLink) -> FoundMessage | None:
        place = await self._place(link.channel_id)
        if place is None or not isinstance(place, _MessagePlace):
            return None
        may_show = self._may_show(place, is_own=link.is_own)
        if not may_show and not (link.is_own and await self._is_in(place)):
            return None
        message = await place.fetch_message(link.target_id)
        return self._found(message, place, await self._reader.start_of(place.id))

    async def _place(self, channel_id: int) -> Place | None:
        """Return a channel or a thread, even an archived one."""
        known = self._guild.get_channel_or_thread(channel_id)
        if known is not None:
            return known
        found = await self._guild.fetch_channel(channel_id)
        return found if isinstance(found, discord.Thread) else None

    def _found(
        self, message: discord.Message, place: Place, start: TalkStart
    ) -> FoundMessage | None:
        """Return a message, unless its author opted out or the talk was restarted after it."""
        if message.id <= start.after_id or not self._reader.is_talk(message):
            return None
        said = self._reader.channel_message(message, self._viewer)
        return FoundMessage(said, plain_name(place.name), message.jump_url)

    # Search

    async def search(self, wanted: MessageSearch) -> tuple[FoundMessage, ...]:
        self._reader.searches.begin(self._guild.id, loop_time_s())
        places = await self._searched(wanted.channel)
        if not places:
            return ()
        try:
            async with asyncio.timeout(SEARCH_S):
                answer = await self._ask(list(self._parameters(wanted, places)))
        except TimeoutError:
            raise SearchFailedError("Discord takes too long to search; try again later") from None
        except NOT_FOUND as error:
            log.info("server %s cannot be searched: %s", self._guild.id, error)
            raise SearchFailedError("Discord does not let us search this server now") from None
        hits = list(self._hits(answer))
        ids = {place.id for _, place in hits}
        starts = dict(zip(ids, await asyncio.gather(*map(self._reader.start_of, ids)), strict=True))
        found = (self._found(one, place, starts[place.id]) for one, place in hits)
        return tuple(filter(None, found))[: wanted.most]

    async def _searched(self, channel: str) -> Sequence[Place]:
        """Return the channels to search, the most recently used first."""
        everything = chain(self._guild.channels, self._guild.threads)
        known = [one for one in everything if isinstance(one, _SEARCHABLE)]
        may_show: dict[int, bool] = {}
        places = []
        for one in known:
            # A public thread is read by whoever reads its channel.
            is_open = isinstance(one, discord.Thread) and not one.is_private() and one != self._here
            key = one.parent_id if is_open and isinstance(one, discord.Thread) else one.id
            if key not in may_show:
                may_show[key] = self._may_show(one)
                if not len(may_show) % AT_ONCE:
                    await asyncio.sleep(0)
            if may_show[key]:
                places.append(one)
        if channel:
            plain = channel.strip().removeprefix("<#").removesuffix(">").removeprefix("#")
            places = [
                one for one in places if plain.casefold() in (str(one.id), one.name.casefold())
            ]
            if not places:
                raise SearchFailedError(f"there is no channel {channel[:60]!r} to search in")
        places.sort(key=lambda one: one.last_message_id or 0, reverse=True)
        return places[:MOST_PLACES]

    def _parameters(
        self, wanted: MessageSearch, places: Sequence[Place]
    ) -> Iterator[tuple[str, str]]:
        """Yield the query. It names the channels, so matches elsewhere are not even counted."""
        yield "sort_by", "timestamp"
        yield "sort_order", "desc"
        yield "limit", str(MOST_FOUND)
        if wanted.words:
            yield "content", wanted.words[:LONGEST_SEARCH]
        if wanted.author_id is not None:
            yield "author_id", str(wanted.author_id)
        if wanted.after is not None:
            yield "min_id", str(discord.utils.time_snowflake(wanted.after))
        if wanted.before is not None:
            yield "max_id", str(discord.utils.time_snowflake(wanted.before))
        if is_age_restricted(self._here):
            yield "include_nsfw", "true"
        for one in places:
            yield "channel_id", str(one.id)

    async def _ask(self, parameters: list[tuple[str, str]]) -> Mapping[str, Any]:
        """Return Discord's answer. While it has no index yet, it answers 202, with a time."""
        path = "/guilds/{guild_id}/messages/search"
        for number in range(MOST_TRIES):
            route = discord.http.Route("GET", path, guild_id=self._guild.id)
            answer = await self._reader.client.http.request(route, params=parameters)
            if not isinstance(answer, dict):
                break
            if answer.get("code") != NOT_READY:
                return answer
            wait_s = _seconds(answer.get("retry_after"))
            if wait_s > LONGEST_WAIT_S or number == MOST_TRIES - 1:
                break
            await asyncio.sleep(wait_s)
        raise SearchFailedError("Discord is still preparing its search; try again in a minute")

    def _hits(self, answer: Mapping[str, Any]) -> Iterator[tuple[discord.Message, Place]]:
        """Yield the messages that may be shown, whatever the answer holds."""
        threads = {_id(one): one for one in _objects(answer.get("threads"))}
        shown: dict[int, Place | None] = {}
        for group in _lists(answer.get("messages")):
            for data in _objects(group):
                channel_id = _id(data, "channel_id")
                if channel_id not in shown:
                    shown[channel_id] = self._shown_place(channel_id, threads.get(channel_id))
                place = shown[channel_id]
                message = None if place is None else self._message(place, data)
                if place is not None and message is not None:
                    yield message, place

    def _shown_place(self, channel_id: int, data: Any) -> Place | None:
        place: Place | None = self._guild.get_channel_or_thread(channel_id)
        if place is None and data is not None:
            try:
                place = discord.Thread(guild=self._guild, state=self._guild._state, data=data)  # noqa: SLF001
            except (KeyError, TypeError, ValueError):
                return None
        return place if place is not None and self._may_show(place) else None

    def _message(self, place: Any, data: Any) -> discord.Message | None:
        try:
            return discord.Message(state=self._guild._state, channel=place, data=data)  # noqa: SLF001
        except (KeyError, TypeError, ValueError):
            return None

    # Events

    async def events(self) -> tuple[ServerEvent, ...]:
        try:
            async with asyncio.timeout(SEARCH_S):
                known = await self._guild.fetch_scheduled_events(with_counts=False)
        except NOT_FOUND as error:
            log.info("server %s: its events cannot be read: %s", self._guild.id, error)
            raise SearchFailedError("Discord does not list the events at the moment") from None
        found = (self._event(one) for one in known[:MOST_EVENTS])
        return tuple(sorted(filter(None, found), key=lambda one: one.begins))

    def _event(self, event: discord.ScheduledEvent) -> ServerEvent | None:
        """Return an event, unless it is over or takes place where it may not be seen."""
        if event.status not in (discord.EventStatus.scheduled, discord.EventStatus.active):
            return None
        place = event.location or ""
        if event.channel_id is not None:
            channel = self._guild.get_channel(event.channel_id)
            if channel is None or not may_see(channel, self._viewer):
                return None
            if not self._audience.reads(channel, with_history=False):
                return None
            place = f"#{channel.name}"
        return ServerEvent(
            name=plain_words(event.name),
            begins=event.start_time,
            link=event.url,
            ends=event.end_time,
            place=plain_words(place),
            description=event.description or "",
            state="under way" if event.status is discord.EventStatus.active else "scheduled",
        )


def _seconds(value: object) -> float:
    """Return how long to wait. Discord may answer 0, for "soon"."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 1.0
    return max(float(value), 1.0)


def _lists(value: object) -> Iterable[list[Any]]:
    return [one for one in value if isinstance(one, list)] if isinstance(value, list) else []


def _objects(value: object) -> Iterable[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _id(data: Mapping[str, Any], key: str = "id") -> int:
    written = str(data.get(key, ""))
    return int(written) if written.isascii() and written.isdecimal() else 0
