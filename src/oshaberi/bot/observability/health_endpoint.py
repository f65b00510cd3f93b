"""Serves `/health`, `/ready` and `/metrics`. Off unless `health_port` is set.

`/health` names every part that has a problem. Its status depends on the gateway alone: without the
database, Redis or a model the bot still does what it can, and a restart would not help.
"""

from __future__ import annotations

import errno
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Literal

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST

from oshaberi.bot.observability.metrics import BotMetrics
from oshaberi.errors import AddressUnavailableError, ConfigError
from oshaberi.http_server_log import SERVER_LOG

MOST_BYTES = 16 * 1024
Check = Callable[[], str | None]
"""Returns what is wrong now, in a few words; None if nothing is."""
RunsOn = Literal["discord", "stage"]
"""Where the people are: a bot on the local stage is healthy, and nobody on Discord sees it."""


@dataclass(frozen=True, slots=True)
class HealthChecks:
    """The checks of a process. Problems of `parts` are reported, but do not change the status."""

    gateway: Check
    ready: Check
    parts: Mapping[str, Check]
    runs_on: RunsOn = "discord"

    def report(self) -> dict[str, Any]:
        """Return which parts have a problem. The status is `ok` while the gateway is connected."""
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

    def health(self) -> web.Response:
        return _answer(self.report())

    def readiness(self) -> web.Response:
        problem = self.unready()
        return _answer({"ok": problem is None, "problem": problem})


def _answer(body: dict[str, Any]) -> web.Response:
    return web.json_response(body, status=200 if body["ok"] else 503)


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

    async def health(_request: web.Request) -> web.Response:
        return checks.health()

    async def ready(_request: web.Request) -> web.Response:
        return checks.readiness()

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
