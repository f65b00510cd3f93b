"""Gauges of what a process does now."""

from __future__ import annotations

import asyncio
import platform
import sys
import time
from typing import get_args

import discord
from prometheus_client import CollectorRegistry

import oshaberi
from oshaberi.bot.observability.metrics import GAUGES, LAG_SECONDS, BotMetrics, ProcessGauges
from oshaberi.bot.turns.admission.rules import NO_QUESTION, WHY
from oshaberi.chunks import ErrorType
from oshaberi.clocks import loop_time_s
from oshaberi.discord_io import RequestBudget
from oshaberi.stream.result import Status
from oshaberi.virtual_time import run_virtual


def test_a_gauge_reads_its_source() -> None:
    registry = CollectorRegistry()
    gauges = ProcessGauges(registry)
    assert {registry.get_sample_value(name) for name in GAUGES} == {0.0}
    gauges.watch(turns_running=lambda: 3)
    assert registry.get_sample_value("oshaberi_turns_running") == 3


def test_an_idle_loop_has_no_lag() -> None:
    registry = CollectorRegistry()

    async def main() -> None:
        async with ProcessGauges(registry).measuring_lag():
            await asyncio.sleep(LAG_SECONDS * 3)

    run_virtual(main())
    assert registry.get_sample_value("oshaberi_loop_lag_seconds") == 0


def test_a_blocked_loop_lags() -> None:
    registry = CollectorRegistry()

    async def main() -> None:
        async with ProcessGauges(registry).measuring_lag():
            await asyncio.sleep(0)
            time.sleep(LAG_SECONDS + 0.2)
            await asyncio.sleep(0.01)

    asyncio.run(main())
    assert (registry.get_sample_value("oshaberi_loop_lag_seconds") or 0) >= 0.2


def test_a_short_halt_is_still_told_at_the_next_scrape() -> None:
    """Prometheus asks every 15 seconds or so; a lag of one moment would be gone by then."""
    registry = CollectorRegistry()

    async def main() -> None:
        gauges = ProcessGauges(registry)
        async with gauges.measuring_lag():
            gauges._lags.append(0.7)
            await asyncio.sleep(15)
            assert registry.get_sample_value("oshaberi_loop_lag_seconds") == 0.7
            await asyncio.sleep(60)
        assert registry.get_sample_value("oshaberi_loop_lag_seconds") == 0

    run_virtual(main())


def test_versions_memory_and_descriptors_are_told() -> None:
    value = BotMetrics().registry.get_sample_value
    built = {
        "version": oshaberi.__version__,
        "python": platform.python_version(),
        "discord_py": discord.__version__,
    }
    assert value("oshaberi_build_info", built) == 1
    if sys.platform == "linux":
        assert (value("process_resident_memory_bytes") or 0) > 2**20
        assert 0 < (value("process_open_fds") or 0) <= (value("process_max_fds") or 0)


def test_messages_that_are_no_questions_are_not_counted() -> None:
    bot_metrics = BotMetrics()
    for reason in WHY:
        bot_metrics.note_unanswered(reason)
    counted = {
        sample.labels["reason"]: sample.value
        for family in bot_metrics.unanswered.collect()
        for sample in family.samples
    }
    assert counted == dict.fromkeys(WHY.keys() - NO_QUESTION, 1.0)


NEVER_KNOWN = {
    "oshaberi_discord_request_seconds",  # by status: an alert would have to name one
    "oshaberi_tokens",  # by model: those of the settings are there when the bot starts
}


def test_every_known_label_set_is_there_before_its_first_event() -> None:
    """Prometheus sees no increase of a counter that is born with 1."""
    bot_metrics = BotMetrics()
    empty, counted = set(), set()
    for family in bot_metrics.registry.collect():
        samples = [one for one in family.samples if not one.name.endswith(("_created", "_bucket"))]
        if not samples:
            empty.add(family.name)
        elif family.type == "counter" and family.name.startswith("oshaberi"):
            counted |= {one.value for one in samples}
    assert empty == NEVER_KNOWN
    assert counted == {0.0}


def test_label_sets_are_those_that_the_program_can_produce() -> None:
    bot_metrics = BotMetrics()
    bot_metrics.expect_model("of a plug-in", "m")
    value = bot_metrics.registry.get_sample_value
    for kind in get_args(ErrorType):
        labels = {"provider": "of a plug-in", "type": kind}
        assert value("oshaberi_provider_errors_total", labels) == 0
        assert value("oshaberi_provider_errors_total", labels | {"provider": "openai"}) == 0
    for status in get_args(Status):
        assert value("oshaberi_streams_total", {"status": status}) == 0
    for way in ("in", "out", "cached"):
        labels = {"provider": "of a plug-in", "model": "m", "way": way}
        assert value("oshaberi_tokens_total", labels) == 0


def test_requests_that_wait_are_measured() -> None:
    waits: list[float] = []

    async def main() -> None:
        budget = RequestBudget(2)
        budget.on_waited = waits.append
        for _ in range(2):
            await budget.turn()
        assert waits == []
        budget.answered(loop_time_s())
        await budget.turn()
        await budget.close()

    run_virtual(main())
    assert len(waits) == 1
    assert 0.9 < waits[0] < 1.2


def test_calls_of_the_database_are_measured() -> None:
    bot_metrics = BotMetrics()
    meter = bot_metrics.database_meter()
    meter.on_call("call", 0.01)
    meter.on_call("commit", 1.5)
    meter.on_fault("silent")
    value = bot_metrics.registry.get_sample_value
    assert value("oshaberi_database_call_seconds_count", {"kind": "call"}) == 1
    assert value("oshaberi_database_call_seconds_sum", {"kind": "commit"}) == 1.5
    assert value("oshaberi_database_faults_total", {"kind": "silent"}) == 1
