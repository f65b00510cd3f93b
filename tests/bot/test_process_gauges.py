"""Gauges of what a process does now."""

from __future__ import annotations

import asyncio
import time

from prometheus_client import CollectorRegistry

from oshaberi.bot.observability.metrics import BotMetrics
from oshaberi.bot.observability.process_gauges import GAUGES, LAG_SECONDS, ProcessGauges
from oshaberi.discord_io import RequestBudget
from oshaberi.turns.admission.answer_reasons import NO_QUESTION, WHY
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


def test_messages_that_are_no_questions_are_not_counted() -> None:
    bot_metrics = BotMetrics()
    for reason in WHY:
        bot_metrics.note_unanswered(reason)
    counted = {
        sample.labels["reason"]
        for family in bot_metrics.unanswered.collect()
        for sample in family.samples
    }
    assert counted == WHY.keys() - NO_QUESTION


def test_requests_that_wait_are_measured() -> None:
    waits: list[float] = []

    async def main() -> None:
        budget = RequestBudget(2)
        budget.on_waited = waits.append
        for _ in range(2):
            await budget.turn()
        assert waits == []
        budget.answered()
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
