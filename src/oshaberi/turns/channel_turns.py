"""Runs one turn per channel at a time; further messages wait or interrupt (spec 04)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack

from oshaberi.conversation.conversation_messages import IncomingMessage, Person
from oshaberi.conversation.turn_channel import TurnChannel
from oshaberi.conversation.turn_config import TurnConfig
from oshaberi.storage.storage_errors import StorageAwayError
from oshaberi.storage.stored_records import PersonaRecord, TurnRecord
from oshaberi.stream.stops.stop_registry import ActiveChannel
from oshaberi.turns.admission.admission_rules import Cooldowns, admission
from oshaberi.turns.admission.channel_queue import Arrival, BusyChannel, ChannelQueue, QueuedJob
from oshaberi.turns.admission.follow_up_policy import queue_follow_up
from oshaberi.turns.admission.open_questions import OpenQuestions
from oshaberi.turns.admission.persona_routing import allowed_in, who_answers
from oshaberi.turns.background_tasks import BackgroundTasks
from oshaberi.turns.bounded_cache import BoundedCache, KeyedLocks
from oshaberi.turns.context.persona_cache import PersonaCache
from oshaberi.turns.status_reactions import StatusReactions
from oshaberi.turns.turn_control import ControlReply, TurnControl
from oshaberi.turns.turn_runner import TurnRunner
from oshaberi.turns.turn_services import TurnServices

log = logging.getLogger(__name__)

Claim = Callable[[int], Awaitable[bool]]
"""Whether this process may answer the message: with several, only one of them may."""

CLAIMED = "claimed"
"""Another process answers it. If that one ends, whoever comes with it again is heard."""
MOST_SEEN = 4000
LAST_SECONDS = 20.0
"""How long stopped turns may take to end: a message on the wire is awaited (spec 04 O1), and a
hundred turns that end at once store and tell that they were cut off."""
REACTION_SECONDS = 2.0


class ChannelTurns:
    """The turns of a process. `claim` is asked before a message is accepted."""

    def __init__(self, services: TurnServices, *, claim: Claim | None = None) -> None:
        self.services = services
        self.cast = PersonaCache(services)
        self._claim = claim
        self._background = BackgroundTasks()
        self._reactions = StatusReactions(self._background)
        self._runner = TurnRunner(services, self._background)
        self.questions = OpenQuestions(services)
        self._lines: dict[int, ChannelQueue] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._entering: KeyedLocks[int] = KeyedLocks()
        self.cooldowns = Cooldowns()
        self._reasons: BoundedCache[int, str] = BoundedCache(MOST_SEEN)
        self._control = TurnControl(self)
        self._closing = False
        self.on_busy: Callable[[int, bool], None] = lambda _channel_id, _busy: None
        """Told when a channel becomes busy and when it is free again."""

    async def submit(
        self, incoming: IncomingMessage, turn_channel: TurnChannel, arrival: Arrival = "new"
    ) -> str:
        """Accept a message. Return in one word why it is answered or not; the turn runs on."""
        if self._closing:
            return "closing"
        if self._reasons.get(incoming.said.id) not in (None, CLAIMED):
            return "seen"
        self._reasons.put(incoming.said.id, "seen")
        try:
            async with self._entering.through(incoming.channel_id):
                reason = await self._taken(incoming, turn_channel, arrival)
        except BaseException:
            # Not accepted: it may be submitted again.
            self._reasons.forget(incoming.said.id)
            raise
        self._reasons.put(incoming.said.id, reason)
        return reason

    async def admits(self, incoming: IncomingMessage) -> bool:
        """Tell whether a message would be answered, regardless of earlier ones."""
        settings = await self.services.settings(incoming.path)
        personas = await self.cast.of(incoming.server_id)
        answering = _answering(incoming, personas, settings.turn)
        return bool(answering) and admission(incoming, personas, settings.turn).ok

    def enter(self, job: QueuedJob) -> str:
        """Run the job now, or queue it. From here on the channel is active."""
        line = self._lines.get(job.turn_channel.channel_id)
        if self._closing:
            return "closing"
        if line is None:
            self._open(job)
            return job.why
        turn = job.settings.turn
        # What was admitted once is not refused later.
        if job.arrival != "stored" and line.messages + len(job.asked) > turn.waiting_limit:
            self._reactions.full(job.turn_channel, job.asked[-1].said.id)
            return "full"
        if queue_follow_up(job, line) == "interrupt":
            self.services.stops.request_follow_up(_key(job), str(job.user_id))
        return job.why

    def awaits(self, channel_id: int, message_id: int) -> bool:
        """Tell whether a message waits for its turn."""
        line = self._lines.get(channel_id)
        return line is not None and line.awaits(message_id)

    def withdraw(self, channel_id: int, message_id: int) -> None:
        """Handle a deleted message. If it still waits, it is not answered."""
        self.services.deleted_messages.put(message_id, True)
        line = self._lines.get(channel_id)
        if line is not None and line.awaits(message_id):
            line.withdraw(message_id)
            self._background.start(self.questions.settle(channel_id, (message_id,)))

    def amend(self, changed: IncomingMessage) -> None:
        """Handle an edited message. If it still waits, the edited text is answered."""
        if (line := self._lines.get(changed.channel_id)) is not None:
            line.amend(changed)

    def stop(self, channel_id: int, by: int, may_manage: bool) -> ControlReply:
        """Stop the turn. Allowed for its user and for users who may manage messages."""
        return self._control.stop(channel_id, by, may_manage)

    async def stop_anywhere(self, channel_id: int, by: int, may_manage: bool) -> ControlReply:
        """Stop the turn like `stop`, in whichever process it runs."""
        return await self._control.stop_anywhere(channel_id, by, may_manage)

    async def continue_(self, turn_channel: TurnChannel, by: Person) -> ControlReply:
        """Send what was cut or not delivered; else ask the model to continue."""
        async with self._entering.through(turn_channel.channel_id):
            return await self._control.continue_(turn_channel, by)

    async def resume(
        self, turn_channel: TurnChannel, turn: TurnRecord, open_ids: frozenset[int] = frozenset()
    ) -> bool:
        """Continue an answer that a restart cut off. Return whether that was possible.

        `open_ids` are questions that wait behind it: the model does not see them yet.
        """
        async with self._entering.through(turn_channel.channel_id):
            is_resumed = await self._control.resume(turn_channel, turn, open_ids)
        if is_resumed and turn.asked_id is not None:
            # Whoever looks for missed messages finds its question, and it is answered already.
            self._reasons.put(turn.asked_id, "seen")
        return is_resumed

    async def regenerate(self, turn_channel: TurnChannel, by: Person) -> ControlReply:
        """Delete the channel's last answer and ask for it again."""
        async with self._entering.through(turn_channel.channel_id):
            return await self._control.regenerate(turn_channel, by)

    async def delete(self, turn_channel: TurnChannel, message_id: int, by: Person) -> ControlReply:
        """Delete the whole answer that this message is part of."""
        return await self._control.delete(turn_channel, message_id, by)

    async def why(self, message_id: int) -> str | None:
        """Return why a message was answered or not, or why we wrote it; None if unknown."""
        return await self._control.why(message_id, self._reasons.get(message_id))

    def current(self, channel_id: int) -> QueuedJob | None:
        """Return the job that runs in a channel, or None."""
        line = self._lines.get(channel_id)
        return None if line is None else line.job

    def is_busy(self, channel_id: int) -> bool:
        return channel_id in self._lines

    def running(self, counts: Callable[[TurnChannel], bool] = lambda _turn_channel: True) -> int:
        """Count the channels with a running turn."""
        return sum(counts(line.job.turn_channel) for line in self._lines.values())

    def waiting(self, counts: Callable[[TurnChannel], bool] = lambda _turn_channel: True) -> int:
        """Count the messages that wait."""
        return sum(line.messages for line in self._lines.values() if counts(line.job.turn_channel))

    def busy_channels(self) -> tuple[BusyChannel, ...]:
        """Return the channels in which something runs, the oldest question first."""
        now_s = asyncio.get_running_loop().time()
        busy = [line.busy(now_s) for line in self._lines.values()]
        return tuple(sorted(busy, key=lambda one: -(one.seconds or 0)))

    @property
    def is_closing(self) -> bool:
        return self._closing

    async def idle(self) -> None:
        """Wait until no turn runs or waits, and all reactions are set."""
        while self._tasks:
            await asyncio.wait(set(self._tasks))
        await self._background.settle(REACTION_SECONDS)

    async def shutdown(self, grace_s: float = 10.0) -> None:
        """Let turns finish for `grace_s` seconds, then end them at the next sentence.

        Waiting questions are stored for the next start, and so is which answer was cut off.
        """
        self._closing = True
        self.services.slots.dismiss_waiting()
        tasks = set(self._tasks)
        if tasks:
            _, tasks = await asyncio.wait(tasks, timeout=grace_s)
        for channel_id in self._lines:
            self.services.stops.request_end(str(channel_id))
        if tasks:
            _, tasks = await asyncio.wait(tasks, timeout=LAST_SECONDS)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        await self._background.settle(REACTION_SECONDS)

    async def _taken(
        self, incoming: IncomingMessage, turn_channel: TurnChannel, arrival: Arrival
    ) -> str:
        if incoming.said.by_us:
            return "own"
        settings = await self.services.settings(incoming.path)
        personas = await self.cast.of(incoming.server_id)
        admitted = admission(incoming, personas, settings.turn)
        if not admitted.ok:
            if admitted.reason == "mute" and incoming.is_addressed:
                self._reactions.mute(turn_channel, incoming.said.id)
            return admitted.reason
        answering = _answering(incoming, personas, settings.turn)
        if not answering:
            return "age"
        now_s = asyncio.get_running_loop().time()
        was_admitted = arrival == "stored"
        cooldown_ms = 0 if was_admitted else settings.turn.cooldown_ms
        if not self.cooldowns.allows(incoming.user_id, now_s, cooldown_ms):
            self._reactions.too_soon(turn_channel, incoming.said.id)
            return "cooldown"
        if self._claim is not None and not await self._claim(incoming.said.id):
            return CLAIMED
        job = QueuedJob(
            turn_channel,
            (incoming,),
            answering,
            personas,
            admitted.reason,
            incoming.user_id,
            settings,
            arrival=arrival,
            asked_s=now_s - self._age_s(incoming, arrival),
        )
        if not was_admitted:
            self.cooldowns.note(incoming.user_id, now_s)
        await self.questions.keep(job)
        entered = self.enter(job)
        if entered == "full":
            await self.questions.settle(incoming.channel_id, (incoming.said.id,))
        return entered

    def _age_s(self, incoming: IncomingMessage, arrival: Arrival) -> float:
        """Return how long ago a message was written. A new one has only just come."""
        if arrival == "new":
            return 0.0
        return max(0.0, (self.services.clock() - incoming.said.at).total_seconds())

    def _open(self, job: QueuedJob) -> None:
        held = ExitStack()
        line = ChannelQueue(job, self._hold(held, job))
        self._lines[job.turn_channel.channel_id] = line
        task = asyncio.create_task(self._run(line, held))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self.on_busy(job.turn_channel.channel_id, True)

    def _hold(self, held: ExitStack, job: QueuedJob) -> ActiveChannel:
        active = self.services.stops.active(_key(job), str(job.user_id))
        return held.enter_context(active)

    async def _run(self, line: ChannelQueue, held: ExitStack) -> None:
        """Run all jobs of one channel, one after the other."""
        channel_id = line.job.turn_channel.channel_id
        try:
            while True:
                await self._perform(line)
                if self._closing or not line.waiting:
                    return
                # No instant lies between: the channel stays active.
                held.close()
                line.job = line.waiting.popleft()
                line.channel = self._hold(held, line.job)
        finally:
            held.close()
            del self._lines[channel_id]
            self.on_busy(channel_id, False)

    async def _perform(self, line: ChannelQueue) -> None:
        job = line.job
        await self.questions.join(job)
        try:
            performed = await self._runner.of(job, line.channel)
        except Exception:
            # The next message must be answered all the same.
            log.exception("a turn could not be run in channel %s", job.turn_channel.channel_id)
            return
        line.waiting.extend(performed.called)
        if performed.is_silent:
            for message_id in job.message_ids:
                self._reasons.put(message_id, "silent")
        if performed.is_settled:
            # Both together, so that one transaction stores them. A cut is stored with its turn.
            settled = () if performed.is_cut else (self.questions.settle_job(job),)
            await asyncio.gather(self._note_seen(line), *settled)

    async def _note_seen(self, line: ChannelQueue) -> None:
        """Store up to which message nothing waits. A restart looks only after it."""
        store, job = self.services.store, line.job
        if store is None or not job.is_message:
            return
        newest = job.asked[-1].said.id
        oldest = line.oldest_waiting
        if oldest is not None:
            newest = min(newest, oldest - 1)
        try:
            await store.seen.note(job.turn_channel.channel_id, newest)
        except StorageAwayError:
            log.debug("what was seen is stored when the database is back")
        except Exception:
            # At worst a message is looked at again after a restart.
            log.exception("what was seen could not be stored")


def _answering(
    incoming: IncomingMessage, personas: Sequence[PersonaRecord], turn: TurnConfig
) -> tuple[PersonaRecord, ...]:
    """Return who answers; nobody if all of them are for age-restricted channels only."""
    called = who_answers(incoming, personas, uncalled=turn.answering_persona)
    return allowed_in(called, incoming.is_age_restricted)


def _key(job: QueuedJob) -> str:
    return str(job.turn_channel.channel_id)
