"""What `/health`, `/ready` and `/metrics` answer, and which models are failing or hanging."""

from __future__ import annotations

import asyncio
import errno
import logging
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from prometheus_client import CONTENT_TYPE_LATEST

from oshaberi.bot.observability.metrics import BotMetrics
from oshaberi.chunks import ErrorType, ProviderError
from oshaberi.clocks import EARLY_S, loop_time_s
from oshaberi.delivery.config import StreamConfig
from oshaberi.errors import AddressUnavailableError, ConfigError
from oshaberi.outage_log import OutageLog
from oshaberi.stream.context import StreamContext
from oshaberi.stream.provider_protocol import Provider
from oshaberi.stream.result import StreamResult

if TYPE_CHECKING:
    from aiohttp import web

# Which models fail or hang now, and which streams are running.
#
# A model fails if its last answer was an error. It hangs if an answer has not grown for 30
# seconds.


log = logging.getLogger(__name__)

KEPT_SECONDS = 600.0
"""How long a failure counts. Older failures say nothing about the present."""
MOST_MODELS = 200
HANGING_SECONDS = 30.0
"""After this long without a piece, an answer counts as hanging. It is given up much later
(`inactivity_timeout_ms`): some models think for a minute without sending anything."""
LOOK_SECONDS = 5.0
"""How often a stream that hangs is checked again."""
HANG_WORDS = (
    f"{{what}}: nothing came for {HANGING_SECONDS:g} s",
    "{what} still sends nothing",
    "{what}: nothing hangs any more",
)
NOT_THE_MODELS_FAULT: frozenset[ErrorType] = frozenset({"content_blocked", "context_length"})


@dataclass(frozen=True, slots=True)
class RunningStream:
    """A running stream: its model, when it started, and what has arrived so far."""

    channel: str
    provider: str
    model: str
    seconds: float
    silent_s: float
    """How long ago the last piece arrived, if another is expected."""
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
        began_s = loop_time_s()
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
        """Log a stream that hangs, and check again later. The line has its turn's ids."""
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
        after_s = left_s if left_s > EARLY_S else LOOK_SECONDS
        loop = asyncio.get_running_loop()
        self._timers[key] = loop.call_later(after_s, self._look, key)

    def _end_hang(self, key: str) -> None:
        for hang_log in self._hang_logs.values():
            hang_log.ends(by=key)

    def running(self) -> tuple[RunningStream, ...]:
        """Return the running streams."""
        if not self._running:
            return ()
        now_s = loop_time_s()
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
        """Return how many streams hang."""
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
        problems = [f"{provider} {model}: {kind}" for (provider, model), kind in failing]
        silent_s: dict[str, float] = {}
        for one in self.running():
            if one.hangs:
                name = f"{one.provider} {one.model}"
                silent_s[name] = max(one.silent_s, silent_s.get(name, 0.0))
        problems += [f"{name}: silent for {seconds:.0f} s" for name, seconds in silent_s.items()]
        return "; ".join(problems) or None


def _fault(result: StreamResult) -> ErrorType | None:
    if result.status == "timeout":
        return "timeout"
    if isinstance(result.data, ProviderError) and result.data.type not in NOT_THE_MODELS_FAULT:
        return result.data.type
    return None


# The endpoint. It is off unless `health_port` is set.
#
# `/health` names every part that has a problem. Its status depends on the gateway alone: without
# the database, Redis or a model the bot still does what it can, and a restart would not help.


MOST_BYTES = 16 * 1024
Check = Callable[[], str | None]
"""Returns what is wrong now in a few words, or None."""
RunsOn = Literal["discord", "stage"]
"""Where the bot runs: on the local stage it is healthy, but nobody on Discord sees it."""


@dataclass(frozen=True, slots=True)
class HealthChecks:
    """The checks of a process. Problems of `parts` are reported, but do not change the status."""

    gateway: Check
    ready: Check
    parts: Mapping[str, Check]
    runs_on: RunsOn = "discord"

    def report(self) -> dict[str, Any]:
        """Report which parts have a problem. The status is `ok` while the gateway is connected."""
        problems = {"gateway": self.gateway()}
        problems |= {name: check() for name, check in self.parts.items()}
        ailing = [f"{name}: {problem}" for name, problem in problems.items() if problem]
        return {
            "ok": problems["gateway"] is None,
            "runs_on": self.runs_on,
            "problem": "; ".join(ailing) or None,
            "parts": {name: problem or "ok" for name, problem in problems.items()},
        }

    def unready(self) -> str | None:
        """Return why the bot takes no new questions, or None."""
        return self.gateway() or self.ready()

    def readiness(self) -> dict[str, Any]:
        problem = self.unready()
        return {"ok": problem is None, "problem": problem}


@asynccontextmanager
async def health_endpoint(
    bot_metrics: BotMetrics,
    checks: HealthChecks,
    port: int,
    host: str = "127.0.0.1",
    *,
    more: Callable[[web.UrlDispatcher], None] = lambda _router: None,
) -> AsyncIterator[str]:
    """Serve until the end of the block. Yields the URL. `more` adds other routes."""
    # Imported here: a bot without this endpoint needs 3 MB less.
    from aiohttp import web

    from oshaberi.http_server_log import SERVER_LOG

    def answer(body: dict[str, Any]) -> web.Response:
        return web.json_response(body, status=200 if body["ok"] else 503)

    async def health(_request: web.Request) -> web.Response:
        return answer(checks.report())

    async def ready(_request: web.Request) -> web.Response:
        return answer(checks.readiness())

    async def metrics(_request: web.Request) -> web.Response:
        return web.Response(body=bot_metrics.text(), headers={"Content-Type": CONTENT_TYPE_LATEST})

    application = web.Application(client_max_size=MOST_BYTES)
    application.router.add_get("/health", health)
    application.router.add_get("/ready", ready)
    application.router.add_get("/metrics", metrics)
    more(application.router)
    runner = web.AppRunner(application, access_log=None, logger=SERVER_LOG, shutdown_timeout=1.0)
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, host, port).start()
        except OSError as error:
            in_use = error.errno == errno.EADDRINUSE
            kind = AddressUnavailableError if in_use else ConfigError
            raise kind(f"health_port: {port} cannot be used: {error.strerror}") from None
        yield f"http://{host}:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()
