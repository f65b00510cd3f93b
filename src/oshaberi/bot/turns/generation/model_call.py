"""Asks one model with one key once: prepares the request, counts it, and streams the answer."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any

from oshaberi.bot.conversation.turn_config import TurnConfig
from oshaberi.bot.storage.records import ModelRecord
from oshaberi.bot.turns.context.building import without_oldest
from oshaberi.bot.turns.context.surroundings import speakers
from oshaberi.bot.turns.generation.history_summarising import HistoryCondenser
from oshaberi.bot.turns.quotas import (
    QuotaRefusal,
    RequestQuota,
    Reservation,
    used_tokens,
)
from oshaberi.bot.turns.services.adapter_pool import ConnectedAdapter
from oshaberi.bot.turns.services.model_access import (
    ModelAccess,
    ModelCandidate,
    key_needed,
    not_allowed,
)
from oshaberi.chunks import ProviderError, Usage
from oshaberi.delivery.config import StreamConfig
from oshaberi.delivery.sink import Sink
from oshaberi.errors import OshaberiError, Sentence
from oshaberi.providers.model_options import ModelOptions, options_of
from oshaberi.providers.request.model_request import (
    ContextItem,
    Item,
    Request,
    ToolDeclaration,
    ToolRound,
)
from oshaberi.providers.request.token_estimate import request_tokens
from oshaberi.stream.context import StreamContext
from oshaberi.stream.observers import StreamObserver
from oshaberi.stream.orchestrator import stream_to_sink
from oshaberi.stream.provider_protocol import Provider, WrappedProvider
from oshaberi.stream.result import StreamResult
from oshaberi.stream.stops import ActiveChannel, InterruptedTurnError


@dataclass(frozen=True, slots=True)
class GenerationSetup:
    """The values that all streams of one turn share."""

    stream: StreamConfig
    """Shows no failures: the turn does so when no other model is left."""
    turn: TurnConfig
    context: StreamContext
    sink: Sink
    channel: ActiveChannel
    tools: tuple[ToolDeclaration, ...] = ()
    begins_answer: bool = True
    """False if it continues an earlier answer."""
    on_wait: Callable[[Sentence], None] | None = None
    """Called with the reason why an answer will come much later than usual."""
    may_say_nothing: bool = False
    """Nobody waits for this answer, so an empty one is silence and no failure."""

    def is_silence(self, result: StreamResult) -> bool:
        """Return whether the model chose to say nothing (more)."""
        if result.status != "empty_response":
            return False
        by_itself = self.may_say_nothing and result.finish_reason in (None, "stop")
        return by_itself or self.context.response.chose_silence


def request_for(
    options: ModelOptions,
    items: tuple[Item, ...],
    tools: tuple[ToolDeclaration, ...],
    stream: StreamConfig,
    turn: TurnConfig,
    on_wait: Callable[[Sentence], None] | None = None,
) -> Request:
    """Build the request. Options that Oshaberi does not know go to the model's API unchanged."""
    text = stream.text
    guard = text.llm_stop_speaker_pattern_enabled or text.registered_speaker_guard_enabled
    return Request(
        items,
        tools=tools,
        stop_strings=turn.llm_stop_strings,
        speaker_guard=guard,
        speakers=speakers(text),
        holdback_chars=turn.speaker_guard_holdback_chars,
        on_wait=on_wait,
        **options.request_fields(),
    )


def config_for(
    stream: StreamConfig, text: Mapping[str, Any], prefill: str | None = None
) -> StreamConfig:
    """Return the stream's settings combined with the model's."""
    if not text and prefill == stream.text.output_prefill:
        return stream
    return replace(stream, text=replace(stream.text, output_prefill=prefill, **text))


def with_prefill_if_taken(request: Request, takes_prefill: bool) -> Request:
    """Return the request; without its prefill if the model does not take one."""
    return request if takes_prefill or request.prefill is None else replace(request, prefill=None)


MOST_CONTINUATIONS = 8

MayContinue = Callable[[Request], Awaitable[bool]]
"""Decides whether one more request may be made."""


class ContinuedAnswer(WrappedProvider):
    """Continues an answer that ran out of tokens, if its API says how (NovelAI).

    The next request begins with everything said so far (`continuation_prefill`), and its answer
    belongs to the same stream: no message has to end where a request ended. (`/continue` is in
    `bot.turns.turn_control`.)
    """

    def __init__(
        self, provider: Provider, may_continue: MayContinue, most: int = MOST_CONTINUATIONS
    ) -> None:
        super().__init__(provider)
        self._may_continue = may_continue
        self._most = most

    async def open(self, request: Request) -> AsyncIterator[Any]:
        """Yield the raw chunks of all requests. Only the last end is passed on."""
        left = self._most
        while True:
            begun, ends = request.prefill, list[Any]()
            stream: Any = self._provider.open(request)
            async with aclosing(stream):
                async for raw in stream:
                    chunk = self._provider.normalise(raw)
                    if chunk is None or chunk.type != "done":
                        yield raw
                        continue
                    ends.append(raw)
                    begun = chunk.continuation_prefill or begun
            is_over = begun == request.prefill or left == 0
            request = replace(request, prefill=begun)
            if is_over or not await self._may_continue(request):
                for raw in ends:
                    yield raw
                return
            left -= 1


log = logging.getLogger(__name__)

ModelAddress = tuple[str, str, str | None, str | None]
"""Provider, model, base URL and key."""


