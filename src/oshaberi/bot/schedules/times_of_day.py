"""Reads a time of day from the words of a written time: `9:30`, `half past nine`, `noon`."""

from __future__ import annotations

import re
import unicodedata
from datetime import time

from oshaberi.bot.schedules.time_words import (
    CLOCK,
    HOUR,
    NOT_UNDERSTOOD,
    NUMBER,
    NUMBERS,
    PARTS_OF_DAY,
    WrittenTimeError,
    words_of_time,
)

LONGEST_SHOWN = 40
_AROUND = re.compile(r"^(?:it(?: is|'s|’s) )|(?: for me| here| now)+$")
_HALF = re.compile(r"[ap]m\b|[ap]\.m|^0|午前|午後")


def clock_time(text: str) -> tuple[time, bool] | None:
    """Return what a clock shows (`21:30`, `it is 9 pm for me`); None if the text is something else.

    Also returns whether it is clear which half of the day is meant.
    """
    plain = " ".join(unicodedata.normalize("NFKC", text[:LONGEST_SHOWN]).casefold().split())
    plain = _AROUND.sub("", plain)
    reader = ClockReader(plain)
    try:
        at = reader.whole_time()
    except WrittenTimeError:
        return None
    if at is None:
        return None
    named = any(part in plain.split() for part in PARTS_OF_DAY)
    return at, not 1 <= at.hour <= 12 or named or _HALF.search(plain) is not None


_AFTER_AN_HOUR = ("", "am", "pm", "in", "on", "every", "tomorrow", "today", "tonight")


class ClockReader:
    """Reads words from the left, and removes what it has read."""

    def __init__(self, plain: str) -> None:
        self._words = words_of_time(plain)

    def whole_time(self) -> time | None:
        """Return the time of day that all of the words say; None if they say something else."""
        at = self._time_of_day_or_none()
        return None if self._words else at

    def _next(self, ahead: int = 0) -> str:
        return self._words[ahead] if ahead < len(self._words) else ""

    def _take(self, *fitting: str) -> str:
        """Take the next word if it is one of these. Return it, or an empty text."""
        return self._words.pop(0) if self._words and self._words[0] in fitting else ""

    def _skip(self, *words: str) -> None:
        while self._take(*words):
            pass

    def _end(self) -> None:
        if self._words:
            raise WrittenTimeError(NOT_UNDERSTOOD)

    def _number(self) -> int | None:
        word = self._next()
        if NUMBER.fullmatch(word):
            return int(self._words.pop(0))
        if word in NUMBERS:
            return NUMBERS[self._words.pop(0)]
        return None

    def _time_of_day(self) -> time:
        at = self._time_of_day_or_none()
        if at is None:
            raise WrittenTimeError(NOT_UNDERSTOOD)
        return at

    def _time_of_day_or_none(self) -> time | None:
        """Read `9`, `9:30`, `9 pm`, `half past nine`, `noon`, `nine in the evening`."""
        kept = list(self._words)
        had_at = bool(self._take("at", "@", "by"))
        half = self._take("am-before", "pm-before")[:2]
        at = self._clock(alone=had_at or bool(half))
        if at is None:
            self._skip("in", "the", "this")
            part = self._take(*PARTS_OF_DAY)
            if not part:
                self._words = kept
                return None
            at = self._time_of_day_or_none() if self._words else None
            return PARTS_OF_DAY[part] if at is None else _in_part(at, part)
        half = self._take("am", "pm") or half
        if half:
            return _with_half(at, half)
        return self._with_part(at)

    def _with_part(self, at: time) -> time:
        kept = list(self._words)
        self._skip("in", "the", "this", "at")
        is_tomorrow = self._next(1) in PARTS_OF_DAY and bool(self._take("tomorrow"))
        part = self._take(*PARTS_OF_DAY)
        if not part:
            self._words = kept
            return at
        if is_tomorrow:
            self._words.insert(0, "tomorrow")
        return _in_part(at, part)

    def _clock(self, *, alone: bool) -> time | None:
        """Read what a clock shows. A bare number needs `at` before it, or nothing after it."""
        if (spoken := self._spoken()) is not None:
            return spoken
        word = self._next()
        if (found := CLOCK.fullmatch(word)) is not None:
            self._words.pop(0)
            return _with_half(_as_time(int(found[1]), int(found[2])), found[3] or "")
        found = HOUR.fullmatch(word)
        number = int(found[1]) if found is not None else NUMBERS.get(word)
        if number is None:
            return None
        half = (found[2] if found is not None else "") or ""
        rest = self._next(1)
        if not (alone or half or rest in _AFTER_AN_HOUR):
            return None
        if not half and rest == "in" and self._next(2) != "the":
            return None
        self._words.pop(0)
        minute = NUMBERS.get(self._next(), 0) if self._next() in NUMBERS and not half else 0
        if minute:
            self._words.pop(0)
        return _with_half(_as_time(number, minute), half)

    def _spoken(self) -> time | None:
        """Read `half past nine`, `quarter to 9`, `ten past nine`."""
        direction = next((n for n in (1, 2) if self._next(n) in ("past", "to")), 0)
        first = self._next(direction - 1) if direction else ""
        minutes = {"half": 30, "quarter": 15}.get(first) or _small_number(first)
        hour = _small_number(self._next(direction + 1)) if direction else None
        if not minutes or hour is None or minutes > 59 or hour > 24:
            return None
        if direction == 2 and self._next() != "a":
            return None
        is_past = self._next(direction) == "past"
        del self._words[: direction + 2]
        total = hour * 60 + (minutes if is_past else -minutes)
        return _as_time(total // 60 % 24, total % 60)


def _small_number(word: str) -> int | None:
    if NUMBER.fullmatch(word):
        return int(word)
    return NUMBERS.get(word)


def _as_time(hour: int, minute: int) -> time:
    if hour == 24 and minute == 0:
        hour = 0
    if hour > 23 or minute > 59:
        raise WrittenTimeError(NOT_UNDERSTOOD)
    return time(hour, minute)


def _with_half(at: time, half: str) -> time:
    if not half:
        return at
    if not 1 <= at.hour <= 12:
        if at.hour == 0 or half == "pm":
            return at
        raise WrittenTimeError(NOT_UNDERSTOOD)
    return at.replace(hour=at.hour % 12 + (12 if half == "pm" else 0))


def _in_part(at: time, part: str) -> time:
    """Return a time in a part of the day: nine in the evening is 21:00."""
    is_late = part in ("afternoon", "evening", "night", "tonight")
    return at.replace(hour=at.hour + 12) if is_late and 1 <= at.hour < 12 else at
