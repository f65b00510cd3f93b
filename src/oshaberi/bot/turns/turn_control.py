"""Carries out commands on turns: stop, continue, regenerate, delete, why.

They return the reply to the user of the command. `resume` continues an answer after a restart.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace

from oshaberi.bot.conversation.answer_buttons import VersionPlace
from oshaberi.bot.conversation.messages import ChannelMessage, IncomingMessage, Person, TurnChannel
from oshaberi.bot.conversation.persona_options import options_of
from oshaberi.bot.storage import Database
from oshaberi.bot.storage.records import TAKEN_BACK, PersonaRecord, TurnRecord
from oshaberi.bot.turns.admission.channel_queue import Kind, QueuedJob
from oshaberi.bot.turns.admission.message_admission import Cooldowns
from oshaberi.bot.turns.admission.questions import RESTART, OpenQuestions
from oshaberi.bot.turns.admission.rules import (
    ADMITTED,
    OCCASIONS,
    reason_word,
    unlisted,
    why_sentence,
)
from oshaberi.bot.turns.answer_versions import AnswerVersions
from oshaberi.bot.turns.control_reply import (
    BUSY,
    CLOSING,
    CONTINUED,
    DELETED,
    DELETED_BEFORE,
    GONE,
    IDLE,
    NO_EDITS,
    NOT_HERE,
    NOT_LISTED,
    NOT_NEWEST,
    NOT_YOURS,
    NOTHING,
    REFUSED,
    REGENERATED,
    STOPPED,
    TOO_SOON,
    UNKNOWN,
    ControlReply,
)
from oshaberi.bot.turns.personas import (
    AnswerPlace,
    PersonaCache,
    allowed_in,
    default_of,
    persona_called,
)
from oshaberi.bot.turns.quotas import QuotaBook, RequestQuota, quota_place, quota_words
from oshaberi.bot.turns.running.queue_runner import QueueRunner
from oshaberi.bot.turns.services.model_access import ModelAccess
from oshaberi.bot.turns.services.turn_services import Alone, SettingsOf
from oshaberi.clocks import loop_time_s, utc_now
from oshaberi.delivery.sink import SinkError
from oshaberi.stream.stops import StopAnswer, StopRegistry

log = logging.getLogger(__name__)

_STOPS: Mapping[StopAnswer, ControlReply] = {
    "stopped": STOPPED,
    "not_yours": NOT_YOURS,
    "idle": IDLE,
}


class TurnControl:
    """Carries out commands on the turns that `runner` runs or has run."""

    def __init__(
        self,
        db: Database,
        settings: SettingsOf,
        stops: StopRegistry,
        models: ModelAccess,
        quotas: QuotaBook,
        persona_cache: PersonaCache,
        cooldowns: Cooldowns,
        questions: OpenQuestions,
        runner: QueueRunner,
        *,
        versions: AnswerVersions,
        alone: Alone,
    ) -> None:
        self._db = db
        self._settings = settings
        self._stops = stops
        self._models = models
        self._quotas = quotas
        self._persona_cache = persona_cache
        self._cooldowns = cooldowns
        self._questions = questions
        self._runner = runner
        self._versions = versions
        self._alone = alone

    def stop(self, channel_id: int, by: int, may_manage: bool) -> ControlReply:
        """Stop the turn. The stop registry knows whose turn it is, and refuses other users."""
        stopped = self._stops.request_stop_as(str(channel_id), str(by), may_manage=may_manage)
        return _STOPS[stopped]

    async def stop_anywhere(self, channel_id: int, by: int, may_manage: bool) -> ControlReply:
        """Ask the process that runs the turn to stop it: only that one knows the turn's user."""
        stopping = self._stops.request_stop_anywhere(
            str(channel_id), str(by), may_manage=may_manage
        )
        return _STOPS[await stopping]

    async def continue_(
        self, turn_channel: TurnChannel, by: Person, message_id: int | None = None
    ) -> ControlReply:
        found = await self._last(turn_channel, by, message_id)
        if isinstance(found, ControlReply):
            return found
        if found.status == TAKEN_BACK:
            return DELETED_BEFORE
        kind: Kind = "deliver" if found.undelivered.strip() else "go_on"
        used_up = None if kind == "deliver" else await self._quota_refusal(turn_channel, found)
        if used_up is not None:
            return used_up
        asked = await self._asked(turn_channel, found) or _stand_in(turn_channel, found, by)
        job = await self._job(turn_channel, found, asked, "continue")
        job = replace(job, kind=kind, text=found.undelivered, continues=found)
        return self._enter(job, by, CONTINUED)

    async def resume(
        self, turn_channel: TurnChannel, turn: TurnRecord, open_ids: frozenset[int]
    ) -> bool:
        """Continue an answer if the channel is idle and its user may still ask there.

        Returns False otherwise, or if the question was deleted.
        """
        if self._runner.is_busy(turn_channel.channel_id):
            return False
        config = (await self._settings(turn_channel.path)).turn
        asked = await self._asked(turn_channel, turn)
        if asked is None and turn.asked_id is not None and not await self._is_by_itself(turn):
            return False  # the question was deleted
        asked = asked or _stand_in(turn_channel, turn, Person(turn.user_id, ""))
        asker = replace(asked.said.author, id=turn.user_id)
        if unlisted(asker, turn_channel.path, config) or not await self._may_answer(
            turn_channel, turn
        ):
            return False  # the user may no longer ask here, or the persona not answer
        job = await self._job(turn_channel, turn, asked, RESTART)
        job = replace(job, kind="go_on", continues=turn, arrival="stored", hidden_ids=open_ids)
        await self._questions.keep_cut(job)
        return self._runner.enter(job) == job.why

    async def _is_by_itself(self, turn: TurnRecord) -> bool:
        """Return whether an occasion began the answer, so that there is no question to find."""
        whole = await self._db.turns.whole(turn)
        return any(reason_word(part.why) in OCCASIONS for part in whole)

    async def regenerate(
        self, turn_channel: TurnChannel, by: Person, message_id: int | None = None
    ) -> ControlReply:
        found = await self._last(turn_channel, by, message_id)
        if isinstance(found, ControlReply):
            return found
        asked = await self._asked(turn_channel, found)
        if asked is None:
            return GONE
        used_up = await self._quota_refusal(turn_channel, found)
        if used_up is not None:
            return used_up  # before the existing answer is deleted
        job = await self._job(turn_channel, found, asked, "regenerate")
        try:
            await self._versions.keep(turn_channel, found, job.settings.turn.answer_versions)
        except SinkError:
            return REFUSED
        await self._take_back(turn_channel, found)
        return self._enter(job, by, REGENERATED)

    async def delete(self, turn_channel: TurnChannel, message_id: int, by: Person) -> ControlReply:
        turn = await self._db.turns.of_message(message_id)
        if turn is None or turn.channel_id != turn_channel.channel_id:
            return BUSY if self._runner.is_busy(turn_channel.channel_id) else UNKNOWN
        if not _may(by, turn):
            return NOT_YOURS
        await self._take_back(turn_channel, turn)
        await self._versions.forget(turn)
        return DELETED

    async def answer_of(
        self, turn_channel: TurnChannel, message_id: int, by: Person
    ) -> AnswerState | ControlReply:
        """Return what somebody may do with an answer. Each action checks their rights again."""
        turn = await self._db.turns.of_message(message_id)
        if turn is None or turn.channel_id != turn_channel.channel_id or turn.status == TAKEN_BACK:
            return UNKNOWN
        settings = await self._settings(turn_channel.path)
        may_edit = may_edit_answer(settings.turn.answer_editing, by, turn)
        return AnswerState(await self._versions.place(turn), may_edit)

    async def show_version(
        self, turn_channel: TurnChannel, message_id: int, number: int, by: Person
    ) -> ControlReply:
        found = await self._changeable(turn_channel, message_id, by)
        if isinstance(found, ControlReply):
            return found
        settings = await self._settings(turn_channel.path)
        async with self._alone(f"turn:{turn_channel.channel_id}"):
            return await self._versions.show(turn_channel, found, number, settings)

    async def edit(
        self, turn_channel: TurnChannel, message_id: int, text: str, by: Person
    ) -> ControlReply:
        found = await self._changeable(turn_channel, message_id, by)
        if isinstance(found, ControlReply):
            return found
        settings = await self._settings(turn_channel.path)
        if not may_edit_answer(settings.turn.answer_editing, by, found):
            return NO_EDITS
        log.info(
            "user %s edits message %s of the bot in channel %s",
            *(by.id, message_id, turn_channel.channel_id),
        )
        async with self._alone(f"turn:{turn_channel.channel_id}"):
            return await self._versions.edit(turn_channel, found, message_id, text, settings)

    async def finish_changes(self, find: Callable[[int], Awaitable[TurnChannel | None]]) -> int:
        """Finish the changes to other versions that an earlier process had begun."""
        unfinished = await self._db.versions.unapplied()
        for key in unfinished:
            turn_channel = await find(key.channel_id)
            if turn_channel is None:
                await self._db.versions.forget(key)
                continue
            settings = await self._settings(turn_channel.path)
            async with self._alone(f"turn:{key.channel_id}"):
                await self._versions.finish(turn_channel, key, settings)
        return len(unfinished)

    async def _changeable(
        self, turn_channel: TurnChannel, message_id: int, by: Person
    ) -> TurnRecord | ControlReply:
        """Return the answer that a message belongs to, if this user may edit it now."""
        if self._runner.is_closing:
            return CLOSING
        if self._runner.is_busy(turn_channel.channel_id):
            return BUSY
        turn = await self._db.turns.of_message(message_id)
        if turn is None or turn.channel_id != turn_channel.channel_id or turn.status == TAKEN_BACK:
            return UNKNOWN
        if not _may(by, turn):
            return NOT_YOURS
        config = (await self._settings(turn_channel.path)).turn
        return NOT_LISTED if unlisted(by, turn_channel.path, config) else turn

    async def why(self, message_id: int, channel_id: int | None, reason: str | None) -> str | None:
        reason = reason or await self._stored_reason(message_id, channel_id)
        return None if reason is None else why_sentence(reason)

    async def _stored_reason(self, message_id: int, channel_id: int | None) -> str | None:
        """Return why the bot wrote a message, or answered it.

        If several personas were asked, prefer the reason of one that answered.
        """
        turn = await self._db.turns.of_message(message_id)
        if turn is not None or channel_id is None:
            return None if turn is None else turn.why
        reasons = await self._db.turns.reasons(channel_id, message_id)
        answered = (one for one in reasons if reason_word(one) in ADMITTED)
        return next(answered, None) or next(iter(reasons), None)

    async def _take_back(self, turn_channel: TurnChannel, turn: TurnRecord) -> None:
        """Delete an answer with its continuations, and their exchanges from memory."""
        whole = await self._db.turns.whole(turn)
        await turn_channel.delete([number for part in whole for number in part.message_ids])
        for part in whole:
            await self._db.turns.take_back(part)
            if part.at is not None:
                await self._db.memory.forget_at(part.channel_id, part.at)

    async def _last(
        self, turn_channel: TurnChannel, by: Person, message_id: int | None
    ) -> TurnRecord | ControlReply:
        """Return the newest answer, if it has this message and this user may regenerate it."""
        if self._runner.is_busy(turn_channel.channel_id):
            return BUSY
        turn = await self._db.turns.last(turn_channel.channel_id)
        if message_id is not None:
            of_message = await self._db.turns.of_message(message_id)
            if of_message is None or of_message.channel_id != turn_channel.channel_id:
                return UNKNOWN
            if turn is None or turn.first_id != of_message.first_id or turn.status == TAKEN_BACK:
                return NOT_NEWEST
        if turn is None or await self._is_before_start(turn):
            return NOTHING
        if not _may(by, turn):
            return NOT_YOURS
        if not await self._may_answer(turn_channel, turn):
            return NOT_HERE
        return await self._refusal(turn_channel, by) or turn

    async def _is_before_start(self, turn: TurnRecord) -> bool:
        """Return whether the conversation of a channel was restarted after an answer."""
        start = await self._db.talks.start_of(turn.channel_id)
        return bool(turn.message_ids) and max(turn.message_ids) <= start.after_id

    async def _may_answer(self, turn_channel: TurnChannel, turn: TurnRecord) -> bool:
        """Return whether the persona of a turn may still answer in its channel.

        It may do so even while it sleeps: somebody asked for it with a command.
        """
        persona = await self._persona(turn_channel, turn)
        place = AnswerPlace(turn_channel.path, turn_channel.is_age_restricted, None)
        return bool(allowed_in((persona,), place))

    async def _persona(self, turn_channel: TurnChannel, turn: TurnRecord) -> PersonaRecord:
        personas = await self._persona_cache.of(turn_channel.server_id)
        return persona_called(turn.persona, personas) or default_of(personas)

    async def _refusal(self, turn_channel: TurnChannel, by: Person) -> ControlReply | None:
        """Return why the user may not ask again: the lists and the cooldown apply too."""
        config = (await self._settings(turn_channel.path)).turn
        if unlisted(by, turn_channel.path, config):
            return NOT_LISTED
        now_s = loop_time_s()
        return None if self._cooldowns.allows(by.id, now_s, config.cooldown_ms) else TOO_SOON

    async def _quota_refusal(
        self, turn_channel: TurnChannel, turn: TurnRecord
    ) -> ControlReply | None:
        """Return why the quota refuses it. The quota of the original user counts."""
        place = quota_place(turn_channel, turn.user_id)
        own = (await self._settings(turn_channel.path)).turn
        first = options_of(await self._persona(turn_channel, turn)).models
        candidates = await self._models.chain(turn_channel.path, turn.user_id, first)
        refusal = await RequestQuota(self._quotas, own, place).refusal(candidates)
        return None if refusal is None else ControlReply(False, quota_words(refusal, place))

    async def _asked(self, turn_channel: TurnChannel, turn: TurnRecord) -> IncomingMessage | None:
        said = None if turn.asked_id is None else await turn_channel.said(turn.asked_id)
        if said is None:
            return None
        replied = None if said.reply_to is None else await turn_channel.said(said.reply_to)
        return _incoming(turn_channel, said, replied)

    async def _job(
        self, turn_channel: TurnChannel, turn: TurnRecord, asked: IncomingMessage, why: str
    ) -> QueuedJob:
        settings = await self._settings(turn_channel.path)
        personas = await self._persona_cache.of(turn_channel.server_id)
        persona = await self._persona(turn_channel, turn)
        before = asked.said.id if why == "regenerate" else None
        return QueuedJob(
            turn_channel, (asked,), (persona,), personas, why, turn.user_id, settings, before=before
        )

    def _enter(self, job: QueuedJob, by: Person, done: ControlReply) -> ControlReply:
        entered = self._runner.enter(job)
        if entered == job.why:
            self._cooldowns.note(by.id, loop_time_s())
        return {job.why: done, "full": BUSY}.get(entered, CLOSING)


