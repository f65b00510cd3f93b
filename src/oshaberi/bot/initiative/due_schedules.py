"""Waits until schedules are due, and lets the bot speak exactly once for each of their times.

Of several processes, the one that has the shard of a server looks at its schedules. It claims a due
time by changing the row, and stores the open question in the same transaction. So a time that two
processes see is still claimed once, and a claimed one survives the end of the process.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import takewhile

from oshaberi.bot.client.message_reader import NOT_FOUND
from oshaberi.bot.client.turn_channel import DiscordTurnChannel
from oshaberi.bot.conversation.messages import ChannelPath, Person
from oshaberi.bot.initiative.schedule_words import occasion_of
from oshaberi.bot.schedules.recurrence import Recurrence
from oshaberi.bot.schedules.schedule_rules import (
    WHY,
    Fate,
    fate_of,
    id_of_due,
    schedule_of,
    time_of_due,
    why_of,
)
from oshaberi.bot.schedules.zones import zone_of
from oshaberi.bot.storage import Database, StorageError
from oshaberi.bot.storage.records import ScheduleRecord, ShardShare, StoredQuestion
from oshaberi.bot.turns.admission.occasions import Occasion
from oshaberi.bot.turns.channel_turns import ChannelTurns
from oshaberi.bot.turns.services.turn_services import SettingsOf
from oshaberi.errors import OshaberiError
from oshaberi.languages import in_language, translatable
from oshaberi.languages.current_language import channel_language

log = logging.getLogger(__name__)

MOST_MISSED = 5000
AT_ONCE = 50
"""How many schedules are looked at together."""
LONGEST_SLEEP_S = 30.0
"""Another process may have stored a schedule, and the clock may have been set."""
RETRY_S = 5.0
"""The pause before another look at a schedule that could not happen, for example because Discord
does not answer."""

NO_CHANNEL = translatable("the channel is gone, or the bot does not see it")
NO_AUTHOR = translatable("its author is not here any more")
MUTE = translatable("the bot may not write in the channel")
UNSEEN = translatable("its author does not see the channel any more")
MUTE_AUTHOR = translatable("its author may not write in the channel any more")
OPTED_OUT = translatable("its author does not want the bot to read them")
REFUSED = translatable("its author or the persona may not speak here")


OccasionOf = Callable[[StoredQuestion, DiscordTurnChannel], Awaitable[Occasion | None]]


@dataclass(frozen=True, slots=True)
class _TakenTime:
    record: ScheduleRecord
    occasion: Occasion
    turn_channel: DiscordTurnChannel


@dataclass(frozen=True, slots=True)
class DueTime:
    """A time at which a schedule was due, and when it is due again."""

    at: datetime
    following: datetime | None


def due_time(record: ScheduleRecord, now: datetime) -> DueTime:
    """Return the latest due time of a schedule, and the next one.

    If several were missed, only the latest counts.
    """
    assert record.next_at is not None
    if record.rule is None:
        return DueTime(record.next_at, None)
    rule, zone = Recurrence.of_json(record.rule), zone_of(record.zone)
    following = rule.next_after(now, zone)
    back = timedelta(minutes=1)
    while True:
        since = max(now - back, record.next_at)
        past = takewhile(lambda at: at <= now, rule.times_after(since, zone, MOST_MISSED))
        last = max(past, default=None)
        if last is not None or since == record.next_at:
            return DueTime(last or record.next_at, following)
        back *= 2


class DueSchedules:
    """The schedules of the servers that this process serves.

    `share` returns which part of all servers that is; None while the client is not ready.
    """

    def __init__(
        self,
        db: Database,
        instance: str,
        channel_turns: ChannelTurns,
        find_turn_channel: Callable[[int], Awaitable[DiscordTurnChannel | None]],
        share: Callable[[], ShardShare | None],
        settings: SettingsOf,
        clock: Callable[[], datetime],
    ) -> None:
        self._db = db
        self._instance = instance
        self._channel_turns = channel_turns
        self._find_turn_channel = find_turn_channel
        self._share = share
        self._settings = settings
        self._clock = clock
        self._taken: list[_TakenTime] = []
        """Times that this process has claimed, and for which the bot has not begun to speak yet."""

    @property
    def occasions(self) -> Mapping[str, OccasionOf]:
        """Return what recovery needs to resume the times that an earlier process had claimed."""
        return {WHY: self.occasion_of_question}

    async def run(self) -> None:
        """Run what is due, until cancelled."""
        while True:
            self._db.schedules.news.clear()
            try:
                sleep_s = await self.look()
            except StorageError as error:
                log.warning("due schedules cannot be read: %s", error)
                sleep_s = RETRY_S
            with suppress(TimeoutError):
                await asyncio.wait_for(self._db.schedules.news.wait(), sleep_s)

    async def look(self) -> float:
        """Run what is due now. Return after how many seconds to look again."""
        share = self._share()
        if share is None or self._channel_turns.is_closing:
            return RETRY_S
        await self._begin()
        due = await self._db.schedules.due(self._clock(), AT_ONCE, share)
        done = [await self._happen(record) for record in due]
        if not all(done):
            return RETRY_S
        first = await self._db.schedules.next_due(share)
        if first is None:
            return LONGEST_SLEEP_S
        return min(max((first - self._clock()).total_seconds(), 0.0), LONGEST_SLEEP_S)

    async def _happen(self, record: ScheduleRecord) -> bool:
        """Run a due schedule, skip this time, or pause it. Return False to try again later."""
        try:
            turn_channel = await self._find_turn_channel(record.channel_id)
            problem = await self._problem(record, turn_channel)
            if turn_channel is None or problem is not None:
                await self._pause(record, problem or NO_CHANNEL)
                return True
            await self._take(record, turn_channel)
        except (*NOT_FOUND, OshaberiError) as error:
            if isinstance(error, StorageError):
                raise
            log.warning("schedule %s does not happen yet: %s", record.id, error)
            return False
        return True

    async def _problem(
        self, record: ScheduleRecord, turn_channel: DiscordTurnChannel | None
    ) -> str | None:
        """Return why a schedule cannot happen, until somebody changes something."""
        if turn_channel is None or turn_channel.server_id != record.server_id:
            return NO_CHANNEL
        if not turn_channel.may_write:
            return MUTE
        author = await turn_channel.participant(record.user_id)
        if author.person is None:
            return NO_AUTHOR
        if not author.may_see:
            return UNSEEN
        if not author.may_write:
            return MUTE_AUTHOR
        is_opted_out = record.user_id in self._db.opt_outs
        return OPTED_OUT if is_opted_out and record.kind != "reminder" else None

    async def _pause(self, record: ScheduleRecord, problem: str) -> None:
        log.info("schedule %s in channel %s is paused: %s", record.id, record.channel_id, problem)
        await self._db.schedules.change(
            record.id, is_paused=True, next_at=record.next_at, problem=problem
        )

    async def _take(self, record: ScheduleRecord, turn_channel: DiscordTurnChannel) -> None:
        now = self._clock()
        due = due_time(record, now)
        fate = fate_of(record.kind, due.at, due.following, now)
        if fate == "skipped":
            if await self._db.schedules.take(record, due.following, None):
                log.info("schedule %s was missed, and left out", record.id)
            return
        if record.kind == "follow_up" and not await self._may_come_back(record, turn_channel):
            await self._db.schedules.take(record, None, None)
            return
        # Check before claiming it: once it is claimed, only a restart would find it again.
        occasion = await self._occasion(record, due.at, fate, turn_channel)
        question = self._question(record, due.at, now)
        if occasion and await self._db.schedules.take(record, due.following, question):
            after = replace(record, next_at=due.following or due.at)
            self._taken.append(_TakenTime(after, occasion, turn_channel))
            await self._begin()

    async def _may_come_back(
        self, record: ScheduleRecord, turn_channel: DiscordTurnChannel
    ) -> bool:
        """Return whether a persona may speak first: to this user, and not twice unanswered."""
        if await self._db.unapproached.among([record.user_id]):
            return False
        said = await turn_channel.last_of_a_person()
        newest_id = 0 if said is None else said.id
        return await self._db.openings.take(record.server_id, record.channel_id, newest_id)

    async def _begin(self) -> None:
        """Let the bot speak for the times that were claimed."""
        while self._taken:
            taken = self._taken[0]
            outcome = await self._channel_turns.begin(
                taken.occasion, taken.turn_channel, is_stored=True
            )
            self._taken.pop(0)
            log.debug("schedule %s: %s", taken.record.id, outcome)
            if outcome not in (WHY, "closing", "seen"):
                channel_id = taken.record.channel_id
                await self._db.questions.settle(channel_id, (taken.occasion.id,))
                await self._pause(taken.record, REFUSED)

    def _question(self, record: ScheduleRecord, due: datetime, now: datetime) -> StoredQuestion:
        return StoredQuestion(
            record.channel_id,
            id_of_due(record.id, due),
            record.server_id,
            record.user_id,
            self._instance,
            why_of(record.id),
            now,
        )

    async def occasion_of_question(
        self, question: StoredQuestion, turn_channel: DiscordTurnChannel
    ) -> Occasion | None:
        """Return the occasion that an earlier process had claimed; None if it is over."""
        number = schedule_of(question.why)
        record = None if number is None else await self._db.schedules.get(number)
        if record is None:
            return None
        due = time_of_due(question.message_id)
        rule = None if record.rule is None else Recurrence.of_json(record.rule)
        following = None if rule is None else rule.next_after(due, zone_of(record.zone))
        fate = fate_of(record.kind, due, following, self._clock())
        if fate == "skipped":
            return None
        return await self._occasion(record, due, fate, turn_channel)

    async def _occasion(
        self, record: ScheduleRecord, due: datetime, fate: Fate, turn_channel: DiscordTurnChannel
    ) -> Occasion | None:
        person: Person | None = await turn_channel.person(record.user_id)
        if person is None:
            return None
        # Nobody is watching what the tools do, so they get only the rights of a plain member.
        person = replace(person, can_manage_server=False, can_manage_messages=False)
        with in_language(await self._language(turn_channel.path, turn_channel.locale)):
            return occasion_of(record, due, fate, self._clock(), person)

    async def _language(self, path: ChannelPath, locale: str) -> str:
        return channel_language((await self._settings(path)).turn.language, locale)
