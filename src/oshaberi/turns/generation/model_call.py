"""Asks one model with one key once: prepares the request, counts it, and streams the answer."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from oshaberi.chunks import ProviderError, Usage
from oshaberi.delivery.stream_config import StreamConfig
from oshaberi.errors import OshaberiError
from oshaberi.providers.model_options import options_of
from oshaberi.providers.request.context_items import ContextItem, Item, ToolRound
from oshaberi.providers.request.model_request import Request
from oshaberi.storage.stored_records import ModelRecord
from oshaberi.stream.orchestrator import stream_to_sink
from oshaberi.stream.provider_protocol import Provider
from oshaberi.stream.stream_result import StreamResult
from oshaberi.turns.context.context_building import without_oldest
from oshaberi.turns.generation.generation_setup import GenerationSetup
from oshaberi.turns.generation.history_summarising import HistoryCondenser
from oshaberi.turns.generation.local_model_guard import LOCAL_MODEL, may_ask_model
from oshaberi.turns.generation.model_chain import key_needed
from oshaberi.turns.generation.request_building import begun_request, config_for, request_for
from oshaberi.turns.generation.token_limit_continuation import ContinuedAnswer
from oshaberi.turns.quotas.request_quota import QuotaRefusal, RequestQuota, Reservation
from oshaberi.turns.quotas.token_estimate import estimated_input, used_tokens
from oshaberi.turns.services.adapter_pool import ConnectedAdapter
from oshaberi.turns.services.model_candidates import ModelCandidate
from oshaberi.turns.services.turn_services import TurnServices
from oshaberi.turns.turn_interruption import InterruptedTurnError, check, until_stopped

log = logging.getLogger(__name__)

ModelAddress = tuple[str, str, str | None, str | None]
"""Provider, model, base URL and key."""


class ModelCaller:
    """Asks models in one turn. All requests have the same items, or fewer after `forget_oldest`."""

    def __init__(
        self,
        services: TurnServices,
        setup: GenerationSetup,
        items: tuple[ContextItem, ...],
        quota: RequestQuota,
        condenser: HistoryCondenser,
    ) -> None:
        self._services = services
        self._setup = setup
        self._items = items
        self._quota = quota
        self._condenser = condenser
        self._dropped: tuple[ContextItem, ...] = ()
        """Items that an API had no room for, and that are not summarised yet."""

    def forget_oldest(self, *, for_summary: bool) -> bool:
        """Ask with less history from now on. Return False if there is nothing more to leave out."""
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
        check(setup.channel)
        if candidate.lacks_key:
            words = key_needed(model, self._services.models)
            return StreamResult("error", data=ProviderError("model_error", words))
        address = (model.provider, model.model, model.base_url, candidate.secret)
        try:
            options = options_of(model.params)
            settings = options.endpoint_settings()
            ready = self._is_ready(model, address, settings)
            if not await until_stopped(setup.channel, ready):
                error = ProviderError("model_error", LOCAL_MODEL, provider=model.provider)
                return StreamResult("error", data=error)
            items: tuple[Item, ...] = (*self._items, *rounds)
            request = request_for(options, items, setup.tools, setup.stream, setup.turn)
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
            begins = setup.begins_answer and not rounds
            request = begun_request(request, begins and adapter.takes_prefill(request))
            config = config_for(setup.stream, adapter.text, request.prefill)
            provider = self._watched(self._continued(adapter, candidate, request), config)
            result = await stream_to_sink(provider, request, config, setup.context, setup.sink)
        for observer in self._services.observers:
            observer.ended(setup.context, result)
        await self._quota.settle(reserved, used_tokens(result, reserved.input_tokens))
        return result

    async def _is_ready(
        self, model: ModelRecord, address: ModelAddress, settings: Mapping[str, Any]
    ) -> bool:
        """Prepare the adapter. Return False if the model may not be asked."""
        if not await may_ask_model(self._services, model):
            return False
        await self._services.adapters.warm(*address, settings)
        return True

    async def _fitted(
        self,
        adapter: ConnectedAdapter,
        candidate: ModelCandidate,
        request: Request,
        rounds: Sequence[ToolRound],
    ) -> Request:
        """Return the request, with a summary in place of what does not fit."""
        self._items = await self._condenser.condensed(
            adapter, candidate, request, self._items, self._dropped
        )
        self._dropped = ()
        return replace(request, items=(*self._items, *rounds))

    def _continued(
        self, adapter: ConnectedAdapter, candidate: ModelCandidate, request: Request
    ) -> Provider:
        """Let the answer be continued. Each continuation counts as a request.

        If the settings limit the length, it is not continued: the limit is for the whole answer.
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
        return await until_stopped(self._setup.channel, work)

    def _watched(self, provider: Provider, config: StreamConfig) -> Provider:
        for observer in self._services.observers:
            provider = observer.opened(provider, config, self._setup.context)
        return provider


def _unusable(candidate: ModelCandidate, error: Exception) -> ProviderError:
    """Return the error of an unusable candidate. Only our own errors keep their text."""
    ours = isinstance(error, OshaberiError)
    log.warning("%s cannot be used: %s", candidate.model.provider, error, exc_info=not ours)
    words = error.args[0] if ours and error.args else type(error).__name__
    return ProviderError("model_error", words, provider=candidate.model.provider)
