"""Many channels ask at once while Discord's limits are in force."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from bench.whole_bot.limited_crowd import CrowdReport, run_crowd
from bench.whole_bot.numbered_answers import AnswerFaults

GOOD = CrowdReport(10, 10, AnswerFaults(), 20, 1000, 9, 3.0)


def test_what_is_good() -> None:
    assert GOOD.is_good
    assert not replace(GOOD, answered=9).is_good
    assert not replace(GOOD, refused=10).is_good
    assert not replace(GOOD, faults=AnswerFaults(lost=1)).is_good
    assert "9 of 1000 requests refused (0.90%)" in str(GOOD)


@pytest.mark.slow
def test_a_small_crowd_is_answered(tmp_path: Path) -> None:
    report = asyncio.run(run_crowd(12, 8, tmp_path))
    assert report.is_good, report


@pytest.mark.slow
def test_five_hundred_channels_are_answered_and_next_to_nothing_is_refused(tmp_path: Path) -> None:
    report = asyncio.run(run_crowd(500, 4, tmp_path))
    assert report.is_good, report
