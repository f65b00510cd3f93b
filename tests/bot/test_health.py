"""`/health` and `/metrics`, asked over HTTP as whoever watches the process does."""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from prometheus_client.parser import text_string_to_metric_families as families

from oshaberi.bot.observability.health_endpoint import health_endpoint
from oshaberi.bot.observability.metrics import BotMetrics
from oshaberi.bot.wiring import open_bot
from oshaberi.chunks import ProviderError, Usage
from oshaberi.config import load
from oshaberi.delivery.stream_config import StreamConfig
from oshaberi.errors import ConfigError
from oshaberi.stage import Stage
from oshaberi.stage.testing import staged
from oshaberi.stream.provider_protocol import ScriptedProvider
from oshaberi.stream.stream_context import StreamContext
from oshaberi.stream.stream_result import Metrics, StreamResult
from oshaberi.stream.thought_collector import ThoughtLog

DOCS = Path(__file__).parents[2] / "docs" / "operations.md"
CONTEXT = StreamContext(channel="1")


async def get(url: str) -> tuple[int, str]:
    async with aiohttp.ClientSession() as session, session.get(url) as response:
        return response.status, await response.text()


def values(text: str) -> dict[str, float]:
    """Every sample by its name and labels, in the order of the labels' names."""
    found = {}
    for family in families(text):
        for sample in family.samples:
            labels = ",".join(sample.labels.values())
            found[f"{sample.name}[{labels}]" if labels else sample.name] = sample.value
    return found


def watch(
    scenario: Callable[[str], Awaitable[None]], bot_metrics: BotMetrics, problem: str | None
) -> None:
    async def main() -> None:
        async with health_endpoint(bot_metrics, lambda: problem, 0) as url:
            await scenario(url)

    asyncio.run(main())


@pytest.mark.parametrize("target", ["http://[::1", "/\x01", "/" + "y" * 20_000, "/%00", "*"])
def test_an_odd_request_leaves_no_traceback(target: str, caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(url: str) -> None:
        host, _, port = url.removeprefix("http://").partition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(f"GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        assert 400 <= int((await reader.readline()).split()[1]) < 500
        writer.close()

    watch(scenario, BotMetrics(), None)
    assert caplog.records == []


@pytest.mark.parametrize(("problem", "status"), [(None, 200), ("not connected", 503)])
def test_a_problem_is_a_status(problem: str | None, status: int) -> None:
    async def scenario(url: str) -> None:
        told, body = await get(f"{url}/health")
        assert told == status
        assert (f'"problem": "{problem}"' in body) is (problem is not None)

    watch(scenario, BotMetrics(), problem)


def test_metrics_count_what_happened() -> None:
    bot_metrics = BotMetrics(lambda: 0.25)
    provider = ScriptedProvider(())
    log = ThoughtLog(provider="openai", model="m")
    for _ in range(3):
        assert bot_metrics.opened(provider, StreamConfig(), CONTEXT) is provider
    whole = StreamResult(
        "completed",
        thought_log=log,
        metrics=Metrics(messages=4, first_message_ms=700),
        usage=Usage(10, 20),
    )
    bot_metrics.ended(CONTEXT, whole)
    failed = ProviderError("rate_limit", "slow down", provider="openai")
    bot_metrics.ended(CONTEXT, StreamResult("error", data=failed, undelivered="abc"))

    async def scenario(url: str) -> None:
        status, text = await get(f"{url}/metrics")
        assert status == 200
        found = values(text)
        told = {
            "oshaberi_streams_total[completed]": 1,
            "oshaberi_streams_total[error]": 1,
            "oshaberi_streams_running": 1,
            "oshaberi_messages_sent_total": 4,
            "oshaberi_undelivered_characters_total": 3,
            "oshaberi_provider_errors_total[openai,rate_limit]": 1,
            "oshaberi_tokens_total[m,openai,in]": 10,
            "oshaberi_tokens_total[m,openai,out]": 20,
            "oshaberi_first_message_seconds_count": 1,
            "oshaberi_first_message_seconds_sum": 0.7,
            "oshaberi_gateway_latency_seconds": 0.25,
        }
        assert {name: found[name] for name in told} == pytest.approx(told)

    watch(scenario, bot_metrics, None)


def test_every_metric_is_documented() -> None:
    known = {family.name for family in families(BotMetrics().text().decode())}
    documented = set(re.findall(r"`(oshaberi_\w+)`", DOCS.read_text(encoding="utf-8")))
    made = {name for name in known if not name.endswith("_created")}
    assert {name.removesuffix("_total") for name in documented} == made


def test_a_port_that_is_taken() -> None:
    async def main() -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            async with health_endpoint(BotMetrics(), lambda: None, taken.getsockname()[1]):
                pytest.fail("it was opened")

    with pytest.raises(ConfigError, match=r"health_port: .* cannot be used"):
        asyncio.run(main())


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


async def _serve(stage: Stage, folder: Path, statuses: list[Any]) -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}/health"
    environ = {
        "OSHABERI_DISCORD_TOKEN": stage.token,
        "OSHABERI_DATA_DIR": str(folder),
        "OSHABERI_HEALTH_PORT": str(port),
    }
    settings = load(None, environ)
    ready = asyncio.Event()
    opened = open_bot(settings, environ, on_ready=ready.set, guild_ready_timeout=0.1)
    async with opened as bot:
        statuses.append((await get(url))[0])
        serving = asyncio.create_task(bot.client.serve(stage.token))
        await ready.wait()
        statuses.append((await get(url))[0])
        await bot.client.close()
        statuses.append((await get(url))[0])
        await serving
    with pytest.raises(aiohttp.ClientError):
        await get(url)


def test_the_bot_is_well_while_it_is_connected(tmp_path: Path) -> None:
    statuses: list[Any] = []

    async def main() -> None:
        async with staged() as stage:
            await _serve(stage, tmp_path, statuses)

    asyncio.run(main())
    assert statuses == [503, 200, 503]
