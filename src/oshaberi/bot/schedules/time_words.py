"""The words of written times, in English and Japanese: numbers, units, days, months, clocks."""

from __future__ import annotations

import re
from datetime import time

from oshaberi.bot.schedules.recurrence import Unit
from oshaberi.errors import OshaberiError, Sentence


class WrittenTimeError(OshaberiError):
    """A text cannot be read as a time. The message shows how to write one."""


NOT_UNDERSTOOD = Sentence(
    "I do not understand that time. Write for example `in 20 minutes`, `tomorrow at 9`, "
    "`24 Dec 18:00`, `2026-12-24 18:00`, `every monday at 17:30`, `every month on the 31st at 9` "
    "or a crontab line."
)


# Japanese is rewritten as English words first: the order of its parts is the same.

_WEEKDAYS_JA = dict(
    zip("月火水木金土日", ("mon", "tue", "wed", "thu", "fri", "sat", "sun"), strict=True)
)
_JAPANESE = (
    (re.compile(r"(\d{4})年(\d{1,2})月(\d{1,2})日"), r" \1-\2-\3 "),
    (re.compile(r"毎年(\d{1,2})月(\d{1,2})日"), r" every year month\1 \2 "),
    (re.compile(r"(\d{1,2})月(\d{1,2})日"), r" month\1 \2 "),
    (re.compile(r"(?:毎月)(\d{1,2})日"), r" every month on the \1th "),
    (re.compile(r"午前"), " am-before "),
    (re.compile(r"午後"), " pm-before "),
    (re.compile(r"(\d{1,2})時半"), r" \1:30 "),
    (re.compile(r"(\d{1,2})時(\d{1,2})分(?!後|おき|ごと)"), r" \1:\2 "),
    (re.compile(r"(\d{1,2})時(?!間)"), r" \1:00 "),
    (re.compile(r"(\d{1,4})分後"), r" in \1 minutes "),
    (re.compile(r"(\d{1,4})時間後"), r" in \1 hours "),
    (re.compile(r"(\d{1,4})日後"), r" in \1 days "),
    (re.compile(r"(\d{1,4})週間後"), r" in \1 weeks "),
    (re.compile(r"(\d{1,4})分(?:おき|ごと)に?"), r" every \1 minutes "),
    (re.compile(r"(\d{1,4})時間(?:おき|ごと)に?"), r" every \1 hours "),
    (re.compile(r"毎週([月火水木金土日])曜日?"), lambda found: f" every {_WEEKDAYS_JA[found[1]]} "),
    (re.compile(r"([月火水木金土日])曜日?"), lambda found: f" {_WEEKDAYS_JA[found[1]]} "),
    (re.compile(r"平日"), " every weekday "),
    (re.compile(r"毎日"), " every day "),
    (re.compile(r"毎朝"), " every morning "),
    (re.compile(r"毎晩"), " every evening "),
    (re.compile(r"毎時"), " every hour "),
    (re.compile(r"明後日|あさって"), " day-after-tomorrow "),
    (re.compile(r"明日|あした|あす"), " tomorrow "),
    (re.compile(r"今日|きょう"), " today "),
    (re.compile(r"今夜|今晩"), " tonight "),
    (re.compile(r"来週"), " next week "),
    (re.compile(r"来月"), " next month "),
    (re.compile(r"正午"), " noon "),
    (re.compile(r"[のにで、]"), " "),
)

NUMBERS = {
    word: number
    for number, word in enumerate(
        (
            *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"),
            *("ten", "eleven", "twelve"),
        )
    )
} | {"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "fifteen": 15}
MONTH_NAMES = {
    name: number
    for number, names in enumerate(
        (
            ("jan", "january"),
            ("feb", "february"),
            ("mar", "march"),
            ("apr", "april"),
            ("may",),
            ("jun", "june"),
            ("jul", "july"),
            ("aug", "august"),
            ("sep", "sept", "september"),
            ("oct", "october"),
            ("nov", "november"),
            ("dec", "december"),
        ),
        1,
    )
    for name in names
} | {f"month{number}": number for number in range(1, 13)}
WEEKDAY_NAMES = {
    name: number
    for number, names in enumerate(
        (
            ("mon", "monday"),
            ("tue", "tues", "tuesday"),
            ("wed", "wednesday"),
            ("thu", "thur", "thurs", "thursday"),
            ("fri", "friday"),
            ("sat", "saturday"),
            ("sun", "sunday"),
        ),
        1,
    )
    for name in (*names, f"{names[-1]}s")
}
_UNIT_NAMES: tuple[tuple[tuple[str, ...], tuple[Unit, int]], ...] = (
    (("m", "min", "mins", "minute", "minutes"), ("minute", 1)),
    (("h", "hr", "hrs", "hour", "hours"), ("hour", 1)),
    (("d", "day", "days"), ("day", 1)),
    (("w", "week", "weeks"), ("week", 1)),
    (("fortnight", "fortnights"), ("week", 2)),
    (("month", "months"), ("month", 1)),
    (("year", "years"), ("year", 1)),
)
UNITS = {name: unit for names, unit in _UNIT_NAMES for name in names}
ADVERBS: dict[str, tuple[Unit, int]] = {
    "hourly": ("hour", 1),
    "daily": ("day", 1),
    "weekly": ("week", 1),
    "fortnightly": ("week", 2),
    "monthly": ("month", 1),
    "yearly": ("year", 1),
    "annually": ("year", 1),
}
PARTS_OF_DAY = {
    "morning": time(9),
    "noon": time(12),
    "midday": time(12),
    "afternoon": time(15),
    "evening": time(19),
    "night": time(21),
    "tonight": time(20),
    "midnight": time(0),
}
_HOURS_MINUTES = re.compile(r"\b(\d{1,4})h(\d{1,2})(?:m|min)?\b", re.ASCII)
CLOCK = re.compile(r"(\d{1,2})[:.](\d{2})(?::\d{2})?(am|pm)?", re.ASCII)
HOUR = re.compile(r"(\d{1,2})(am|pm)?", re.ASCII)
ISO = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})", re.ASCII)
DOTTED = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})?", re.ASCII)
ORDINAL = re.compile(r"(\d{1,2})(?:st|nd|rd|th)", re.ASCII)
NUMBER = re.compile(r"\d{1,6}", re.ASCII)


def words_of_time(plain: str) -> list[str]:
    """Return the words of a text, with Japanese in English, and `9 a.m.` as `9 am`."""
    for pattern, instead in _JAPANESE:
        plain = pattern.sub(instead, plain)
    plain = re.sub(r"\b([ap])\.m\.?", r"\1m", plain)
    plain = re.sub(r"(\d{4}-\d{1,2}-\d{1,2})t(?=\d)", r"\1 ", plain)
    plain = _HOURS_MINUTES.sub(r"\1 hours \2 minutes", plain)
    plain = re.sub(
        r"(\d)(?=(?:min|mins|minutes?|hrs?|hours?|days?|weeks?|[hmdw])\b)", r"\1 ", plain
    )
    plain = plain.replace("o'clock", " ").replace("o’clock", " ").replace(",", " ")
    plain = plain.replace("day after tomorrow", "day-after-tomorrow")
    return plain.split()
