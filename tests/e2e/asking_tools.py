"""Tools that ask a person before each use, as the setting `tools` loads them."""

from __future__ import annotations

from oshaberi.bot.tools import tool

USED: list[str] = []
"""What was done."""


@tool(asks="asker")
async def order_tea(kind: str, note: str = "") -> str:
    """Order tea.

    Args:
        kind: Which one.
        note: What the shop should know.
    """
    USED.append(f"tea {kind}{note}")
    return f"Ordered: {kind}."


@tool(asks="manage_server")
async def close_shop() -> str:
    """Close the shop."""
    USED.append("closed")
    return "Closed."


@tool
async def look_outside() -> str:
    """Look outside."""
    USED.append("looked")
    return "It rains."
