"""The tool `current_time`: the time in any time zone."""

from __future__ import annotations

import difflib
from datetime import UTC, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from oshaberi.bot.tools.decorator import tool
from oshaberi.bot.tools.definition import ToolContext, ToolFailedError

_LONGEST_NAME = 40


@tool
async def current_time(context: ToolContext, timezone: str = "UTC") -> str:
    """Tell the date and the time now.

    Args:
        timezone: A name such as Europe/Berlin or Asia/Tokyo.
    """
    now = context.now().astimezone(_zone(timezone.strip()))
    stamp = int(now.timestamp())
    shown = now.strftime("%A, %Y-%m-%d %H:%M:%S %Z (UTC%z)")
    return f"{shown}. In a message, <t:{stamp}:F> shows it in every reader's own time."


def _zone(name: str) -> tzinfo:
    if name.upper() == "UTC":
        return UTC  # known even where no time zones are installed
    try:
        return ZoneInfo(name[:_LONGEST_NAME])
    except (ZoneInfoNotFoundError, ValueError, OSError):
        names = sorted(available_timezones())
        near = difflib.get_close_matches(name[:_LONGEST_NAME], names, n=3, cutoff=0.5)
        hint = f"; did you mean: {', '.join(near)}?" if near else ""
        raise ToolFailedError(f"there is no time zone {name[:_LONGEST_NAME]!r}{hint}") from None
