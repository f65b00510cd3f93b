"""`/health` and `/metrics`, asked over HTTP as whoever watches the process does."""

from __future__ import annotations

import asyncio
import json
import re
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path

import aiohttp
import pytest
from prometheus_client.parser import text_string_to_metric_families as families

from oshaberi.bot.observability.health import Check, HealthChecks, health_endpoint
from oshaberi.bot.observability.metrics import BotMetrics
from oshaberi.bot.turns.services.turn_services import AnswerTimes
from oshaberi.chunks import ProviderError, Usage
from oshaberi.delivery.config import StreamConfig
from oshaberi.errors import ConfigError
from oshaberi.stream.context import StreamContext
from oshaberi.stream.model_output import ThoughtLog
from oshaberi.stream.provider_protocol import ScriptedProvider
from oshaberi.stream.result import Metrics, StreamResult

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


def checks(
    gateway: Check = lambda: None, ready: Check = lambda: None, **parts: Check
) -> HealthChecks:
    return HealthChecks(gateway, ready, parts)


def watch(
    scenario: Callable[[str], Awaitable[None]], bot_metrics: BotMetrics, problem: str | None
) -> None:
    async def main() -> None:
        async with health_endpoint(bot_metrics, checks(lambda: problem), 0) as url:
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
        assert json.loads(body)["parts"] == {"gateway": problem or "ok"}
        assert (f'"problem": "gateway: {problem}"' in body) is (problem is not None)

    watch(scenario, BotMetrics(), problem)


def test_a_part_that_ails_is_named_and_does_not_change_the_status() -> None:
    async def main() -> None:
        ailing = checks(database=lambda: "is away", models=lambda: None)
        async with health_endpoint(BotMetrics(), ailing, 0) as url:
            status, body = await get(f"{url}/health")
            assert (status, json.loads(body)) == (
                200,
                {
                    "ok": True,
                    "runs_on": "discord",
                    "problem": "database: is away",
                    "parts": {"gateway": "ok", "database": "is away", "models": "ok"},
                },
            )

    asyncio.run(main())


@pytest.mark.parametrize("part", ["gateway", "ready"])
def test_readiness_needs_the_gateway_and_a_process_that_takes_questions(part: str) -> None:
    async def main() -> None:
        async with health_endpoint(BotMetrics(), checks(database=lambda: "is away"), 0) as url:
            assert (await get(f"{url}/ready"))[0] == 200
        async with health_endpoint(BotMetrics(), checks(**{part: lambda: "no"}), 0) as url:
            status, body = await get(f"{url}/ready")
            assert (status, json.loads(body)) == (503, {"ok": False, "problem": "no"})

    asyncio.run(main())


def test_metrics_count_what_happened() -> None:
    bot_metrics = BotMetrics(lambda: 0.25)
    provider = ScriptedProvider(())
    log = ThoughtLog(provider="openai", model="m")
    for _ in range(3):
        assert bot_metrics.opened(provider, StreamConfig(), CONTEXT) is provider
    whole = StreamResult(
        "completed",
        thought_log=log,
        metrics=Metrics(messages=4),
        usage=Usage(10, 20),
    )
    bot_metrics.ended(CONTEXT, whole)
    bot_metrics.note_answer(AnswerTimes(0.4, 0.7, (1.5, 0.5)))
    bot_metrics.note_answer(AnswerTimes())
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
            "oshaberi_first_token_seconds_sum": 0.4,
            "oshaberi_first_message_seconds_count": 1,
            "oshaberi_first_message_seconds_sum": 0.7,
            "oshaberi_channel_wait_seconds_sum": 2,
            "oshaberi_gateway_latency_seconds": 0.25,
        }
        assert {name: found[name] for name in told} == pytest.approx(told)

    watch(scenario, bot_metrics, None)


def test_every_metric_is_documented() -> None:
    known = {family.name for family in families(BotMetrics().text().decode())}
    documented = set(re.findall(r"`((?:oshaberi|process)_\w+)`", DOCS.read_text(encoding="utf-8")))
    made = {name for name in known if not name.endswith("_created")}
    assert {name.removesuffix("_total") for name in documented} == made


def test_a_port_that_is_taken() -> None:
    async def main() -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            async with health_endpoint(BotMetrics(), checks(), taken.getsockname()[1]):
                pytest.fail("it was opened")

    with pytest.raises(ConfigError, match=r"health_port: .* cannot be used"):
        asyncio.run(main())
