"""Asks one model again: after an empty answer, or with less history if the request was too long."""

from __future__ import annotations

from collections.abc import Sequence

from oshaberi.chunks import ProviderError
from oshaberi.providers.request.context_items import ToolRound
from oshaberi.stream.stream_result import StreamResult
from oshaberi.turns.generation.generation_setup import GenerationSetup
from oshaberi.turns.generation.model_call import ModelCaller
from oshaberi.turns.services.model_candidates import ModelCandidate

MORE_TRIES = 2


class PatientCaller:
    """Asks a model, and asks again where that may help."""

    def __init__(self, caller: ModelCaller, setup: GenerationSetup) -> None:
        self._caller = caller
        self._setup = setup

    async def ask(self, candidate: ModelCandidate, rounds: Sequence[ToolRound]) -> StreamResult:
        result = await self._caller.ask(candidate, rounds)
        for _ in range(MORE_TRIES):
            if not self._may_ask_again(result):
                break
            result = await self._caller.ask(candidate, rounds)
        return result

    def _may_ask_again(self, result: StreamResult) -> bool:
        if self._setup.is_silence(result):
            return False
        error = failure_of(result)
        too_long = error is not None and error.type == "context_length"
        if too_long or (result.status == "empty_response" and result.finish_reason == "length"):
            shrunk = self._caller.forget_oldest(for_summary=too_long)
            return shrunk or not too_long
        # After a tool call the answer may be in what was said before it.
        return result.status == "empty_response" and not self._setup.context.response.sent


def failure_of(result: StreamResult) -> ProviderError | None:
    """Return the error if another attempt is possible: the model failed and nothing was shown."""
    if result.metrics.messages or result.ledger.expected:
        return None
    if result.status in ("timeout", "error") and isinstance(result.data, ProviderError):
        return result.data
    if result.status == "timeout":
        return ProviderError("timeout", provider=result.thought_log.provider)
    return None