def _incoming(
    turn_channel: TurnChannel, said: ChannelMessage, replied: ChannelMessage | None = None
) -> IncomingMessage:
    path = turn_channel.path
    return IncomingMessage(
        said,
        path.channel_id,
        path.server_id,
        path.parent_id,
        replied=replied,
        category_id=path.category_id,
        is_age_restricted=turn_channel.is_age_restricted,
    )


@dataclass(frozen=True, slots=True)
class AnswerState:
    """Which version of an answer is shown, and whether somebody may edit it."""

    place: VersionPlace | None
    may_edit: bool


def may_edit_answer(who: str, by: Person, turn: TurnRecord) -> bool:
    """Return whether somebody may edit what the bot said; `who` is the setting."""
    if who == "asker":
        return _may(by, turn)
    return who == "managers" and by.can_manage_messages


def _may(by: Person, turn: TurnRecord) -> bool:
    return by.id == turn.user_id or by.can_manage_messages


def _stand_in(turn_channel: TurnChannel, turn: TurnRecord, by: Person) -> IncomingMessage:
    """Return a replacement for a deleted message, so that its answer can be continued."""
    newest = max(turn.message_ids, default=turn.asked_id or 0)
    if by.id != turn.user_id:
        # The words are another person's, so they must not have the rights of this one.
        by = replace(by, can_manage_server=False, can_manage_messages=False)
    said = ChannelMessage(newest, by, "", at=turn.at or utc_now())
    return _incoming(turn_channel, said)
