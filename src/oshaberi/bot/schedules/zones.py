"""Time zones: by their name, by an offset, and by the time that somebody's clock shows."""

from __future__ import annotations

import difflib
import re
from datetime import UTC, datetime, time, timedelta, timezone, tzinfo
from functools import cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from oshaberi.errors import OshaberiError, Sentence

LONGEST_NAME = 40
_OFFSET = re.compile(r"(?:UTC|GMT)?\s*([+-])(\d{1,2})(?::?([0-5]\d))?", re.ASCII | re.IGNORECASE)
_WIDEST = timedelta(hours=14)
NEAR = timedelta(minutes=8)
"""How wrong a clock may be, or how old the time that it showed."""
WELL_KNOWN = (
    *("Europe/London", "Europe/Berlin", "Europe/Paris", "Europe/Madrid", "Europe/Athens"),
    *("Europe/Moscow", "Africa/Cairo", "Africa/Lagos", "Africa/Johannesburg", "Africa/Nairobi"),
    *("America/New_York", "America/Chicago", "America/Denver", "America/Los_Angeles"),
    *("America/Phoenix", "America/Anchorage", "America/Halifax", "America/St_Johns"),
    *(
        "America/Sao_Paulo",
        "America/Argentina/Buenos_Aires",
        "America/Bogota",
        "America/Mexico_City",
    ),
    *("Asia/Tokyo", "Asia/Seoul", "Asia/Shanghai", "Asia/Singapore", "Asia/Jakarta", "Asia/Manila"),
    *(
        "Asia/Bangkok",
        "Asia/Kolkata",
        "Asia/Kathmandu",
        "Asia/Karachi",
        "Asia/Dubai",
        "Asia/Tehran",
    ),
    *("Australia/Sydney", "Australia/Adelaide", "Australia/Perth", "Pacific/Auckland"),
    *("Pacific/Honolulu", "Atlantic/Azores", "Asia/Dhaka", "Asia/Yangon", "Asia/Tashkent"),
)
"""Zones that are suggested first, before others with the same time."""


class ZoneError(OshaberiError):
    """There is no such time zone. The message suggests similar ones."""


@cache
def zone_names() -> tuple[str, ...]:
    """Return the names of all places, without the abbreviations in the time zone database."""
    names = available_timezones()
    return ("UTC", *sorted(one for one in names if "/" in one and not one.startswith("Etc/")))


@cache
def _by_key() -> dict[str, str]:
    return {name.casefold(): name for name in zone_names()}


def zone_name(text: str) -> str:
    """Return the name of a zone as it is stored: `Europe/Berlin`, `UTC`, `UTC+05:30`.

    A city is enough, and case does not matter. Raises ZoneError.
    """
    text = " ".join(text[:LONGEST_NAME].split())
    key = text.casefold().replace(" ", "_")
    if key in _by_key():
        return _by_key()[key]
    if (offset := _offset(text)) is not None:
        return str(timezone(offset))
    cities = [name for known, name in _by_key().items() if known.rpartition("/")[2] == key]
    if len(cities) == 1:
        return cities[0]
    near = cities or difflib.get_close_matches(text.title(), zone_names(), n=3, cutoff=0.5)
    if near:
        raise ZoneError(
            Sentence(
                "There is no time zone {name}. Did you mean {near}?",
                name=repr(text),
                near=", ".join(near[:3]),
            )
        )
    raise ZoneError(
        Sentence(
            "There is no time zone {name}. Write a place such as `Europe/Berlin`, or `UTC+2`.",
            name=repr(text),
        )
    )


def zone_of(name: str) -> tzinfo:
    """Return the zone of a stored name; UTC if this machine no longer knows it."""
    offset = _offset(name)
    if offset is not None:
        return timezone(offset)
    if name == "UTC" or name not in zone_names():
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return UTC


def _offset(text: str) -> timedelta | None:
    found = _OFFSET.fullmatch(text)
    if found is None:
        return None
    ahead = timedelta(hours=int(found[2]), minutes=int(found[3] or 0))
    if ahead > _WIDEST:
        return None
    return ahead if found[1] == "+" else -ahead


def zones_at(shown: time, now: datetime) -> tuple[str, ...]:
    """Return the zones in which clocks show this time now, well-known ones first."""
    fitting = [name for name in zone_names() if _shows(name, shown, now)]
    known = [name for name in WELL_KNOWN if name in fitting]
    return (*known, *(name for name in fitting if name not in known))


def _shows(name: str, shown: time, now: datetime) -> bool:
    there = now.astimezone(zone_of(name))
    asked = there.replace(hour=shown.hour, minute=shown.minute, second=0, microsecond=0)
    apart = abs(asked.replace(tzinfo=None) - there.replace(tzinfo=None))
    return min(apart, timedelta(days=1) - apart) <= NEAR


def as_utc(local: datetime, zone: tzinfo, *, later: bool = False) -> datetime:
    """Return the moment at which clocks there show this time.

    A time that clocks skip counts as the one an hour later. A time that they show twice is the
    first, or with `later` the second.
    """
    return local.replace(tzinfo=zone, fold=1 if later else 0).astimezone(UTC)


def as_local(moment: datetime, zone: tzinfo) -> datetime:
    """Return the local time there, without a zone."""
    return moment.astimezone(zone).replace(tzinfo=None, fold=0)
