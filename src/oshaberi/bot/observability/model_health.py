"""Knows which models fail now: those whose last answer was an error. Observes every stream."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping

from oshaberi.chunks import ErrorType, ProviderError
from oshaberi.delivery.stream_config import StreamConfig
from oshaberi.stream.provider_protocol import Provider
from oshaberi.stream.stream_context import StreamContext
from oshaberi.stream.stream_result import StreamResult

KEPT_SECONDS = 600.0
"""How long a failure counts. An older one says nothing about the present."""
MOST_MODELS = 200
NOT_THE_MODELS_FAULT: frozenset[ErrorType] = frozenset({"content_blocked", "context_length"})


class ModelHealth:
    """The last failure of each model, until it answers again."""

    def __init__(self, now_s: Callable[[], float] = time.monotonic) -> None:
        self._now_s = now_s
        self._failed: OrderedDict[tuple[str, str], tuple[ErrorType, float]] = OrderedDict()

    def opened(
        self, provider: Provider, _config: StreamConfig, _context: StreamContext
    ) -> Provider:
        return provider

    def ended(self, _context: StreamContext, result: StreamResult) -> None:
        model = (result.thought_log.provider or "", result.thought_log.model or "")
        kind = _fault(result)
        if kind is not None:
            self._failed[model] = (kind, self._now_s())
            self._failed.move_to_end(model)
            if len(self._failed) > MOST_MODELS:
                self._failed.popitem(last=False)
        elif result.status in ("completed", "function_call"):
            self._failed.pop(model, None)

    def failing(self) -> Mapping[tuple[str, str], ErrorType]:
        """Return the kinds of errors by provider and model."""
        since_s = self._now_s() - KEPT_SECONDS
        return {model: kind for model, (kind, at_s) in self._failed.items() if at_s > since_s}

    def problem(self) -> str | None:
        """Return the failing models with the kinds of their errors, or None."""
        failing = self.failing().items()
        told = [f"{provider} {model}: {kind}" for (provider, model), kind in failing]
        return "; ".join(told) or None


def _fault(result: StreamResult) -> ErrorType | None:
    if result.status == "timeout":
        return "timeout"
    if isinstance(result.data, ProviderError) and result.data.type not in NOT_THE_MODELS_FAULT:
        return result.data.type
    return None
