"""The tool `current_time`: the time in any time zone."""

from __future__ import annotations

from datetime import tzinfo

from oshaberi.bot.conversation.time_zones import LONGEST_ZONE, near_zones, time_zone
from oshaberi.bot.tools.decorator import tool
from oshaberi.bot.tools.definition import ToolContext, ToolFailedError


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
    zone = time_zone(name)
    if zone is None:
        near = near_zones(name)
        hint = f"; did you mean: {', '.join(near)}?" if near else ""
        raise ToolFailedError(f"there is no time zone {name[:LONGEST_ZONE]!r}{hint}")
    return zone
