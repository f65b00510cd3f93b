"""Serves `/health` and `/metrics`. Off unless `health_port` is set."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST

from oshaberi.bot.observability.metrics import BotMetrics
from oshaberi.errors import ConfigError
from oshaberi.server_log import SERVER_LOG

Check = Callable[[], str | None]
"""What is wrong now, in a few words; None if nothing is."""


@asynccontextmanager
async def health_endpoint(
    bot_metrics: BotMetrics, check: Check, port: int, host: str = "127.0.0.1"
) -> AsyncIterator[str]:
    """Serves until the end of the block; gives its address."""

    async def health(_request: web.Request) -> web.Response:
        problem = check()
        status = 200 if problem is None else 503
        return web.json_response({"ok": problem is None, "problem": problem}, status=status)

    async def metrics(_request: web.Request) -> web.Response:
        return web.Response(body=bot_metrics.text(), headers={"Content-Type": CONTENT_TYPE_LATEST})

    application = web.Application()
    application.router.add_get("/health", health)
    application.router.add_get("/metrics", metrics)
    runner = web.AppRunner(application, access_log=None, logger=SERVER_LOG, shutdown_timeout=1.0)
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, host, port).start()
        except OSError as error:
            raise ConfigError(f"health_port: {port} cannot be used: {error.strerror}") from None
        yield f"http://{host}:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()
