"""An outage is two lines of the log and a count every minute, whatever fails meanwhile."""

from __future__ import annotations

import asyncio
import io
import json
import logging
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from oshaberi.bot.logs import setup
from oshaberi.bot.logs.log_lines import _Handler
from oshaberi.bot.logs.recent_warnings import RecentWarnings
from oshaberi.outage_log import COUNT_SECONDS, OutageLog, errors_in
from oshaberi.virtual_time import run_virtual

log = logging.getLogger("oshaberi.tests")


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    ours, root = logging.getLogger("oshaberi"), logging.getLogger()
    level = ours.level
    yield
    ours.setLevel(level)
    for handler in [one for one in root.handlers if isinstance(one, _Handler)]:
        root.removeHandler(handler)


def told(scenario: Callable[[OutageLog], Awaitable[None]], **options: Any) -> list[dict[str, Any]]:
    out = io.StringIO()
    setup("info", "json", out)

    async def main() -> None:
        outage = OutageLog("it", "it", log, _is_timeout, **options)
        await scenario(outage)
        outage.close()

    run_virtual(main())
    return [json.loads(line) for line in out.getvalue().splitlines()]


def _is_timeout(record: logging.LogRecord) -> bool:
    return any(isinstance(one, TimeoutError) for one in errors_in(record))


def short(lines: list[dict[str, Any]]) -> list[tuple[str, object, object]]:
    return [(one["message"], one.get("seconds"), one.get("failures")) for one in lines]


def test_two_lines_and_a_count_every_minute() -> None:
    async def scenario(outage: OutageLog) -> None:
        outage.begins("no answer", "others go on")
        for _ in range(130):
            log.warning("a call failed: %s", TimeoutError("no"))
            await asyncio.sleep(1)
        outage.ends()
        log.warning("a call failed: %s", TimeoutError("no"))

    assert short(told(scenario)) == [
        ("it is away (no answer): others go on", None, None),
        ("it is still away", 60.0, 60),
        ("it is still away", 120.0, 60),
        ("it answers again", 130.0, 131),
        ("a call failed: no", None, None),
    ]


def test_what_it_does_not_explain_is_told() -> None:
    async def scenario(outage: OutageLog) -> None:
        outage.begins("no answer")
        log.warning("a call failed: %s", ValueError("no"))
        log.warning("nothing to do with it")

    assert len(told(scenario)) == 3


def test_several_notice_it_and_it_ends_with_the_last() -> None:
    async def scenario(outage: OutageLog) -> None:
        outage.begins("first", by=1)
        outage.begins("second", by=2)
        outage.ends(by=1)
        assert outage.is_on
        outage.ends(by=2)
        assert not outage.is_on
        outage.ends(by=3)

    assert [one["message"] for one in told(scenario)] == ["it is away (first)", "it answers again"]


def test_one_that_comes_and_goes_is_told_once_a_minute() -> None:
    async def scenario(outage: OutageLog) -> None:
        for _ in range(100):
            outage.begins("no answer")
            await asyncio.sleep(0.5)
            outage.ends()
            await asyncio.sleep(0.5)

    assert len(told(scenario)) == 4


def test_a_short_one_after_another_that_lasts_is_told_in_the_end() -> None:
    async def scenario(outage: OutageLog) -> None:
        outage.begins("no answer")
        outage.ends()
        outage.begins("no answer")
        await asyncio.sleep(COUNT_SECONDS + 1)
        outage.ends()

    assert [one["message"] for one in told(scenario)][2:] == [
        "it is still away",
        "it answers again",
    ]


def test_a_record_can_be_the_first_to_notice_it() -> None:
    async def scenario(outage: OutageLog) -> None:
        log.warning("a call failed: %s", TimeoutError("no answer"))
        log.warning("a call failed: %s", TimeoutError("no answer"))
        outage.over()

    lines = told(scenario, is_noticed_by_records=True)
    assert [one["message"] for one in lines] == ["it is away (no answer)", "it answers again"]
    assert lines[-1]["failures"] == 2


def test_every_handler_leaves_a_record_out_and_it_is_counted_once() -> None:
    warnings = RecentWarnings()

    async def scenario(outage: OutageLog) -> None:
        with warnings.listening():
            outage.begins("no answer")
            log.warning("a call failed: %s", TimeoutError("no"))
        outage.ends()

    assert told(scenario)[-1]["failures"] == 2
    assert [one.text for one in warnings.newest_first()] == ["it is away (no answer)"]
