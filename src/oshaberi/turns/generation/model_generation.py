"""Gets an answer from the first model and key that work: a chain of models, keys for each.

A failed attempt is quiet while another can be tried, and nothing is tried again once text of the
attempt is visible (spec 08).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from oshaberi.chunks import ProviderError
from oshaberi.conversation.turn_config import TurnConfig
from oshaberi.delivery.pacing.typing_indicator import TypingIndicator
from oshaberi.delivery.sink import Sink
from oshaberi.delivery.stream_config import StreamConfig
from oshaberi.errors import OshaberiError
from oshaberi.providers.request.context_items import ContextItem, Item, ToolDeclaration, ToolRound
from oshaberi.providers.request.model_request import Request
from oshaberi.redaction import redact
from oshaberi.stream.orchestrator import stream_to_sink
from oshaberi.stream.provider_protocol import Provider
from oshaberi.stream.stops.stop_registry import ActiveChannel
from oshaberi.stream.stream_context import StreamContext
from oshaberi.stream.stream_result import StreamResult
from oshaberi.turns.context.context_building import without_oldest
from oshaberi.turns.generation.key_cooldowns import is_keys_fault, rest_seconds
from oshaberi.turns.generation.local_models import LOCAL_MODEL, may_ask_model
from oshaberi.turns.generation.model_chain import ModelCandidate, ModelTries, key_needed
from oshaberi.turns.generation.overload_wait import OverloadWait, is_overload
from oshaberi.turns.generation.request_building import config_for, request_for
from oshaberi.turns.quotas.request_quota import (
    QuotaReachedError,
    QuotaRefusal,
    RequestQuota,
    Reservation,
)
from oshaberi.turns.quotas.token_estimate import estimated_input, used_tokens
from oshaberi.turns.turn_interruption import InterruptedTurnError, check, until_stopped
from oshaberi.turns.turn_services import TurnServices

log = logging.getLogger(__name__)

Failure = tuple[ModelCandidate, ProviderError]

MORE_TRIES = 2
"""How often an empty answer, or one that the history is too long for, is asked for again."""

MOST_LOGGED = 500
_MODELS_FAULT = frozenset(("model_error", "content_blocked", "context_length", "timeout"))
"""Another key would change nothing."""


@dataclass(frozen=True, slots=True)
class GenerationSetup:
    """What all streams of one turn have in common."""

    stream: StreamConfig
    turn: TurnConfig
    context: StreamContext
    sink: Sink
    channel: ActiveChannel
    tools: tuple[ToolDeclaration, ...] = ()


class ModelGeneration:
    """One turn's. What worked is asked again first after a tool call."""

    def __init__(
        self,
        services: TurnServices,
        scene: GenerationSetup,
        candidates: Sequence[ModelCandidate],
        items: tuple[ContextItem, ...],
        quota: RequestQuota,
    ) -> None:
        self._services = services
        self._scene = scene
        self._candidates = list(candidates)
        self._items = items
        self._quota = quota

    async def stream(self, rounds: Sequence[ToolRound] = ()) -> StreamResult:
        """One answer, or the last failure. What is only overloaded gets a moment."""
        overload_wait, asked = OverloadWait(), list(self._candidates)
        while True:
            result, failures = await self._through(asked, rounds)
            pause_s = overload_wait.next(error for _, error in failures)
            if pause_s is None:
                return result
            log.info("every model is overloaded or fails; next try in %g s", pause_s)
            await self._wait(pause_s)
            asked = [candidate for candidate, error in failures if is_overload(error)]

    async def _through(
        self, candidates: Sequence[ModelCandidate], rounds: Sequence[ToolRound]
    ) -> tuple[StreamResult, list[Failure]]:
        """The first answer, or the last failure with all of them."""
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
            log.info(
                "%s/%s: %s: %s",
                candidate.model.provider,
                candidate.model.model,
                error.type,
                " ".join(redact(error.message).split())[:MOST_LOGGED] or "(no message)",
            )
            failures.append((candidate, error))
            await self._note(candidate, error, tries)
        return result, failures

    async def _wait(self, seconds: float) -> None:
        """The reader sees that somebody is there, and may stop it."""
        indicator = TypingIndicator(self._scene.sink)
        indicator.keep_alive()
        try:
            await until_stopped(self._scene.channel, asyncio.sleep(seconds))
        finally:
            await indicator.close()

    async def _patiently(
        self, candidate: ModelCandidate, rounds: Sequence[ToolRound]
    ) -> StreamResult:
        """Once, and again if nothing came, or if less history may help."""
        result = await self._attempt(candidate, rounds)
        for _ in range(MORE_TRIES):
            if not self._may_ask_again(result):
                break
            result = await self._attempt(candidate, rounds)
        return result

    def _may_ask_again(self, result: StreamResult) -> bool:
        error = failure_of(result)
        too_long = error is not None and error.type == "context_length"
        if too_long or (result.status == "empty_response" and result.finish_reason == "length"):
            fewer = without_oldest(self._items)
            shrunk = len(fewer) < len(self._items)
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
            await until_stopped(scene.channel, self._services.adapters.warm(*address))
            items: tuple[Item, ...] = (*self._items, *rounds)
            request = request_for(model, items, scene.tools, scene.stream, scene.turn)
        except InterruptedTurnError:
            raise
        except Exception as error:
            # Whatever an SDK or a plug-in raises, another model may do.
            return StreamResult("error", data=_unusable(candidate, error))
        reserved = await self._reserved(candidate, request)
        if not isinstance(reserved, Reservation):
            return StreamResult("error", data=reserved)
        async with self._services.adapters.lease(*address) as adapter:
            config = config_for(scene.stream, adapter.text)
            provider = self._watched(adapter, config)
            result = await stream_to_sink(provider, request, config, scene.context, scene.sink)
        for observer in self._services.observers:
            observer.ended(scene.context, result)
        await self._quota.settle(reserved, used_tokens(result, reserved.input_tokens))
        return result

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
    "model_error", "No model is set up. A member with Manage Server can choose one with /model."
)


def failure_of(result: StreamResult) -> ProviderError | None:
    """Why another attempt may be made: the model failed and nobody has seen any of it."""
    if result.metrics.messages or result.ledger.expected:
        return None
    if result.status in ("timeout", "error") and isinstance(result.data, ProviderError):
        return result.data
    if result.status == "timeout":
        return ProviderError("timeout", provider=result.thought_log.provider)
    return None


def _unusable(candidate: ModelCandidate, error: Exception) -> ProviderError:
    """Errors of ours say what to do; those of others may say too much."""
    ours = isinstance(error, OshaberiError)
    log.warning("%s cannot be used: %s", candidate.model.provider, error, exc_info=not ours)
    words = redact(str(error)) if ours else type(error).__name__
    return ProviderError("model_error", words, provider=candidate.model.provider)


def _now_s() -> float:
    return asyncio.get_running_loop().time()