class ModelCaller:
    """Asks models in one turn. All requests have the same items, or fewer after `forget_oldest`."""

    def __init__(
        self,
        models: ModelAccess,
        setup: GenerationSetup,
        items: tuple[ContextItem, ...],
        quota: RequestQuota,
        condenser: HistoryCondenser,
        observers: Sequence[StreamObserver] = (),
    ) -> None:
        self._models = models
        self._observers = observers
        self._setup = setup
        self._items = items
        self._quota = quota
        self._condenser = condenser
        self._dropped: tuple[ContextItem, ...] = ()
        """Items that an API had no room for, and that are not summarised yet."""

    def forget_oldest(self, *, for_summary: bool) -> bool:
        """Ask with less history from now on. Return False if nothing more can be left out."""
        fewer = without_oldest(self._items)
        shrunk = len(fewer) < len(self._items)
        kept = set(map(id, fewer))
        if for_summary:
            self._dropped += tuple(item for item in self._items if id(item) not in kept)
        self._items = fewer
        return shrunk

    async def ask(self, candidate: ModelCandidate, rounds: Sequence[ToolRound]) -> StreamResult:
        """Return the answer of one model, or its failure."""
        setup, model = self._setup, candidate.model
        setup.channel.check()
        if candidate.lacks_key:
            words = key_needed(model, self._models.operator.models)
            return StreamResult("error", data=ProviderError("model_error", words))
        address = (model.provider, model.model, model.base_url, candidate.secret)
        try:
            options = options_of(model.params)
            settings = {**options.endpoint_settings(), **candidate.settings}
            ready = self._is_ready(model, address, settings)
            if not await setup.channel.until_stopped(ready):
                words = not_allowed(model.provider)
                error = ProviderError("model_error", words, provider=model.provider)
                return StreamResult("error", data=error)
            items: tuple[Item, ...] = (*self._items, *rounds)
            request = request_for(
                *(options, items, setup.tools, setup.stream, setup.turn, setup.on_wait)
            )
        except InterruptedTurnError:
            raise
        except Exception as error:
            # Whatever an SDK or a plug-in raises, another model may work.
            return StreamResult("error", data=_unusable(candidate, error))
        reserved = await self._reserve(candidate, request)
        if not isinstance(reserved, Reservation):
            return StreamResult("error", data=reserved)
        async with self._models.adapters.lease(*address, settings) as adapter:
            request = await self._fit(adapter, candidate, request, rounds)
            begins = setup.begins_answer and not rounds
            request = with_prefill_if_taken(request, begins and adapter.takes_prefill(request))
            config = config_for(setup.stream, adapter.text, request.prefill)
            provider = self._observed(self._continuing(adapter, candidate, request), config)
            result = await stream_to_sink(provider, request, config, setup.context, setup.sink)
            if adapter.continues and result.status == "completed":
                # Such a model always writes as much as it may: its answer was not cut.
                result = replace(result, finish_reason="stop")
        for observer in self._observers:
            observer.ended(setup.context, result)
        await self._quota.settle(reserved, used_tokens(result, reserved.input_tokens))
        return result

    async def _is_ready(
        self, model: ModelRecord, address: ModelAddress, settings: Mapping[str, Any]
    ) -> bool:
        """Prepare the adapter. Return False if the model may not be asked."""
        if not await self._models.may_ask(model):
            return False
        await self._models.adapters.warm(*address, settings)
        return True

    async def _fit(
        self,
        adapter: ConnectedAdapter,
        candidate: ModelCandidate,
        request: Request,
        rounds: Sequence[ToolRound],
    ) -> Request:
        """Return the request, with a summary in place of what does not fit."""
        before = self._items
        self._items = await self._condenser.condense(
            adapter, candidate, request, before, self._dropped
        )
        self._dropped = ()
        return request if self._items is before else replace(request, items=(*self._items, *rounds))

    def _continuing(
        self, adapter: ConnectedAdapter, candidate: ModelCandidate, request: Request
    ) -> Provider:
        """Let the answer be continued. Each continuation counts as a request.

        If the settings limit the length, it is not continued: the limit is for the whole answer.
        """
        if not adapter.continues or request.max_output_tokens is not None:
            return adapter

        async def may_continue(more: Request) -> bool:
            reserved = await self._reserve(candidate, more)
            if isinstance(reserved, Reservation):
                await self._quota.settle(reserved, Usage(reserved.input_tokens, 0))
            return isinstance(reserved, Reservation)

        return ContinuedAnswer(adapter, may_continue)

    async def _reserve(
        self, candidate: ModelCandidate, request: Request
    ) -> Reservation | QuotaRefusal:
        work = self._quota.reserve(candidate, request_tokens(request))
        return await self._setup.channel.until_stopped(work)

    def _observed(self, provider: Provider, config: StreamConfig) -> Provider:
        for observer in self._observers:
            provider = observer.opened(provider, config, self._setup.context)
        return provider


def _unusable(candidate: ModelCandidate, error: Exception) -> ProviderError:
    """Return the error of an unusable candidate. Only our own errors keep their text."""
    ours = isinstance(error, OshaberiError)
    log.warning("%s cannot be used: %s", candidate.model.provider, error, exc_info=not ours)
    words = error.args[0] if ours and error.args else type(error).__name__
    return ProviderError("model_error", words, provider=candidate.model.provider)
