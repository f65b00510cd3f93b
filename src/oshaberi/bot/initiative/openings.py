"""Lets a persona begin to talk, where an admin allows it.

It begins after silence, when somebody joins, on a birthday, and when a scheduled event begins;
never twice in a channel before a person has written there, and never with somebody who does not
want it. Of several processes, the one that has the server does it, and takes the channel's row.
An opening that a restart cut off is not made up for: nobody waits for it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from datetime import datetime
from typing import Any

from oshaberi.bot.client.discord_client import OshaberiClient
from oshaberi.bot.client.message_reader import NOT_FOUND
from oshaberi.bot.client.turn_channel import DiscordTurnChannel
from oshaberi.bot.conversation.messages import ChannelPath, Person
from oshaberi.bot.conversation.turn_config import TurnConfig
from oshaberi.bot.initiative.opening_rules import (
    EVENT,
    EVENT_WORDS,
    WHY,
    Kind,
    birthday_words,
    days_around,
    event_name,
    is_birthday,
    is_up,
    joined_words,
    opening_time,
    silence_words,
)
from oshaberi.bot.schedules.schedule_rules import id_of_due
from oshaberi.bot.schedules.zones import zone_of
from oshaberi.bot.storage import Database, StorageError
from oshaberi.bot.storage.records import Birthday, PersonaRecord, StoredQuestion
from oshaberi.bot.turns.admission.occasions import NOBODY, Occasion
from oshaberi.bot.turns.admission.rules import unlisted
from oshaberi.bot.turns.caches import BoundedCache
from oshaberi.bot.turns.channel_turns import ChannelTurns
from oshaberi.bot.turns.personas import default_of, persona_called
from oshaberi.delivery.sink import SinkError

log = logging.getLogger(__name__)

EVERY_S = 60.0
KEPT = 10_000
SILENCE_KEY = "opening_after_minutes"
Background = Callable[[str, Coroutine[Any, Any, None]], object]


class Openings:
    """The openings in the servers that this process serves."""

    def __init__(
        self,
        db: Database,
        client: OshaberiClient,
        channel_turns: ChannelTurns,
        is_ready: Callable[[], bool],
        clock: Callable[[], datetime],
        background: Background,
    ) -> None:
        self._db = db
        self._client = client
        self._channel_turns = channel_turns
        self._is_ready = is_ready
        self._clock = clock
        self._background = background
        self._passed: BoundedCache[int, int] = BoundedCache(KEPT)
        """By channel, the newest message after which nothing is said first any more."""

    async def run(self) -> None:
        """Look again and again, until cancelled."""
        while True:
            await asyncio.sleep(EVERY_S)
            try:
                await self.look()
            except StorageError as error:
                log.warning("nobody can speak first: %s", error)

    async def look(self) -> None:
        """Begin to talk where it is time to."""
        if not self._is_ready() or self._channel_turns.is_closing:
            return
        everywhere = self._client.context.settings().turn.opening_after_minutes > 0
        for place_id in await self._db.openings.candidates(SILENCE_KEY, everywhere=everywhere):
            for turn_channel in self._client.turn_channels_of(place_id):
                await self._guarded(self._after_silence(turn_channel))
        for birthday in await self._db.birthdays.on(days_around(self._clock())):
            await self._guarded(self._congratulate(birthday))

    async def passed(self, _question: StoredQuestion, _place: DiscordTurnChannel) -> None:
        """Return no occasion for an opening that an earlier process had begun."""
        return

    async def _guarded(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something for one channel. What fails there does not concern the others."""
        try:
            await work
        except (*NOT_FOUND, SinkError) as error:
            log.info("a persona could not speak first: %s", error)

    # -- after silence ---------------------------------------------------------------------------

    async def _after_silence(self, turn_channel: DiscordTurnChannel) -> None:
        channel_id, newest_id = turn_channel.channel_id, turn_channel.newest_message_id
        if newest_id is None or self._passed.get(channel_id) == newest_id:
            return
        config, persona = await self._speaker(turn_channel)
        after, now = config.opening_after_minutes, self._clock()
        if not after or now < opening_time(channel_id, newest_id, after):
            return
        if not is_up(persona, channel_id, newest_id, now):
            return
        self._passed.put(channel_id, newest_id)
        said = await turn_channel.last_of_a_person()
        if said is None or not await self._welcomes(said.author, turn_channel, config):
            return
        await self._begin("silence", turn_channel, said.id, silence_words(newest_id, now))

    # -- events ----------------------------------------------------------------------------------

    def note_member(self, turn_channel: DiscordTurnChannel, user_id: int) -> None:
        """Notice that Discord announces a new member in this channel."""
        self._background("a welcome", self._guarded(self._welcome(turn_channel, user_id)))

    async def _welcome(self, turn_channel: DiscordTurnChannel, user_id: int) -> None:
        if not self._is_ready():
            return
        config, _persona = await self._speaker(turn_channel)
        person = await turn_channel.person(user_id) if config.welcome_enabled else None
        if person is None or not await self._welcomes(person, turn_channel, config):
            return
        await self._begin_after_last("joined", turn_channel, joined_words(person.name))

    def note_event(self, server_id: int, name: str, place_id: int | None) -> None:
        """Notice that a scheduled event of a server begins, perhaps in a channel."""
        self._background("an event", self._guarded(self._announce(server_id, name, place_id)))

    async def _announce(self, server_id: int, name: str, place_id: int | None) -> None:
        """Tell of an event, unless somebody there may not know where it takes place."""
        if not self._is_ready():
            return
        for turn_channel in await self._chosen(server_id, "event_channel_id"):
            if turn_channel.audience_sees(place_id):
                await self._begin_after_last(
                    "event", turn_channel, EVENT_WORDS, request=event_name(name)
                )

    # -- birthdays -------------------------------------------------------------------------------

    async def _congratulate(self, birthday: Birthday) -> None:
        if self._client.get_guild(birthday.server_id) is None:
            return
        zone = await self._db.time_zones.of(birthday.user_id) or "UTC"
        now = self._clock()
        if not is_birthday(birthday, zone, now):
            return
        for turn_channel in await self._chosen(birthday.server_id, "birthday_channel_id"):
            config, persona = await self._speaker(turn_channel)
            person = await turn_channel.person(birthday.user_id)
            if person is None or not await self._welcomes(person, turn_channel, config):
                return
            after_id = await self._free_after(turn_channel)
            if after_id is None or not is_up(persona, birthday.server_id, birthday.user_id, now):
                return
            if await self._db.birthdays.take(birthday, now.astimezone(zone_of(zone)).year):
                await self._begin("birthday", turn_channel, after_id, birthday_words(person.name))

    # -- what all have in common -----------------------------------------------------------------

    async def _chosen(self, server_id: int, key: str) -> list[DiscordTurnChannel]:
        """Return the channel that an admin has chosen for this, if it is there."""
        guild = self._client.get_guild(server_id)
        if guild is None:
            return []
        settings = await self._client.context.services.settings(ChannelPath(server_id, 0))
        found = self._client.turn_channels_of(getattr(settings.turn, key))
        return [one for one in found if one.server_id == server_id][:1]

    async def _speaker(self, turn_channel: DiscordTurnChannel) -> tuple[TurnConfig, PersonaRecord]:
        settings, personas = await self._channel_turns.admission.known(turn_channel.path)
        name = settings.turn.answering_persona
        return settings.turn, (persona_called(name, personas) if name else None) or default_of(
            personas
        )

    async def _welcomes(
        self, person: Person, turn_channel: DiscordTurnChannel, config: TurnConfig
    ) -> bool:
        """Return whether a persona may speak first to somebody, or after they have spoken."""
        if person.id in self._db.opt_outs or unlisted(person, turn_channel.path, config):
            return False
        return not await self._db.unapproached.among([person.id])

    async def _begin_after_last(
        self,
        kind: Kind,
        turn_channel: DiscordTurnChannel,
        words: str,
        request: str = "",
    ) -> None:
        said = await turn_channel.last_of_a_person()
        after_id = 0 if said is None else said.id
        await self._begin(kind, turn_channel, after_id, words, request)

    async def _free_after(self, turn_channel: DiscordTurnChannel) -> int | None:
        """Return the newest message of a person; None if a persona has spoken first since."""
        said = await turn_channel.last_of_a_person()
        newest_id = 0 if said is None else said.id
        is_free = await self._db.openings.is_free(turn_channel.channel_id, newest_id)
        return newest_id if is_free else None

    async def _begin(
        self,
        kind: Kind,
        turn_channel: DiscordTurnChannel,
        after_id: int,
        words: str,
        request: str = "",
    ) -> None:
        """Speak first, unless a persona has done so since a person's newest message.

        It pings nobody: an occasion names whom it may ping, and this one names nobody.
        """
        channel_id = turn_channel.channel_id
        if not turn_channel.may_write or self._channel_turns.is_busy(channel_id):
            return
        if not await self._db.openings.take(turn_channel.server_id, channel_id, after_id):
            return
        now = self._clock()
        occasion = Occasion(
            id=id_of_due(channel_id, now),
            why=f"{WHY} {kind}",
            at=now,
            person=EVENT if request else NOBODY,
            instruction=words,
            request=request,
        )
        outcome = await self._channel_turns.begin(occasion, turn_channel.another())
        log.info("a persona speaks first in channel %s (%s): %s", channel_id, kind, outcome)
