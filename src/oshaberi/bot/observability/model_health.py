"""Knows which models fail or hang now, and what runs. Observes every stream.

A model fails if its last answer was an error. It hangs if an answer has stood still for 30 seconds.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from oshaberi.chunks import ErrorType, ProviderError
from oshaberi.delivery.stream_config import StreamConfig
from oshaberi.outage_log import OutageLog
from oshaberi.stream.provider_protocol import Provider
from oshaberi.stream.stream_context import StreamContext
from oshaberi.stream.stream_result import StreamResult

log = logging.getLogger(__name__)

KEPT_SECONDS = 600.0
"""How long a failure counts. An older one says nothing about the present."""
MOST_MODELS = 200
HANGING_SECONDS = 30.0
"""After so long without a piece an answer stands still. It is given up much later
(`inactivity_timeout_ms`): some models think for a minute without a sign."""
LOOK_SECONDS = 5.0
"""How often a stream that hangs is looked at again."""
HANG_WORDS = (
    f"{{what}}: nothing came for {HANGING_SECONDS:g} s",
    "{what} still sends nothing",
    "{what}: nothing hangs any more",
)
NOT_THE_MODELS_FAULT: frozenset[ErrorType] = frozenset({"content_blocked", "context_length"})


@dataclass(frozen=True, slots=True)
class RunningStream:
    """A stream under way: its model, since when it runs, and what has come of it."""

    channel: str
    provider: str
    model: str
    seconds: float
    silent_s: float
    """How long ago the last piece came, if one is awaited."""
    messages: int

    @property
    def hangs(self) -> bool:
        return self.silent_s >= HANGING_SECONDS


class ModelHealth:
    """The last failure of each model, until it answers again; and all running streams."""

    def __init__(self, now_s: Callable[[], float] = time.monotonic) -> None:
        self._now_s = now_s
        self._running: dict[str, tuple[Provider, StreamContext, float]] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._hang_logs: dict[str, OutageLog] = {}
        """The lines about models that hang, by model."""
        self._failed: OrderedDict[tuple[str, str], tuple[ErrorType, float]] = OrderedDict()

    def opened(self, provider: Provider, _config: StreamConfig, context: StreamContext) -> Provider:
        began_s = asyncio.get_running_loop().time()
        self._running[context.response.key] = (provider, context, began_s)
        self._look(context.response.key)
        return provider

    def ended(self, context: StreamContext, result: StreamResult) -> None:
        key = context.response.key
        self._running.pop(key, None)
        if timer := self._timers.pop(key, None):
            timer.cancel()
        self._end_hang(key)
        model = (result.thought_log.provider or "", result.thought_log.model or "")
        kind = _fault(result)
        if kind is not None:
            self._failed[model] = (kind, self._now_s())
            self._failed.move_to_end(model)
            if len(self._failed) > MOST_MODELS:
                self._failed.popitem(last=False)
        elif result.status in ("completed", "function_call"):
            self._failed.pop(model, None)

    def _look(self, key: str) -> None:
        """Log a stream that hangs, and look again when it could. The line has its turn's ids."""
        provider, context, _ = self._running[key]
        silent_s = context.silent_s()
        if silent_s >= HANGING_SECONDS:
            name = f"{provider.name}/{provider.model}"
            if name not in self._hang_logs:
                self._hang_logs[name] = OutageLog(
                    *("model", name, log), level=logging.WARNING, words=HANG_WORDS
                )
                if len(self._hang_logs) > MOST_MODELS:
                    self._hang_logs.pop(next(iter(self._hang_logs))).close()
            self._hang_logs[name].begins("", by=key)
        else:
            self._end_hang(key)
        left_s = HANGING_SECONDS - silent_s
        after_s = left_s if left_s > 0 else LOOK_SECONDS
        loop = asyncio.get_running_loop()
        self._timers[key] = loop.call_later(after_s, self._look, key)

    def _end_hang(self, key: str) -> None:
        for hang_log in self._hang_logs.values():
            hang_log.ends(by=key)

    def running(self) -> tuple[RunningStream, ...]:
        """Return the streams under way."""
        if not self._running:
            return ()
        now_s = asyncio.get_running_loop().time()
        return tuple(
            RunningStream(
                context.channel,
                provider.name,
                provider.model,
                now_s - began_s,
                context.silent_s(),
                context.response.sent,
            )
            for provider, context, began_s in self._running.values()
        )

    def hanging(self) -> int:
        """Return how many streams have stood still for long."""
        return sum(
            context.silent_s() >= HANGING_SECONDS for _, context, _ in self._running.values()
        )

    def failing(self) -> Mapping[tuple[str, str], ErrorType]:
        """Return the kinds of errors by provider and model."""
        since_s = self._now_s() - KEPT_SECONDS
        return {model: kind for model, (kind, at_s) in self._failed.items() if at_s > since_s}

    def problem(self) -> str | None:
        """Return which models fail, with the kinds of their errors, and which hang; or None."""
        failing = self.failing().items()
        told = [f"{provider} {model}: {kind}" for (provider, model), kind in failing]
        silent_s: dict[str, float] = {}
        for one in self.running():
            if one.hangs:
                name = f"{one.provider} {one.model}"
                silent_s[name] = max(one.silent_s, silent_s.get(name, 0.0))
        told += [f"{name}: silent for {seconds:.0f} s" for name, seconds in silent_s.items()]
        return "; ".join(told) or None


def _fault(result: StreamResult) -> ErrorType | None:
    if result.status == "timeout":
        return "timeout"
    if isinstance(result.data, ProviderError) and result.data.type not in NOT_THE_MODELS_FAULT:
        return result.data.type
    return None
