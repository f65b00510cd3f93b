"""Runs one turn per channel at a time; further messages wait or interrupt (spec 04)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Self

from oshaberi.bot.conversation.messages import IncomingMessage, Person, TurnChannel
from oshaberi.bot.storage.records import TurnRecord
from oshaberi.bot.turns.admission.channel_queue import (
    Arrival,
    BusyChannel,
    QueuedJob,
    TurnRequest,
)
from oshaberi.bot.turns.admission.message_admission import MessageAdmission
from oshaberi.bot.turns.admission.occasions import Occasion
from oshaberi.bot.turns.admission.questions import (
    CLAIMED,
    RESTART,
    Claim,
    OpenQuestions,
    UnbegunQuestions,
)
from oshaberi.bot.turns.admission.rules import UnaddressedMessage, reason_word
from oshaberi.bot.turns.answer_versions import AnswerVersions
from oshaberi.bot.turns.caches import BoundedCache, KeyedLocks
from oshaberi.bot.turns.context.surroundings import ContextSources
from oshaberi.bot.turns.control_reply import ControlReply
from oshaberi.bot.turns.notices import StatusReactions
from oshaberi.bot.turns.own_threads import OwnThreads
from oshaberi.bot.turns.personas import PersonaCache
from oshaberi.bot.turns.post_turn import TurnRecords
from oshaberi.bot.turns.quotas import QuotaBook
from oshaberi.bot.turns.running.greeting import Greetings
from oshaberi.bot.turns.running.job_runner import JobRunner
from oshaberi.bot.turns.running.queue_runner import QueueRunner
from oshaberi.bot.turns.running.turn import Turn
from oshaberi.bot.turns.services.turn_services import BackgroundTasks, TurnServices
from oshaberi.bot.turns.turn_control import AnswerState, TurnControl
from oshaberi.clocks import loop_time_s
from oshaberi.stream.stops import ActiveChannel

log = logging.getLogger(__name__)

MOST_SEEN = 4000
REACTION_SECONDS = 2.0
WITHDRAWN = "withdrawn"
"""Its author deleted it before its turn."""


class ChannelTurns:
    """The turns of a process. `over` builds this from the shared services."""

    def __init__(
        self,
        *,
        persona_cache: PersonaCache,
        admission: MessageAdmission,
        questions: OpenQuestions,
        unbegun: UnbegunQuestions,
        runner: QueueRunner,
        control: TurnControl,
        reasons: BoundedCache[int, str],
        deleted: BoundedCache[int, bool],
        reactions: StatusReactions,
        background: BackgroundTasks,
        own_threads: OwnThreads,
    ) -> None:
        self.persona_cache = persona_cache
        self.own_threads = own_threads
        self.admission = admission
        self.questions = questions
        self._unbegun = unbegun
        self._runner = runner
        self._queues = runner.queues
        self._control = control
        self._reasons = reasons
        self._deleted = deleted
        self._reactions = reactions
        self._background = background
        self._entering: KeyedLocks[int] = KeyedLocks()
        self._storing: dict[int, asyncio.Task[None]] = {}
        """The tasks that store questions whose turns have already begun, by message."""

    @classmethod
    def over(cls, services: TurnServices, *, claim: Claim | None = None) -> Self:
        """Build this from what all turns share. Each part gets only what it uses.

        `claim` is asked before a message is accepted.
        """
        db, models, traffic = services.db, services.models, services.traffic
        background, clock = services.background, services.clock
        persona_cache = PersonaCache(db, models.operator)
        reasons, reactions = BoundedCache[int, str](MOST_SEEN), StatusReactions(background)
        questions, quotas = (
            OpenQuestions(db, services.instance),
            QuotaBook(db, models.operator, clock),
        )
        admission = MessageAdmission(services.settings, persona_cache, clock, services.draw)
        versions = AnswerVersions(db)
        turns = JobRunner(
            _turns_from(services, quotas),
            traffic=traffic,
            observers=services.observers,
            reactions=reactions,
            greetings=Greetings(db.personas, services.notes.greeted, clock),
            reason_of=reasons.get,
            failing=models.outages.failing,
            background=background,
            versions=versions,
            clock=clock,
            draw=services.draw,
        )
        known = (admission, questions, reasons)
        own_threads = OwnThreads(db.talks)
        runner = QueueRunner(traffic, turns, *known, reactions, own_threads)
        control = TurnControl(
            *(db, services.settings, traffic.stops, models, quotas),
            *(persona_cache, admission.cooldowns, questions, runner),
            versions=versions,
            alone=traffic.alone,
        )
        return cls(
            persona_cache=persona_cache,
            admission=admission,
            questions=questions,
            unbegun=UnbegunQuestions(runner.queues, *known, background, claim),
            runner=runner,
            control=control,
            reasons=reasons,
            deleted=services.notes.deleted_messages,
            reactions=reactions,
            background=background,
            own_threads=own_threads,
        )

    async def submit(
        self,
        incoming: IncomingMessage,
        turn_channel: TurnChannel,
        arrival: Arrival = "new",
        stored_why: str = "",
    ) -> str:
        """Accept a message. Return in one word why it is answered or not; the turn runs on.

        `stored_why` is the reason why a stored question was admitted.
        """
        if self.is_closing:
            return "closing"
        if self._reasons.get(incoming.said.id) not in (None, CLAIMED):
            return "seen"
        self._reasons.put(incoming.said.id, "seen")
        try:
            async with self._entering.through(incoming.channel_id):
                reason = await self._decide(incoming, turn_channel, arrival, stored_why)
                if self._reasons.get(incoming.said.id) in (None, "seen"):
                    self._reasons.put(incoming.said.id, reason)
            if (stored := self._storing.pop(incoming.said.id, None)) is not None:
                await asyncio.wait({stored})
                reason = WITHDRAWN if self._is_deleted(incoming) else reason
        except BaseException:
            # Not accepted: it may be submitted again.
            self._storing.pop(incoming.said.id, None)
            self._reasons.forget(incoming.said.id)
            raise
        return reason_word(reason)

    async def begin(
        self, occasion: Occasion, turn_channel: TurnChannel, *, is_stored: bool = False
    ) -> str:
        """Let the bot speak on an occasion. Return in one word why it does or does not.

        The turn runs in the background, after those that wait in the channel. This stores an open
        question, so that a restart resumes it; `is_stored`: it is already stored.
        """
        if self.is_closing:
            return "closing"
        if self._reasons.get(occasion.id) is not None:
            return "seen"
        self._reasons.put(occasion.id, "seen")
        reason = ""
        try:
            async with self._entering.through(turn_channel.channel_id):
                notifying = turn_channel.notifying(occasion.pings)
                job = await self.admission.occasion_job(occasion, notifying)
                if not isinstance(job, QueuedJob):
                    return job
                if not is_stored:
                    await self.questions.keep(job)
                reason = self._runner.enter(job)
        finally:
            if reason == occasion.why:
                self._reasons.put(occasion.id, reason)
            else:  # not accepted: it may come again
                self._reasons.forget(occasion.id)
        return reason_word(reason)

    async def why_ignored(self, message: UnaddressedMessage) -> str | None:
        """Return in one word why a new message is ignored; None if `submit` has to decide.

        In a busy channel `submit` decides, so that messages are decided in their order.
        """
        settings, personas = await self.admission.known(message.path)
        channel_id = message.path.channel_id
        is_quiet = channel_id not in self._queues and channel_id not in self._entering
        if not is_quiet or self.is_closing or message.id in self._reasons:
            return None
        reason = self.admission.why_ignored(message, personas, settings)
        if reason is not None:
            self._reasons.put(message.id, reason)
        return reason

    async def admits(self, incoming: IncomingMessage) -> bool:
        """Return whether a message would be answered, regardless of earlier ones."""
        return await self.admission.admits(incoming)

    def awaits(self, channel_id: int, message_id: int) -> bool:
        """Return whether a message waits for its turn."""
        queue = self._queues.get(channel_id)
        return queue is not None and queue.awaits(message_id)

    def withdraw(self, channel_id: int, message_id: int) -> None:
        """Handle a deleted message. If it still waits, it is not answered."""
        self._deleted.put(message_id, True)
        self._unbegun.withdraw(channel_id, message_id, WITHDRAWN)

    def note_typing(self, channel_id: int, user_id: int) -> None:
        """Note that somebody types: if they have asked something, they may not have finished."""
        queue = self._queues.get(channel_id)
        for job in () if queue is None else queue.unbegun:
            if job.user_id == user_id and job.burst is not None:
                job.burst.note_typing(loop_time_s())

    async def amend(self, changed: IncomingMessage) -> None:
        """Handle an edited message. If it still waits, the edited text is answered."""
        await self._unbegun.amend(changed)

    def stop(self, channel_id: int, by: int, may_manage: bool) -> ControlReply:
        """Stop the turn. Allowed for its user and for users who may manage messages."""
        return self._control.stop(channel_id, by, may_manage)

    async def stop_anywhere(self, channel_id: int, by: int, may_manage: bool) -> ControlReply:
        """Stop the turn like `stop`, in whichever process it runs."""
        return await self._control.stop_anywhere(channel_id, by, may_manage)

    async def continue_(
        self, turn_channel: TurnChannel, by: Person, message_id: int | None = None
    ) -> ControlReply:
        """Send what was cut off or not delivered; otherwise ask the model to continue.

        With `message_id`, only if this message belongs to the newest answer.
        """
        async with self._entering.through(turn_channel.channel_id):
            return await self._control.continue_(turn_channel, by, message_id)

    async def resume(
        self, turn_channel: TurnChannel, turn: TurnRecord, open_ids: frozenset[int] = frozenset()
    ) -> bool:
        """Continue an answer that a restart cut off. Return whether that was possible.

        `open_ids` are questions that wait after it: the model does not see them yet.
        """
        async with self._entering.through(turn_channel.channel_id):
            is_resumed = await self._control.resume(turn_channel, turn, open_ids)
        if is_resumed and turn.asked_id is not None:
            # Whoever looks for missed messages finds its question, and it is answered already.
            self._reasons.put(turn.asked_id, RESTART)
        return is_resumed

    async def regenerate(
        self, turn_channel: TurnChannel, by: Person, message_id: int | None = None
    ) -> ControlReply:
        """Delete the channel's last answer and ask for it again.

        With `message_id`, only if this message belongs to it.
        """
        async with self._entering.through(turn_channel.channel_id):
            return await self._control.regenerate(turn_channel, by, message_id)

    async def show_version(
        self, turn_channel: TurnChannel, message_id: int, number: int, by: Person
    ) -> ControlReply:
        """Show another version of the answer that this message belongs to."""
        async with self._entering.through(turn_channel.channel_id):
            return await self._control.show_version(turn_channel, message_id, number, by)

    async def edit(
        self, turn_channel: TurnChannel, message_id: int, text: str, by: Person
    ) -> ControlReply:
        """Replace what a message of the bot says."""
        async with self._entering.through(turn_channel.channel_id):
            return await self._control.edit(turn_channel, message_id, text, by)

    async def answer_of(
        self, turn_channel: TurnChannel, message_id: int, by: Person
    ) -> AnswerState | ControlReply:
        """Return what this user may do with the answer that this message belongs to."""
        return await self._control.answer_of(turn_channel, message_id, by)

    async def finish_changes(self, find: Callable[[int], Awaitable[TurnChannel | None]]) -> int:
        """Finish the changes to other versions that an earlier process had begun."""
        return await self._control.finish_changes(find)

    async def delete(self, turn_channel: TurnChannel, message_id: int, by: Person) -> ControlReply:
        """Delete the whole answer that this message is part of."""
        async with self._entering.through(turn_channel.channel_id):
            return await self._control.delete(turn_channel, message_id, by)

    async def why(self, message_id: int, channel_id: int | None = None) -> str | None:
        """Return why a message was answered or not, or why the bot wrote it; None if unknown.

        Questions from before the last start are found only in their channel.
        """
        known = self._reasons.get(message_id) or self._runner.why_written(message_id)
        return await self._control.why(message_id, channel_id, known)

    def current(self, channel_id: int) -> QueuedJob | None:
        """Return the job that runs in a channel, or None."""
        queue = self._queues.get(channel_id)
        return None if queue is None else queue.job

    def is_writing(self, channel_id: int, message_id: int) -> bool:
        """Return whether a message belongs to the answer that is being written in a channel."""
        return self.is_busy(channel_id) and self._runner.why_written(message_id) is not None

    def is_busy(self, channel_id: int) -> bool:
        return self._runner.is_busy(channel_id)

    def running(self, counts: Callable[[TurnChannel], bool] = lambda _turn_channel: True) -> int:
        """Count the channels with a running turn."""
        return sum(counts(queue.job.turn_channel) for queue in self._queues.values())

    def waiting(self, counts: Callable[[TurnChannel], bool] = lambda _turn_channel: True) -> int:
        """Count the messages that wait."""
        return sum(
            queue.messages for queue in self._queues.values() if counts(queue.job.turn_channel)
        )

    def busy_channels(self) -> tuple[BusyChannel, ...]:
        """Return the channels in which something runs, the oldest question first."""
        now_s = loop_time_s()
        busy = [queue.busy(now_s) for queue in self._queues.values()]
        return tuple(sorted(busy, key=lambda one: -(one.seconds or 0)))

    def watch_busy(self, listener: Callable[[int, bool], None]) -> None:
        """Tell the listener when a channel becomes busy and when it is free again."""
        self._runner.on_busy = listener

    @property
    def is_closing(self) -> bool:
        return self._runner.is_closing

    async def idle(self) -> None:
        """Wait until no turn runs or waits, and all reactions are set."""
        await self._runner.idle()
        await self._background.settle(REACTION_SECONDS)

    async def shutdown(self, grace_s: float = 10.0) -> None:
        """Let turns finish for `grace_s` seconds, then end them at the next sentence.

        Waiting questions are stored for the next start, and so are answers that were cut off.
        """
        await self._runner.close(grace_s)
        await self._background.settle(REACTION_SECONDS)

    async def _decide(
        self, incoming: IncomingMessage, turn_channel: TurnChannel, arrival: Arrival, why: str
    ) -> str:
        if incoming.said.by_us:
            return "own"
        heard = await self.admission.heard(incoming)
        incoming = heard.incoming
        if self._is_deleted(incoming):
            return WITHDRAWN
        copied_why = self._reasons.get(incoming.copied_id or 0) or ""
        if heard.may_belong and self._unbegun.settle_copy(incoming):
            return "copy"
        if arrival == "new" and (reason := await self._unbegun.join_burst(heard, turn_channel)):
            return reason
        decided = self.admission.decide(heard, arrival, why or copied_why)
        if decided.reason == "cooldown" and heard.admission.ok:
            self._reactions.too_soon(turn_channel, incoming.said.id)
        if decided.reason == "mute" and incoming.is_addressed:
            self._reactions.mute(turn_channel, incoming.said.id)
        if not decided.ok:
            return decided.as_stored
        if not await self._unbegun.is_ours(incoming):
            return CLAIMED
        job = self.admission.job(heard, turn_channel, decided.as_stored, arrival)
        self.admission.note_admitted(job)
        reason = await self._enter(job, incoming)
        if reason in ("full", WITHDRAWN):
            await self.questions.settle(incoming.channel_id, (incoming.said.id,))
        return reason

    async def _enter(self, job: QueuedJob, incoming: IncomingMessage) -> str:
        """Store the question and put it into the queue of its channel.

        If its turn begins at once, it collects the context meanwhile, and asks no model before the
        question is stored.
        """
        # Nobody can withdraw it before it is in the queue.
        if self._runner.is_busy(incoming.channel_id) or self._is_deleted(incoming):
            await self.questions.keep(job)
            return WITHDRAWN if self._is_deleted(incoming) else self._runner.enter(job)
        stored = self._background.start("storing a question", self.questions.keep(job))
        self._storing[incoming.said.id] = stored
        return self._runner.enter(replace(job, stored=stored))

    def _is_deleted(self, incoming: IncomingMessage) -> bool:
        return self._deleted.get(incoming.said.id) is not None


def _turns_from(
    services: TurnServices, quotas: QuotaBook
) -> Callable[[TurnRequest, ActiveChannel], Turn]:
    """Return a factory for turns, with everything that they share."""
    db, notes, clock = services.db, services.notes, services.clock
    return partial(
        Turn,
        records=TurnRecords(db, services.instance, clock, notes.deleted_messages),
        sources=ContextSources(
            *(db, services.models.operator, services.lore, clock, notes.history_starts),
            read_text=services.read_text,
            usable_faces=services.usable_faces,
        ),
        models=services.models,
        quotas=quotas,
        answer_tools=services.answer_tools,
        notes=notes,
        stops=services.traffic.stops,
        observers=services.observers.streams,
    )
