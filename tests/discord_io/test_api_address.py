"""Requests go through a proxy when there is one, those of webhooks too."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import discord.http
from aiohttp import web

from oshaberi.delivery.sink import Post, WebhookFace, WireState
from oshaberi.discord_io.requests.watch import requests_through

from .sink_harness import SinkHarness, run_with_sinks


@asynccontextmanager
async def forwarder(target: str, passed: list[str]) -> AsyncIterator[str]:
    """A proxy in front of `target` that notes each path."""

    async def forward(request: web.Request) -> web.Response:
        passed.append(f"{request.method} {request.path}")
        kept = ("Authorization", "Content-Type", "User-Agent")
        headers = {name: request.headers[name] for name in kept if name in request.headers}
        body = await request.read()
        url = f"{target}{request.path_qs}"
        async with session.request(request.method, url, data=body, headers=headers) as answer:
            content = await answer.read()
            told = {key: value for key, value in answer.headers.items() if key.startswith("X-")}
            return web.Response(
                status=answer.status,
                body=content,
                content_type=answer.content_type,
                headers=told | {"Via": "1.1 proxy"},
            )

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", forward)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        async with aiohttp.ClientSession() as session:
            host, port = runner.addresses[0][:2]
            yield f"http://{host}:{port}"
    finally:
        await runner.cleanup()


def test_all_requests_go_through_the_proxy() -> None:
    passed: list[str] = []

    async def scenario(harness: SinkHarness) -> None:
        before = discord.http.Route.BASE
        async with forwarder(harness.stage.url, passed) as url:
            with requests_through(f"{url}/"):
                sink = harness.bot.client_state.sink(harness.channel("general"))
                now = asyncio.get_running_loop().time()
                await sink.send(Post("n-1", "as the bot"), WireState(now))
                await sink.open_webhook()
                await sink.send(Post("n-2", "as Aki", face=WebhookFace("Aki")), WireState(now))
        assert before == discord.http.Route.BASE
        assert harness.contents("general") == ["as the bot", "as Aki"]
        sent = [path.split("/")[3] for path in passed if path.startswith("POST")]
        assert sent == ["channels", "channels", "webhooks"]

    run_with_sinks(scenario)


def test_the_path_may_be_part_of_the_address() -> None:
    with requests_through("http://proxy:8080/api/v10/"):
        assert discord.http.Route.BASE == "http://proxy:8080/api/v10"
    with requests_through(None):
        assert discord.http.Route.BASE == "https://discord.com/api/v10"
