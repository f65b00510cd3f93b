"""What commands do to turns: stop, continue, regenerate, delete, and why there was one.

Each answers with a sentence for the one who gave the command.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from oshaberi.storage.records import TAKEN_BACK, TurnRecord
from oshaberi.stream.stops import StopAnswer
from oshaberi.turns.admission import WHY, may_ask
from oshaberi.turns.errand import Kind
from oshaberi.turns.job import Job
from oshaberi.turns.names import default_of, persona_called
from oshaberi.turns.room import Room
from oshaberi.turns.services import Services, utc_now
from oshaberi.turns.values import Incoming, Person, Said

if TYPE_CHECKING:
    from oshaberi.turns.conversations import Conversations


@dataclass(frozen=True, slots=True)
class Reply:
    """What a command tells the one who gave it."""

    ok: bool
    text: str


STOPPED = Reply(True, "Stopped.")
IDLE = Reply(False, "There is nothing to stop here.")
NOT_YOURS = Reply(False, "Only who asked, or somebody with Manage Messages, can do that.")
NOT_LISTED = Reply(False, "You are not answered here (blocked_users, allowed_users).")
TOO_SOON = Reply(False, "You asked a moment ago. Wait a little, then try again (cooldown_ms).")
BUSY = Reply(False, "An answer is under way here. Wait for it, or /stop it first.")
NOTHING = Reply(False, "I have not answered anything here that I could still know of.")
GONE = Reply(False, "The message that was answered is gone, so it cannot be answered again.")
UNKNOWN = Reply(False, "That message is not part of an answer that I still know of.")
CONTINUED = Reply(True, "Going on.")
REGENERATED = Reply(True, "Answering again.")
DELETED = Reply(True, "The whole answer is deleted.")
DELETED_BEFORE = Reply(False, "My last answer here was deleted. /regenerate writes a new one.")
CLOSING = Reply(False, "The bot is shutting down. Try again in a moment.")

_STOPS: Mapping[StopAnswer, Reply] = {"stopped": STOPPED, "not_yours": NOT_YOURS, "idle": IDLE}


class Operations:
    def __init__(self, conversations: Conversations) -> None:
        self._conversations = conversations

    @property
    def _services(self) -> Services:
        return self._conversations.services

    def stop(self, channel_id: int, by: int, may_manage: bool) -> Reply:
        stops = self._services.stops
        return _STOPS[stops.request_stop_as(str(channel_id), str(by), may_manage=may_manage)]

    async def stop_anywhere(self, channel_id: int, by: int, may_manage: bool) -> Reply:
        """Whose turn it is knows only the process that runs it: that one decides."""
        stops, channel = self._services.stops, str(channel_id)
        return _STOPS[await stops.request_stop_anywhere(channel, str(by), may_manage=may_manage)]

    async def continue_(self, room: Room, by: Person) -> Reply:
        found = await self._last(room, by)
        if isinstance(found, Reply):
            return found
        if found.status == TAKEN_BACK:
            return DELETED_BEFORE
        kind: Kind = "deliver" if found.undelivered.strip() else "go_on"
        asked = await self._asked(room, found) or _stand_in(room, found, by)
        job = await self._job(room, found, asked, "continue")
        job = replace(job, kind=kind, text=found.undelivered, continues=found)
        return self._enter(job, by, CONTINUED)

    async def regenerate(self, room: Room, by: Person) -> Reply:
        found = await self._last(room, by)
        if isinstance(found, Reply):
            return found
        asked = await self._asked(room, found)
        if asked is None:
            return GONE
        job = await self._job(room, found, asked, "regenerate")
        await self._take_back(room, found)
        return self._enter(job, by, REGENERATED)

    async def delete(self, room: Room, message_id: int, by: Person) -> Reply:
        store = self._services.store
        turn = None if store is None else await store.turns.of_message(message_id)
        if turn is None or turn.channel_id != room.channel_id:
            return BUSY if self._conversations.is_busy(room.channel_id) else UNKNOWN
        if not _may(by, turn):
            return NOT_YOURS
        await self._take_back(room, turn)
        return DELETED

    async def why(self, message_id: int, reason: str | None) -> str | None:
        store = self._services.store
        if reason is None and store is not None:
            turn = await store.turns.of_message(message_id)
            reason = None if turn is None else turn.why
        return None if reason is None or reason not in WHY else f"Because {WHY[reason]}."

    async def _take_back(self, room: Room, turn: TurnRecord) -> None:
        """An answer with all that it was continued with; what is gone is not remembered either."""
        store = self._services.store
        if store is None:
            return
        whole = await store.turns.whole(turn)
        await room.delete([number for part in whole for number in part.message_ids])
        for part in whole:
            await store.turns.take_back(part)
            if part.at is not None:
                await store.memory.forget_at(part.channel_id, part.at)

    async def _last(self, room: Room, by: Person) -> TurnRecord | Reply:
        if self._conversations.is_busy(room.channel_id):
            return BUSY
        store = self._services.store
        turn = None if store is None else await store.turns.last(room.channel_id)
        if turn is None:
            return NOTHING
        if not _may(by, turn):
            return NOT_YOURS
        return await self._refusal(room, by) or turn

    async def _refusal(self, room: Room, by: Person) -> Reply | None:
        """To ask again is to ask: the lists and the cooldown hold for it too."""
        config = (await self._services.settings(room.server_id)).turn
        if not may_ask(by.id, config):
            return NOT_LISTED
        now, cooldowns = self._services.clock(), self._conversations.cooldowns
        return None if cooldowns.allows(by.id, now, config.cooldown_ms) else TOO_SOON

    async def _asked(self, room: Room, turn: TurnRecord) -> Incoming | None:
        said = None if turn.asked_id is None else await room.said(turn.asked_id)
        if said is None:
            return None
        replied = None if said.reply_to is None else await room.said(said.reply_to)
        return Incoming(said, room.channel_id, room.server_id, replied=replied)

    async def _job(self, room: Room, turn: TurnRecord, asked: Incoming, why: str) -> Job:
        settings = await self._services.settings(room.server_id)
        personas = await self._conversations.cast.of(room.server_id)
        persona = persona_called(turn.persona, personas) or default_of(personas)
        before = asked.said.id if why == "regenerate" else None
        return Job(room, (asked,), (persona,), personas, why, turn.user_id, settings, before=before)

    def _enter(self, job: Job, by: Person, done: Reply) -> Reply:
        entered = self._conversations.enter(job)
        if entered == job.why:
            self._conversations.cooldowns.note(by.id, self._services.clock())
        return {job.why: done, "full": BUSY}.get(entered, CLOSING)


def _may(by: Person, turn: TurnRecord) -> bool:
    return by.id == turn.user_id or by.can_manage_messages


def _stand_in(room: Room, turn: TurnRecord, by: Person) -> Incoming:
    """The message is gone, but the answer can go on without it."""
    newest = max(turn.message_ids, default=turn.asked_id or 0)
    said = Said(newest, by, "", at=turn.at or utc_now())
    return Incoming(said, room.channel_id, room.server_id)
