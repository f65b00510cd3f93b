"""Times as people write them: understood as they were meant, or not at all."""

from __future__ import annotations

import time
from contextlib import suppress
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from oshaberi.bot.schedules.cron_fields import CronError
from oshaberi.bot.schedules.time_words import WrittenTimeError
from oshaberi.bot.schedules.written_times import LONGEST, written_time
from oshaberi.bot.schedules.zones import as_local, as_utc

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 19, 9, 0, tzinfo=UTC)  # a Thursday, ten o'clock in Berlin


def shown(text: str, now: datetime = NOW) -> str:
    return as_local(written_time(text, now, BERLIN).first, BERLIN).strftime("%a %Y-%m-%d %H:%M")


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("tomorrow at nine", "Fri 2026-11-20 09:00"),
        ("Remind me tomorrow at 9", "Fri 2026-11-20 09:00"),
        ("tomorrow", "Fri 2026-11-20 09:00"),
        ("tomorrow noon", "Fri 2026-11-20 12:00"),
        ("at 9 tomorrow morning", "Fri 2026-11-20 09:00"),
        ("half past nine tomorrow", "Fri 2026-11-20 09:30"),
        ("quarter to nine tomorrow", "Fri 2026-11-20 08:45"),
        ("day after tomorrow at 7.30", "Sat 2026-11-21 07:30"),
        ("tonight", "Thu 2026-11-19 20:00"),
        ("tonight at nine", "Thu 2026-11-19 21:00"),
        ("nine in the evening", "Thu 2026-11-19 21:00"),
        ("at 9", "Fri 2026-11-20 09:00"),
        ("18:00", "Thu 2026-11-19 18:00"),
        ("6 p.m.", "Thu 2026-11-19 18:00"),
        ("12am", "Fri 2026-11-20 00:00"),
        ("12pm", "Thu 2026-11-19 12:00"),
        ("midnight", "Fri 2026-11-20 00:00"),
        ("in 20 minutes", "Thu 2026-11-19 10:20"),
        ("in 1h30m", "Thu 2026-11-19 11:30"),
        ("in half an hour", "Thu 2026-11-19 10:30"),
        ("in a day and 3 hours", "Fri 2026-11-20 13:00"),
        ("in 3 days at 9", "Sun 2026-11-22 09:00"),
        ("in 2 months", "Tue 2027-01-19 10:00"),
        ("monday at 9", "Mon 2026-11-23 09:00"),
        ("9 on monday", "Mon 2026-11-23 09:00"),
        ("thursday at 11", "Thu 2026-11-19 11:00"),
        ("thursday at 9", "Thu 2026-11-26 09:00"),
        ("next thursday at 11", "Thu 2026-11-26 11:00"),
        ("next week on tuesday at 8", "Tue 2026-11-24 08:00"),
        ("the 31st at noon", "Thu 2026-12-31 12:00"),
        ("24 Dec 6pm", "Thu 2026-12-24 18:00"),
        ("December 24th at 18:00", "Thu 2026-12-24 18:00"),
        ("24th of december 2027 18:00", "Fri 2027-12-24 18:00"),
        ("24.12. 18:00", "Thu 2026-12-24 18:00"),
        ("29 feb", "Tue 2028-02-29 09:00"),
        ("2026-12-24 18:00", "Thu 2026-12-24 18:00"),
        ("2026-12-24T18:00:00", "Thu 2026-12-24 18:00"),
        ("<t:1800000000:R>", "Fri 2027-01-15 09:00"),
        ("every monday at 17:30", "Mon 2026-11-23 17:30"),
        ("every morning", "Fri 2026-11-20 09:00"),
        ("at 9 every day", "Fri 2026-11-20 09:00"),
        ("on the 31st of each month at 9", "Mon 2026-11-30 09:00"),
        ("last day of every month at 18:00", "Mon 2026-11-30 18:00"),
        ("*/15 * * * *", "Thu 2026-11-19 10:15"),
        ("cron 0 9 * * mon", "Mon 2026-11-23 09:00"),
        ("明日の9時", "Fri 2026-11-20 09:00"),
        ("明日の午後３時半", "Fri 2026-11-20 15:30"),
        ("20分後", "Thu 2026-11-19 10:20"),
        ("１時間後", "Thu 2026-11-19 11:00"),
        ("来週の月曜日に9時", "Mon 2026-11-23 09:00"),
        ("12月24日18時", "Thu 2026-12-24 18:00"),
        ("毎週月曜9時", "Mon 2026-11-23 09:00"),
        ("毎月31日9時", "Mon 2026-11-30 09:00"),
        ("毎朝", "Fri 2026-11-20 09:00"),
    ],
)
def test_it_is_what_its_author_means(text: str, first: str) -> None:
    assert shown(text) == first


@pytest.mark.parametrize(
    "text",
    [
        *("", "in", "at", "the", "yesterday", "soon", "every", "every blue moon", "at 25:00"),
        *("31 feb", "in 0 minutes", "every 0 days", "every 1001 days", "today at 9", "2020-01-01"),
        *("12/11 at 9", "monday at 9 or 10", "every monday say hello", "13am", "in -5 minutes"),
        *("in 99999999999999 years", "in 999999 years", "every month on the 32nd", "<t:0>"),
        *(
            "in 9 hours at 9",
            "9 9 9",
            "tomorrow tomorrow",
            "next",
            "half past",
            "1.13.",
            "0 9 32 * *",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused(text: str) -> None:
    with pytest.raises((WrittenTimeError, CronError)):
        written_time(text, NOW, BERLIN)


@pytest.mark.parametrize(
    "line",
    [
        *("0 0 30 2 *", "0 9 * *", "* * * * * *", "60 * * * *", "*/0 * * * *", "5-1 * * * *"),
        *("*-5 * * * *", "0 9 * * 1#6", "0 9 * * 8", "0 9 * 13 *", "0 9 0 * *", "1,,2 * * * *"),
    ],
)
def test_a_crontab_line_that_never_happens_is_refused(line: str) -> None:
    with pytest.raises((WrittenTimeError, CronError)):
        written_time(f"cron {line}", NOW, BERLIN)


def test_a_gap_of_the_clocks() -> None:
    before = datetime(2027, 3, 27, 12, 0, tzinfo=UTC)
    assert shown("tomorrow at 2:30", before) == "Sun 2027-03-28 03:30"
    assert shown("in 1 day", before) == "Sun 2027-03-28 13:00", "by the clocks"
    assert shown("in 24 hours", before) == "Sun 2027-03-28 14:00", "as time passes"
    twice = datetime(2027, 10, 31, 2, 30)
    assert (as_utc(twice, BERLIN, later=True) - as_utc(twice, BERLIN)).total_seconds() == 3600


@pytest.mark.parametrize(
    "piece",
    [
        *(
            "1",
            "in ",
            "1 day ",
            "9:",
            "/",
            "monday ",
            "あ",
            "毎月",
            "١",
            "every ",
            "half past ",
            "*,",
        ),
        *(
            "1-",
            "a ",
            "9 pm ",
            "the ",
            "next ",
            "\u200b",
            "🧨",
            "1h",
            "at ",
            "every 2 ",
            "* ",
            "half past ",
        ),
    ],
)
def test_hostile_texts_cost_nothing(piece: str) -> None:
    began = time.perf_counter()
    for text in (piece * (LONGEST // len(piece)), piece * 10_000, piece * 3 + "tomorrow at 9"):
        with suppress(WrittenTimeError, CronError):
            written_time(text, NOW, BERLIN)
    assert time.perf_counter() - began < 0.5
