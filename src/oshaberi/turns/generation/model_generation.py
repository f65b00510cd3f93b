"""Gets an answer from the first model and key that work: a chain of models, keys for each.

A failed attempt is quiet while another can be tried, and nothing is tried again once text of the
attempt is visible (spec 08).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

from oshaberi.chunks import ProviderError, Usage
from oshaberi.conversation.turn_config import TurnConfig
from oshaberi.delivery.sink import Sink
from oshaberi.delivery.stream_config import StreamConfig
from oshaberi.errors import OshaberiError, Sentence
from oshaberi.providers.model_options import options_of
from oshaberi.providers.request.context_items import ContextItem, Item, ToolDeclaration, ToolRound
from oshaberi.providers.request.model_request import Request
from oshaberi.secret_redaction import redact
from oshaberi.stream.orchestrator import stream_to_sink
from oshaberi.stream.provider_protocol import Provider
from oshaberi.stream.stops.stop_registry import ActiveChannel
from oshaberi.stream.stream_context import StreamContext
from oshaberi.stream.stream_result import StreamResult
from oshaberi.turns.context.context_building import without_oldest
from oshaberi.turns.generation.adapter_pool import ConnectedAdapter
from oshaberi.turns.generation.continued_answer import ContinuedAnswer
from oshaberi.turns.generation.history_condensing import HistoryCondenser
from oshaberi.turns.generation.key_cooldowns import is_keys_fault, rest_seconds
from oshaberi.turns.generation.local_models import LOCAL_MODEL, may_ask_model
from oshaberi.turns.generation.model_chain import ModelCandidate, ModelTries, key_needed
from oshaberi.turns.generation.overload_wait import OverloadWait, is_overload
from oshaberi.turns.generation.request_building import begun_request, config_for, request_for
from oshaberi.turns.quotas.request_quota import (
    QuotaReachedError,
    QuotaRefusal,
    RequestQuota,
    Reservation,
)
from oshaberi.turns.quotas.token_estimate import estimated_input, used_tokens
from oshaberi.turns.stoppable_waits import InterruptedTurnError, check, until_stopped
from oshaberi.turns.turn_services import TurnServices

log = logging.getLogger(__name__)

Failure = tuple[ModelCandidate, ProviderError]

MORE_TRIES = 2
"""How often an empty answer, or one that the history is too long for, is asked for again."""

MOST_LOGGED = 500
_MODELS_FAULT = frozenset(("model_error", "content_blocked", "context_length", "timeout"))
"""Another key would change nothing."""
_LASTING = frozenset(("auth", "balance_exhausted", "affordability", "model_error", "api_error"))
"""Somebody has to do something about it."""


@dataclass(frozen=True, slots=True)
class GenerationSetup:
    """The values that all streams of one turn share."""

    stream: StreamConfig
    turn: TurnConfig
    context: StreamContext
    sink: Sink
    channel: ActiveChannel
    tools: tuple[ToolDeclaration, ...] = ()
    begins_answer: bool = True
    """False: it goes on with one that was given before."""
    may_say_nothing: bool = False
    """Nobody addressed the bot: an empty answer is an answer."""

    def is_silence(self, result: StreamResult) -> bool:
        """Tell whether the model chose to say nothing (more)."""
        if result.status != "empty_response":
            return False
        by_itself = self.may_say_nothing and result.finish_reason in (None, "stop")
        return by_itself or self.context.response.chose_silence


class ModelGeneration:
    """Asks the models in one turn. After a tool call the one that worked is asked first."""

    def __init__(
        self,
        services: TurnServices,
        scene: GenerationSetup,
        candidates: Sequence[ModelCandidate],
        items: tuple[ContextItem, ...],
        quota: RequestQuota,
        condenser: HistoryCondenser,
    ) -> None:
        self._services = services
        self._scene = scene
        self._candidates = list(candidates)
        self._items = items
        self._quota = quota
        self._condenser = condenser
        self._dropped: tuple[ContextItem, ...] = ()
        """What an API had no room for, and nobody has summarised yet."""

    async def stream(self, rounds: Sequence[ToolRound] = ()) -> StreamResult:
        """Return one answer, or the last failure. Overloaded models are asked again."""
        overload_wait, asked = OverloadWait(), list(self._candidates)
        while True:
            result, failures = await self._through(asked, rounds)
            pause_s = overload_wait.next(error for _, error in failures)
            if pause_s is None:
                return result
            log.info("every model is overloaded or fails; next try in %g s", pause_s)
            await until_stopped(self._scene.channel, asyncio.sleep(pause_s))
            asked = [candidate for candidate, error in failures if is_overload(error)]

    async def _through(
        self, candidates: Sequence[ModelCandidate], rounds: Sequence[ToolRound]
    ) -> tuple[StreamResult, list[Failure]]:
        """Try the candidates. Return the first answer, or the last failure and all errors."""
        result, failures = StreamResult("error", data=NO_MODEL), list[Failure]()
        tries = ModelTries(candidates, self._services.cooldowns)
        while (candidate := tries.next(self._services.clock(), _now_s())) is not None:
            result = await self._patiently(candidate, rounds)
            if isinstance(result.data, QuotaReachedError) and result.data.is_operators:
                tries.skip_operators()
                continue
            error = failure_of(result)
            if error is None:
                self._prefer(candidate)
                return result, []
            _tell_failure(candidate, error)
            failures.append((candidate, error))
            await self._note(candidate, error, tries)
        return result, failures

    async def _patiently(
        self, candidate: ModelCandidate, rounds: Sequence[ToolRound]
    ) -> StreamResult:
        """Ask one candidate; again if nothing came or less history may help."""
        result = await self._attempt(candidate, rounds)
        for _ in range(MORE_TRIES):
            if not self._may_ask_again(result):
                break
            result = await self._attempt(candidate, rounds)
        return result

    def _may_ask_again(self, result: StreamResult) -> bool:
        if self._scene.is_silence(result):
            return False
        error = failure_of(result)
        too_long = error is not None and error.type == "context_length"
        if too_long or (result.status == "empty_response" and result.finish_reason == "length"):
            fewer = without_oldest(self._items)
            shrunk = len(fewer) < len(self._items)
            kept = set(map(id, fewer))
            if too_long:
                self._dropped += tuple(item for item in self._items if id(item) not in kept)
            self._items = fewer
            return shrunk or not too_long
        # After a tool call the answer may be in what was said before it.
        return result.status == "empty_response" and not self._scene.context.response.sent

    async def _attempt(
        self, candidate: ModelCandidate, rounds: Sequence[ToolRound]
    ) -> StreamResult:
        scene, model = self._scene, candidate.model
        check(scene.channel)
        if candidate.lacks_key:
            words = key_needed(model, self._services.models)
            return StreamResult("error", data=ProviderError("model_error", words))
        address = (model.provider, model.model, model.base_url, candidate.secret)
        try:
            if not await until_stopped(scene.channel, may_ask_model(self._services, model)):
                error = ProviderError("model_error", LOCAL_MODEL, provider=model.provider)
                return StreamResult("error", data=error)
            options = options_of(model.params)
            settings = options.endpoint_settings()
            await until_stopped(scene.channel, self._services.adapters.warm(*address, settings))
            items: tuple[Item, ...] = (*self._items, *rounds)
            request = request_for(options, items, scene.tools, scene.stream, scene.turn)
        except InterruptedTurnError:
            raise
        except Exception as error:
            # Whatever an SDK or a plug-in raises, another model may do.
            return StreamResult("error", data=_unusable(candidate, error))
        reserved = await self._reserved(candidate, request)
        if not isinstance(reserved, Reservation):
            return StreamResult("error", data=reserved)
        async with self._services.adapters.lease(*address, settings) as adapter:
            request = await self._fitted(adapter, candidate, request, rounds)
            begins = scene.begins_answer and not rounds
            request = begun_request(request, begins and adapter.takes_prefill(request))
            config = config_for(scene.stream, adapter.text, request.prefill)
            provider = self._watched(self._continued(adapter, candidate, request), config)
            result = await stream_to_sink(provider, request, config, scene.context, scene.sink)
        for observer in self._services.observers:
            observer.ended(scene.context, result)
        await self._quota.settle(reserved, used_tokens(result, reserved.input_tokens))
        return result

    async def _fitted(
        self,
        adapter: ConnectedAdapter,
        candidate: ModelCandidate,
        request: Request,
        rounds: Sequence[ToolRound],
    ) -> Request:
        """Return the request, with a summary instead of what does not fit."""
        self._items = await self._condenser.condensed(
            adapter, candidate, request, self._items, self._dropped
        )
        self._dropped = ()
        return replace(request, items=(*self._items, *rounds))

    def _continued(
        self, adapter: ConnectedAdapter, candidate: ModelCandidate, request: Request
    ) -> Provider:
        """Let the answer be continued. Each continuation is a counted request.

        Not if the settings limit the length: that limit is for the whole answer.
        """
        if not adapter.continues or request.max_output_tokens is not None:
            return adapter

        async def may_continue(more: Request) -> bool:
            reserved = await self._reserved(candidate, more)
            if isinstance(reserved, Reservation):
                await self._quota.settle(reserved, Usage(reserved.input_tokens, 0))
            return isinstance(reserved, Reservation)

        return ContinuedAnswer(adapter, may_continue)

    async def _reserved(
        self, candidate: ModelCandidate, request: Request
    ) -> Reservation | QuotaRefusal:
        work = self._quota.reserve(candidate, estimated_input(request))
        return await until_stopped(self._scene.channel, work)

    def _watched(self, provider: Provider, config: StreamConfig) -> Provider:
        for observer in self._services.observers:
            provider = observer.opened(provider, config, self._scene.context)
        return provider

    async def _note(
        self, candidate: ModelCandidate, error: ProviderError, tries: ModelTries
    ) -> None:
        if error.type in _MODELS_FAULT:
            tries.skip(candidate.model)
        if candidate.key is None or not is_keys_fault(error):
            return
        services = self._services
        rest_s = rest_seconds(error)
        until = services.cooldowns.note(candidate.key, rest_s, services.clock(), _now_s())
        store = self._services.store
        if store is not None and candidate.key.id:
            try:
                await store.keys.rest(candidate.key.id, until)
            except Exception:
                # This process knows it anyway.
                log.exception("a key's rest could not be stored")

    def _prefer(self, candidate: ModelCandidate) -> None:
        self._candidates.remove(candidate)
        self._candidates.insert(0, candidate)


NO_MODEL = ProviderError(
    "model_error",
    Sentence("No model is set up. A member with Manage Server can choose one with /model."),
)


def failure_of(result: StreamResult) -> ProviderError | None:
    """Return the error if another attempt may be made: the model failed and nothing was shown."""
    if result.metrics.messages or result.ledger.expected:
        return None
    if result.status in ("timeout", "error") and isinstance(result.data, ProviderError):
        return result.data
    if result.status == "timeout":
        return ProviderError("timeout", provider=result.thought_log.provider)
    return None


def _tell_failure(candidate: ModelCandidate, error: ProviderError) -> None:
    """Log the provider's words: as a warning if waiting alone does not help."""
    key = candidate.key
    log.log(
        logging.WARNING if error.type in _LASTING else logging.INFO,
        "%s/%s: %s: %s%s",
        candidate.model.provider,
        candidate.model.model,
        error.type,
        " ".join(redact(error.message).split())[:MOST_LOGGED] or "(no message)",
        f" (key {key.id})" if key is not None and key.id else "",
    )


def _unusable(candidate: ModelCandidate, error: Exception) -> ProviderError:
    """Return the error for a candidate. Only errors of ours are shown in full."""
    ours = isinstance(error, OshaberiError)
    log.warning("%s cannot be used: %s", candidate.model.provider, error, exc_info=not ours)
    words = error.args[0] if ours and error.args else type(error).__name__
    return ProviderError("model_error", words, provider=candidate.model.provider)


def _now_s() -> float:
    return asyncio.get_running_loop().time()
