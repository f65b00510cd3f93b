"""Time zones by name, and suggestions for a misspelt one."""

from __future__ import annotations

import difflib
from datetime import UTC, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

LONGEST_ZONE = 40


def time_zone(name: str) -> tzinfo | None:
    """Return a time zone such as `Asia/Tokyo`; None if the name is unknown."""
    name = name.strip()[:LONGEST_ZONE]
    if name.upper() == "UTC":
        return UTC  # known even where no time zones are installed
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


@lru_cache(maxsize=1)
def zone_names() -> tuple[str, ...]:
    """Return the names of all time zones that are installed."""
    return tuple(sorted(available_timezones()))


def near_zones(name: str) -> list[str]:
    """Return up to three names that were probably meant."""
    return difflib.get_close_matches(name[:LONGEST_ZONE], zone_names(), n=3, cutoff=0.5)
