"""Gets an answer from the first model and key that work: a chain of models, each with keys.

A failed attempt is not shown while another can be tried, and nothing is tried again once text is
visible (spec 08). A model is asked again after an empty answer, with less history if the request
was too long, and after a pause if all models are overloaded.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter

from oshaberi.bot.storage.records import KeyRecord, ModelRecord
from oshaberi.bot.turns.generation.model_call import GenerationSetup, ModelCaller
from oshaberi.bot.turns.quotas import QuotaReachedError
from oshaberi.bot.turns.services.key_cooldowns import retry_after_seconds
from oshaberi.bot.turns.services.model_access import ModelAccess, ModelCandidate
from oshaberi.chunks import ProviderError
from oshaberi.errors import Sentence
from oshaberi.providers.request.model_request import ToolRound
from oshaberi.stream.result import StreamResult

LONGEST_SECONDS = 30.0
"""How long overloaded models are tried in total. After that the reader gets a notice."""
PAUSES_SECONDS = (2.0, 8.0)
"""The pauses between the tries, if the provider does not say how long to wait."""

_OVERLOADED = frozenset(("rate_limit", "provider_overloaded"))


def is_overload(error: ProviderError) -> bool:
    """Return whether an error is an overload, which may soon be over."""
    return error.type in _OVERLOADED


class OverloadWait:
    """The waits for one answer."""

    def __init__(self) -> None:
        self._left_s = LONGEST_SECONDS
        self._pauses_s = iter(PAUSES_SECONDS)

    def next(self, errors: Iterable[ProviderError]) -> float | None:
        """Return how many seconds to wait after these errors, or None to give up."""
        usual = next(self._pauses_s, None)
        if usual is None:
            return None
        pauses = [retry_after_seconds(error) or usual for error in errors if is_overload(error)]
        shortest = min(pauses, default=None)
        if shortest is None or shortest > self._left_s:
            return None
        self._left_s -= shortest
        return shortest


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


log = logging.getLogger(__name__)

Failure = tuple[ModelCandidate, ProviderError]

_MODELS_FAULT = frozenset(("model_error", "content_blocked", "context_length", "timeout"))
"""Errors that another key would not avoid."""


class ModelTries:
    """The candidates that are left for one answer.

    Keys in cooldown are skipped. If all are in cooldown, the first call returns the candidate whose
    cooldown ends first. `seconds_left` says how long a key pauses.
    """

    def __init__(
        self,
        candidates: Sequence[ModelCandidate],
        seconds_left: Callable[[KeyRecord | None], float],
    ) -> None:
        self._left = list(candidates)
        self._seconds_left = seconds_left
        self._tried = False

    def next(self) -> tuple[ModelCandidate, float] | None:
        """Return the next candidate, and how many seconds its key should still pause."""
        left = [(self._seconds_left(one.key), one) for one in self._left]
        chosen = next((one for one in left if not one[0]), None)
        if chosen is None and left and not self._tried:
            # All keys pause: the one with the shortest pause may be ready by now.
            chosen = min(left, key=itemgetter(0))
        self._tried = True
        if chosen is None:
            return None
        seconds, candidate = chosen
        self._left.remove(candidate)
        return candidate, seconds

    def skip(self, model: ModelRecord) -> None:
        """Drop all candidates of a model, because its other keys would fail the same way."""
        self._left = [one for one in self._left if one.model != model]

    def skip_operators(self) -> None:
        """Drop the operator's candidates, because the operator's quota is used up."""
        self._left = [one for one in self._left if not one.is_operators]


class ModelFallback:
    """Asks the models in one turn. After a tool call, the model that worked is asked first."""

    def __init__(
        self,
        models: ModelAccess,
        caller: ModelCaller,
        setup: GenerationSetup,
        candidates: Sequence[ModelCandidate],
    ) -> None:
        self._models = models
        self._setup = setup
        self._candidates = list(candidates)
        self._caller = PatientCaller(caller, setup)

    async def stream(self, rounds: Sequence[ToolRound] = ()) -> StreamResult:
        """Return one answer, or the last failure. Overloaded models are asked again."""
        overload_wait, asked = OverloadWait(), list(self._candidates)
        while True:
            result, failures = await self._through(asked, rounds)
            pause_s = overload_wait.next(error for _, error in failures)
            if pause_s is None:
                return result
            log.info("every model is overloaded or fails; next try in %g s", pause_s)
            await self._setup.channel.until_stopped(asyncio.sleep(pause_s))
            asked = [candidate for candidate, error in failures if is_overload(error)]

    async def _through(
        self, candidates: Sequence[ModelCandidate], rounds: Sequence[ToolRound]
    ) -> tuple[StreamResult, list[Failure]]:
        """Try the candidates. Return the first answer, or the last failure and all errors."""
        result, failures = StreamResult("error", data=NO_MODEL), list[Failure]()
        tries = ModelTries(candidates, self._models.rest_seconds_left)
        while (following := tries.next()) is not None:
            candidate, rest_s = following
            result = await self._caller.ask(candidate, rounds)
            if isinstance(result.data, QuotaReachedError) and result.data.is_operators:
                tries.skip_operators()
                continue
            error = failure_of(result)
            if error is None:
                self._prefer(candidate)
                if _has_answered(result):
                    await self._models.note_answer(candidate, has_rested=rest_s > 0)
                return result, []
            failures.append((candidate, error))
            if error.type in _MODELS_FAULT:
                tries.skip(candidate.model)
            await self._models.note_failure(candidate, error)
        return result, failures

    def _prefer(self, candidate: ModelCandidate) -> None:
        self._candidates.remove(candidate)
        self._candidates.insert(0, candidate)


NO_MODEL = ProviderError(
    "model_error",
    Sentence("No model is set up. A member with Manage Server can choose one with /model."),
)


def _has_answered(result: StreamResult) -> bool:
    """Return whether the model said anything with its key, however the stream ended."""
    failed = result.status == "timeout" or isinstance(result.data, ProviderError)
    return bool(result.metrics.chunks) and not failed
