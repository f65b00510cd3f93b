"""Runs one turn per channel at a time; further messages wait or interrupt (spec 04)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import ExitStack

from oshaberi.conversation.conversation_messages import IncomingMessage, Person
from oshaberi.conversation.turn_channel import TurnChannel
from oshaberi.stream.stops.stop_registry import ActiveChannel
from oshaberi.turns.admission.admission_rules import Cooldowns, admission
from oshaberi.turns.admission.channel_queue import ChannelQueue, QueuedJob
from oshaberi.turns.admission.persona_routing import who_answers
from oshaberi.turns.bounded_cache import BoundedCache, KeyedLocks
from oshaberi.turns.context.persona_cache import PersonaCache
from oshaberi.turns.turn_control import ControlReply, TurnControl
from oshaberi.turns.turn_runner import BackgroundTasks, TurnRunner
from oshaberi.turns.turn_services import TurnServices

log = logging.getLogger(__name__)

Claim = Callable[[int], Awaitable[bool]]
"""Whether this process may answer the message: with several, only one of them may."""

CLAIMED = "claimed"
"""Another process answers it. If that one ends, whoever comes with it again is heard."""
FULL = "🈵"
TOO_SOON = "⏳"
MOST_SEEN = 4000
LAST_SECONDS = 12.0
"""How long a stopped turn may take to end: a message on the wire is awaited (spec 04 O1)."""
COURTESY_SECONDS = 2.0


class ChannelTurns:
    """One per process. `claim` is asked before a message is taken."""

    def __init__(self, services: TurnServices, *, claim: Claim | None = None) -> None:
        self.services = services
        self.cast = PersonaCache(services)
        self._claim = claim
        self._background = BackgroundTasks()
        self._runner = TurnRunner(services, self._background)
        self._lines: dict[int, ChannelQueue] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._entering: KeyedLocks[int] = KeyedLocks()
        self.cooldowns = Cooldowns()
        self._reasons: BoundedCache[int, str] = BoundedCache(MOST_SEEN)
        self._control = TurnControl(self)
        self._closing = False
        self.on_busy: Callable[[int, bool], None] = lambda _channel_id, _busy: None
        """Told when a channel becomes busy and when it is free again."""

    async def submit(self, incoming: IncomingMessage, turn_channel: TurnChannel) -> str:
        """Take a message. Says in one word why it is answered or not; the turn itself runs on."""
        if self._closing:
            return "closing"
        if self._reasons.get(incoming.said.id) not in (None, CLAIMED):
            return "seen"
        self._reasons.put(incoming.said.id, "seen")
        try:
            async with self._entering.through(incoming.channel_id):
                reason = await self._taken(incoming, turn_channel)
        except BaseException:
            # Not taken: whoever comes with it again shall be heard.
            self._reasons.forget(incoming.said.id)
            raise
        self._reasons.put(incoming.said.id, reason)
        return reason

    async def admits(self, incoming: IncomingMessage) -> bool:
        """Whether it is one to answer, not counting what came before it."""
        settings = await self.services.settings(incoming.server_id)
        personas = await self.cast.of(incoming.server_id)
        return admission(incoming, personas, settings.turn).ok

    def enter(self, job: QueuedJob) -> str:
        """Run it now, or let it wait. The channel is active from here on."""
        line = self._lines.get(job.turn_channel.channel_id)
        if self._closing:
            return "closing"
        if line is None:
            self._open(job)
            return job.why
        turn = job.settings.turn
        if line.messages + len(job.asked) > turn.waiting_limit:
            self._background.start(job.turn_channel.react(job.asked[-1].said.id, FULL))
            return "full"
        if turn.follow_up_policy == "interrupt" and line.job.user_id == job.user_id:
            line.put_first(job)
            self.services.stops.request_follow_up(_key(job), str(job.user_id))
        elif turn.follow_up_policy == "collect":
            line.collect(job)
        else:
            line.waiting.append(job)
        return job.why

    def awaits(self, channel_id: int, message_id: int) -> bool:
        """Whether a message waits for its turn."""
        line = self._lines.get(channel_id)
        return line is not None and line.awaits(message_id)

    def withdraw(self, channel_id: int, message_id: int) -> None:
        """Somebody took a message back. If it still waits, nobody answers it."""
        self.services.deleted_messages.put(message_id, True)
        if (line := self._lines.get(channel_id)) is not None:
            line.withdraw(message_id)

    def amend(self, changed: IncomingMessage) -> None:
        """Somebody wrote a message anew. If it still waits, it is answered as it is now."""
        if (line := self._lines.get(changed.channel_id)) is not None:
            line.amend(changed)

    def stop(self, channel_id: int, by: int, may_manage: bool) -> ControlReply:
        """For the turn's user, and for who may manage messages."""
        return self._control.stop(channel_id, by, may_manage)

    async def stop_anywhere(self, channel_id: int, by: int, may_manage: bool) -> ControlReply:
        """The same for a turn in any process."""
        return await self._control.stop_anywhere(channel_id, by, may_manage)

    async def continue_(self, turn_channel: TurnChannel, by: Person) -> ControlReply:
        """What was cut or not delivered; else the model is asked to go on."""
        async with self._entering.through(turn_channel.channel_id):
            return await self._control.continue_(turn_channel, by)

    async def regenerate(self, turn_channel: TurnChannel, by: Person) -> ControlReply:
        """The channel's last answer is deleted and asked for again."""
        async with self._entering.through(turn_channel.channel_id):
            return await self._control.regenerate(turn_channel, by)

    async def delete(self, turn_channel: TurnChannel, message_id: int, by: Person) -> ControlReply:
        """The whole answer that this message is part of."""
        return await self._control.delete(turn_channel, message_id, by)

    async def why(self, message_id: int) -> str | None:
        """Why a message was answered or not, or why we wrote it; None if nobody remembers."""
        return await self._control.why(message_id, self._reasons.get(message_id))

    def current(self, channel_id: int) -> QueuedJob | None:
        """What a channel is busy with."""
        line = self._lines.get(channel_id)
        return None if line is None else line.job

    def is_busy(self, channel_id: int) -> bool:
        return channel_id in self._lines

    def running(self, counts: Callable[[TurnChannel], bool] = lambda _turn_channel: True) -> int:
        """How many channels have a turn under way."""
        return sum(counts(line.job.turn_channel) for line in self._lines.values())

    def waiting(self, counts: Callable[[TurnChannel], bool] = lambda _turn_channel: True) -> int:
        """How many messages wait."""
        return sum(line.messages for line in self._lines.values() if counts(line.job.turn_channel))

    async def idle(self) -> None:
        """Until no turn runs and none waits, and all reactions are there."""
        while self._tasks:
            await asyncio.wait(set(self._tasks))
        await self._background.settle(COURTESY_SECONDS)

    async def shutdown(self, grace_s: float = 10.0) -> None:
        """Let turns end for so long, then stop them. What still waits is for the next start."""
        self._closing = True
        tasks = set(self._tasks)
        if tasks:
            _, tasks = await asyncio.wait(tasks, timeout=grace_s)
        for channel_id in self._lines:
            self.services.stops.request_stop(str(channel_id), "shutdown", "system_request")
        if tasks:
            _, tasks = await asyncio.wait(tasks, timeout=LAST_SECONDS)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        await self._background.settle(COURTESY_SECONDS)

    async def _taken(self, incoming: IncomingMessage, turn_channel: TurnChannel) -> str:
        if incoming.said.by_us:
            return "own"
        settings = await self.services.settings(incoming.server_id)
        personas = await self.cast.of(incoming.server_id)
        admitted = admission(incoming, personas, settings.turn)
        if not admitted.ok:
            return admitted.reason
        now_s = asyncio.get_running_loop().time()
        if not self.cooldowns.allows(incoming.user_id, now_s, settings.turn.cooldown_ms):
            self._background.start(turn_channel.react(incoming.said.id, TOO_SOON))
            return "cooldown"
        if self._claim is not None and not await self._claim(incoming.said.id):
            return CLAIMED
        answering = who_answers(incoming, personas)
        job = QueuedJob(
            turn_channel,
            (incoming,),
            answering,
            personas,
            admitted.reason,
            incoming.user_id,
            settings,
        )
        self.cooldowns.note(incoming.user_id, now_s)
        return self.enter(job)

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
        """Everything that runs in one channel, one after the other."""
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
        try:
            performed = await self._runner.of(job, line.channel)
        except Exception:
            # The next message must be answered all the same.
            log.exception("a turn could not be run in channel %s", job.turn_channel.channel_id)
            return
        line.waiting.extend(performed.called)
        if performed.is_settled:
            await self._note_seen(line)

    async def _note_seen(self, line: ChannelQueue) -> None:
        """Up to where a restart need not look: nothing older waits."""
        store, job = self.services.store, line.job
        if store is None or not job.is_message:
            return
        newest = job.asked[-1].said.id
        oldest = line.oldest_waiting
        if oldest is not None:
            newest = min(newest, oldest - 1)
        try:
            await store.seen.note(job.turn_channel.channel_id, newest)
        except Exception:
            # At worst a message is looked at again after a restart.
            log.exception("what was seen could not be stored")


def _key(job: QueuedJob) -> str:
    return str(job.turn_channel.channel_id)
