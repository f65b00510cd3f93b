"""One turn: from an admitted message to its outcome and what follows it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Iterator, Sequence
from dataclasses import replace
from typing import Any

from oshaberi.bot.conversation.messages import IncomingMessage
from oshaberi.bot.conversation.persona_options import (
    memory_of,
    options_of,
    settings_of_persona,
)
from oshaberi.bot.tools.definition import ToolContext
from oshaberi.bot.turns.admission.channel_queue import QueuedJob, TurnRequest
from oshaberi.bot.turns.context.building import context_items
from oshaberi.bot.turns.context.surroundings import (
    ContextSources,
    TurnSurroundings,
    surroundings,
    text_config,
)
from oshaberi.bot.turns.generation.fallback import ModelFallback
from oshaberi.bot.turns.generation.history_summarising import HistoryCondenser
from oshaberi.bot.turns.generation.model_call import GenerationSetup, ModelCaller
from oshaberi.bot.turns.generation.side_requests import ask_any
from oshaberi.bot.turns.generation.tool_loop import ToolLoop
from oshaberi.bot.turns.notices import (
    NoticeSender,
    WaitNotice,
    failure_notice,
    our_fault,
    restart_notice,
    show_used_up,
)
from oshaberi.bot.turns.outcome import (
    TurnOutcome,
    answer_times,
    missing_text_reason,
    outcome_of,
    result_of_stop,
    stored_unsaid_reason,
)
from oshaberi.bot.turns.own_threads import name_thread
from oshaberi.bot.turns.post_turn import AttachmentSources, PostTurnEffects, TurnRecords
from oshaberi.bot.turns.quotas import (
    QuotaBook,
    QuotaRefusal,
    RequestQuota,
    quota_notice,
    quota_place,
)
from oshaberi.bot.turns.running.quiet_lines import QuietLines, SeenMessages
from oshaberi.bot.turns.running.tool_questions import TurnQuestions
from oshaberi.bot.turns.running.turn_journal import TurnJournal
from oshaberi.bot.turns.running.working_line import WorkingLine
from oshaberi.bot.turns.services.lore_shelf import smallest_window
from oshaberi.bot.turns.services.model_access import ModelAccess, ModelCandidate
from oshaberi.bot.turns.services.turn_services import AnswerTimes, AnswerTools, ChannelNotes
from oshaberi.chunks import Chunk
from oshaberi.delivery.config import StreamConfig
from oshaberi.delivery.response import ReplyRule, ResponseState
from oshaberi.delivery.sink import Sink
from oshaberi.delivery.typing_indicator import QUIET_SECONDS
from oshaberi.providers.request.model_request import Request
from oshaberi.stream.context import StreamContext
from oshaberi.stream.observers import StreamObserver
from oshaberi.stream.orchestrator import stream_to_sink
from oshaberi.stream.provider_protocol import ScriptedProvider
from oshaberi.stream.result import StreamResult
from oshaberi.stream.stops import (
    ActiveChannel,
    InterruptedTurnError,
    StopRegistry,
    StopRequest,
)
from oshaberi.turn_tracing import TurnIds, turn_span


def may_reply(job: QueuedJob) -> bool:
    """Return whether a message of the answer may reply. In direct messages only `all` does."""
    mode, is_direct = job.settings.turn.reply_mode, not job.turn_channel.server_id
    return job.answering_message is not None and mode != "off" and (not is_direct or mode == "all")


def response_to(asked: TurnRequest, seen: SeenMessages) -> ResponseState:
    """Return the state of a new response. With `auto` the channel is checked before sending."""
    mode = asked.job.settings.turn.reply_mode

    def is_due() -> bool:
        return mode != "auto" or seen.has_more()

    return ResponseState(reply_rule=ReplyRule(is_due, every=mode == "all"))


log = logging.getLogger(__name__)

NAMING = "name"
NAMING_S = 30.0
CROWDED_SECONDS = 4.0
"""How long the typing indicator is delayed while many turns run: by then most have their first
message."""


class Turn:
    """Runs one turn. `channel` is the entry in the stop registry that is held for it."""

    def __init__(
        self,
        asked: TurnRequest,
        channel: ActiveChannel,
        *,
        records: TurnRecords,
        sources: ContextSources,
        models: ModelAccess,
        quotas: QuotaBook,
        answer_tools: AnswerTools,
        notes: ChannelNotes,
        stops: StopRegistry,
        observers: Sequence[StreamObserver] = (),
    ) -> None:
        self._asked = asked
        self._job = job = asked.job
        self._settings = settings_of_persona(job.settings, asked.persona)
        self._channel = channel
        self._records = records
        self._sources = sources
        self._models = models
        self._quotas = quotas
        self._answer_tools = answer_tools
        self._notes = notes
        self._stops = stops
        self._observers = observers

        seen = SeenMessages(job.turn_channel, max((job.newest.said.id, *asked.greeting_ids)))
        self._response = response_to(asked, seen)
        self._response.notice_colour = options_of(asked.persona).colour_number
        self._response.indicator.awaits_words = job.is_uninvited
        self._journal = TurnJournal(records, asked, self._response)
        self._renderer = AttachmentSources(answer_tools.renderer, answer_tools.plug_ins)
        self._bare_sink = job.turn_channel.sink(job.answering_message)
        self._sink = self._journal.journalled(self._bare_sink)
        self._announcer = NoticeSender(self._sink, self._response, channel)
        self._lines = QuietLines(job.turn_channel, channel, seen, self._journal.announce_lines)
        mode = "off" if job.is_uninvited else self._settings.turn.working_line
        self._working = None if mode == "off" else WorkingLine(self._lines, keeps=mode == "keep")
        self._post_turn = PostTurnEffects(records, asked, self._announcer, answer_tools.plug_ins)
        self._place = quota_place(job.turn_channel, job.user_id)
        self._quota = RequestQuota(quotas, job.settings.turn, self._place)
        self._results: list[StreamResult] = []
        self._wait_notice = WaitNotice(self._announcer)

    @property
    def ids(self) -> TurnIds:
        """Return the ids for log lines."""
        place = self._place
        return TurnIds(place.server_id, place.channel_id, place.user_id, self._response.key)

    def why_written(self, message_id: int) -> str | None:
        """Return why the answer is given, if this message is part of it so far; else None."""
        return self._job.why if self._response.has_sent(message_id) else None

    def newest_message_id(self) -> int | None:
        """Return the newest message of the answer so far, or None."""
        return next((one.id for one in reversed(self._response.messages) if one.id), None)

    def times(self, asked_s: float | None) -> AnswerTimes:
        """Return how long the answer took, counted from the question."""
        return answer_times(asked_s, self._response)

    async def run(self, *, is_crowded: bool = False) -> TurnOutcome:
        """Run the turn. Raises only on cancellation; then the journal stays open.

        `is_crowded`: many turns run, so this one shows a little later that it types.
        """
        self._journal.begin()
        if is_crowded:
            self._response.indicator.hold(CROWDED_SECONDS)
        try:
            last = await self._answer_or_report()
        except asyncio.CancelledError:
            self._leave_cut()
            raise
        except BaseException:
            self._quota.settle_soon()
            raise
        outcome = outcome_of(last, self._results, self._response)
        outcome = replace(
            outcome,
            unsaid=stored_unsaid_reason([outcome]),
            missing_text=missing_text_reason(outcome, last),
        )
        if outcome.is_unsaid:
            self._quota.settle_soon()
            await self._journal.finish()
            return outcome
        used = self._quota.take_unsettled()
        outcome = await self._post_turn.follow(outcome, self._response, self._renderer, used)
        if outcome.is_cut_by_restart:
            await self._announce_restart()
        return outcome

    def afterwards(self, outcome: TurnOutcome) -> Iterator[tuple[str, Coroutine[Any, Any, object]]]:
        """Yield what nobody waits for, each with its name for the log."""
        if self._settings.turn.thought_log_channel_id:
            yield "the thought log", self._post_turn.log_thoughts(outcome)
        if self._settings.turn.own_threads != "off":
            yield "the thread's name", self._name_thread(outcome)

    async def _name_thread(self, outcome: TurnOutcome) -> None:
        await name_thread(self._records.db.talks, self._job, outcome.text, self._ask_aside)
        self._quota.settle_soon()

    async def _ask_aside(self, request: Request) -> str:
        candidates, refusal = await self._candidates()
        usable = () if refusal is not None else candidates
        return await ask_any(self._models, usable, request, self._quota, NAMING, NAMING_S)

    def _leave_cut(self) -> None:
        """Store a turn that is cancelled because the process ends, so that the next one continues
        it.

        If nothing was about to be sent yet, only the usage is stored.
        """
        if not self._response.numbered:
            self._quota.settle_soon()
            return
        last = StreamResult("interrupted", "system_request")
        outcome = outcome_of(last, self._results, self._response)
        used = self._quota.take_unsettled()
        self._post_turn.leave(outcome, self._response, self._renderer, used)

    async def _announce_restart(self) -> None:
        """Tell the channel about the restart. Everything is stored by now.

        The journal does not contain this notice: nothing depends on its arrival. If it arrives, it
        becomes part of the answer.
        """
        announcer = NoticeSender(self._bare_sink, self._response, self._channel)
        goes_on = self._settings.turn.continue_after_restart
        sent = await announcer.show(restart_notice(goes_on))
        if sent is not None:
            await self._post_turn.add_notice(sent)

    async def _answer_or_report(self) -> StreamResult:
        try:
            self._keep_typing(after_seconds=QUIET_SECONDS)
            try:
                is_said_already = self._job.kind == "deliver"
                return await (self._deliver() if is_said_already else self._ask_models())
            finally:
                await self._response.indicator.close()
                await self._close_lines()
        except InterruptedTurnError as stop:
            return result_of_stop(stop.request)
        except Exception as error:
            log.exception("a turn failed by a fault of ours")
            await self._announcer.show(our_fault())
            return StreamResult("error", data=error)

    async def _close_lines(self) -> None:
        """Delete what stands beside the answer. A line that stays is deleted with the answer."""
        has_words = not self._response.chose_silence
        kept = None if self._working is None else await self._working.close(may_stay=has_words)
        if kept is not None:
            self._response.notices.append(kept)
        await self._lines.close()

    def _keep_typing(self, *, after_seconds: float = 0.0) -> None:
        if not self._settings.stream.suppress_text_output:
            self._response.indicator.keep_alive(self._sink, after_seconds=after_seconds)

    async def _deliver(self) -> StreamResult:
        """Send text of an earlier turn."""
        setup = self._setup(await self._gather())
        provider = ScriptedProvider([Chunk("text", self._job.text)])
        config = as_written(setup.stream)
        result = await stream_to_sink(provider, None, config, setup.context, self._sink)
        self._results.append(result)
        return result

    async def _ask_models(self) -> StreamResult:
        candidates, refusal = await self._channel.until_stopped(self._candidates())
        if refusal is not None:
            await self._notify_quota(refusal)
            return StreamResult("error", data=refusal)
        around = await self._gather(candidates)
        # A failure is shown once, when no other model is left to ask.
        setup = self._setup(around, shows_failures=False)
        tools, tool_context = self._answer_tools.tools, self._tool_context(setup)
        setup = replace(setup, tools=tools.declarations(tool_context))
        condenser = HistoryCondenser(
            *(self._records.db.summaries, self._notes, around),
            *(setup.turn, self._quota, self._channel),
        )
        caller = ModelCaller(
            *(self._models, setup, context_items(around)),
            *(self._quota, condenser, self._watching),
        )
        fallback = ModelFallback(self._models, caller, setup, candidates)
        loop = ToolLoop(fallback, setup, self._announcer, tools, tool_context, self._results)
        result = await loop.run()
        await self._wait_notice.settled()
        await self._show_failure(result)
        return result

    async def _candidates(self) -> tuple[tuple[ModelCandidate, ...], QuotaRefusal | None]:
        """Return the models that may be asked, and the reason if none may be asked now."""
        path, first = self._job.turn_channel.path, options_of(self._asked.persona).models
        candidates = await self._models.chain(path, self._job.user_id, first)
        return candidates, await self._quota.refusal(candidates)

    async def _gather(self, candidates: Sequence[ModelCandidate] = ()) -> TurnSurroundings:
        """Collect the surroundings while the typing indicator is shown."""
        self._keep_typing()
        window = smallest_window(one.model for one in candidates)
        with turn_span("context"):
            work = surroundings(self._sources, self._asked, window)
            around = await self._channel.until_stopped(work)
            await self._wait_until_stored()
        if around.lore.woken or around.lore.left_out:
            self._notes.woken_lore.put(around.newest.id, around.lore)
        self._journal.note_seen(one.id for one in around.channel_info.history)
        return around

    async def _wait_until_stored(self) -> None:
        """Wait until the question is stored. One that was deleted meanwhile is not answered."""
        if self._job.stored is None:
            return
        await asyncio.wait({self._job.stored})
        deleted = self._notes.deleted_messages
        if all(deleted.get(one.said.id) for one in self._job.asked):
            raise InterruptedTurnError(StopRequest(str(self._job.user_id)))

    def _setup(self, around: TurnSurroundings, *, shows_failures: bool = True) -> GenerationSetup:
        stream = self._settings.stream
        is_quiet = stream.suppress_user_errors or not shows_failures
        text = text_config(stream.text, around)
        return GenerationSetup(
            stream=replace(stream, text=text, suppress_user_errors=is_quiet),
            turn=self._settings.turn,
            context=self._stream_context(),
            sink=self._sink,
            channel=self._channel,
            begins_answer=self._job.kind != "go_on",
            on_wait=None if self._is_quiet else self._wait_notice.tell,
            may_say_nothing=self._job.is_uninvited,
        )

    def _stream_context(self) -> StreamContext:
        markers = self._settings.turn.silence_markers
        return StreamContext(
            channel=str(self._job.turn_channel.channel_id),
            reply_to=may_reply(self._job),
            user=str(self._job.user_id),
            stops=self._stops,
            response=self._response,
            renderer=self._renderer,
            plug_ins=self._renderer.plug_ins,
            silence_markers=() if self._job.kind == "deliver" else markers,
            offers_silence=self._job.is_unaddressed,
            asks_about_silence=self._job.asks_about(markers),
        )

    def _tool_context(self, setup: GenerationSetup) -> ToolContext:
        options = options_of(self._asked.persona)
        return ToolContext(
            turn_channel=self._job.turn_channel,
            incoming=self._job.newest,
            user_id=self._job.user_id,
            memory_of=memory_of(self._asked.persona),
            is_addressed=self._job.is_for_bot,
            store=self._records.db,
            turn=self._settings.turn,
            stream=setup.stream,
            response=self._response,
            now=self._records.clock,
            sink_for=self._sink_for,
            plug_ins=self._renderer.plug_ins,
            tool_text=self._answer_tools.tool_text,
            persona_allows=options.allowed_tools,
            persona_blocks=options.blocked_tools,
            watch=None if self._working is None else self._working.tool,
            ask=None if self._job.is_uninvited else self._questions().ask,
        )

    @property
    def _watching(self) -> tuple[StreamObserver, ...]:
        return (*self._observers, *(() if self._working is None else (self._working,)))

    def _questions(self) -> TurnQuestions:
        return TurnQuestions(
            self._answer_tools.questions,
            self._lines,
            self._settings.turn,
            self._channel,
            channel_id=self._job.turn_channel.channel_id,
            asker_id=self._job.user_id,
            clock=self._records.clock,
            rest=self._response.indicator.rest,
            go_on=self._keep_typing,
        )

    def _sink_for(self, incoming: IncomingMessage) -> Sink:
        return self._journal.journalled(self._job.turn_channel.sink(incoming))

    async def _show_failure(self, result: StreamResult) -> None:
        """Show the last failure, unless the tool loop has already shown one."""
        if isinstance(result.data, QuotaRefusal):
            await self._notify_quota(result.data)
            return
        notice = failure_notice(result, self._settings.stream.inactivity_timeout_ms)
        is_new = result is self._results[-1]
        if notice is not None and is_new and not self._is_quiet:
            await self._announcer.show(notice)

    async def _notify_quota(self, refusal: QuotaRefusal) -> None:
        """Show a notice if it is the first of its kind, else a reaction."""
        log.info("user %s in channel %s: %s", self._place.user_id, self._place.channel_id, refusal)
        answering = self._job.answering_message
        if self._job.is_uninvited:
            return
        if not self._is_quiet and await self._quotas.is_notice_due(refusal, self._place):
            await self._announcer.show(quota_notice(refusal, self._place))
        elif answering is not None:
            await show_used_up(self._job.turn_channel, answering.said.id)

    @property
    def _is_quiet(self) -> bool:
        """Return whether failures are hidden: nobody waits for an answer that nobody asked for."""
        return self._settings.stream.suppress_user_errors or self._job.is_uninvited


def as_written(stream: StreamConfig) -> StreamConfig:
    """Return the settings for text that has passed speaker guard and unique emoji before."""
    text = replace(
        stream.text,
        emoji_unique_lookback=0,
        participant_guard_enabled=False,
        llm_stop_speaker_pattern_enabled=False,
        registered_speaker_guard_enabled=False,
    )
    return replace(stream, text=text)
