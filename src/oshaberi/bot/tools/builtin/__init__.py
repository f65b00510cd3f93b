"""The tools that every bot has, one file per subject."""

from __future__ import annotations

from oshaberi.bot.tools.definition import Tool


def builtin_tools() -> tuple[Tool, ...]:
    """Return all built-in tools. A turn may use only those that its context allows."""
    from oshaberi.bot.tools.builtin.clock import current_time
    from oshaberi.bot.tools.builtin.memory import forget, list_memories, remember
    from oshaberi.bot.tools.builtin.messages import (
        react,
        recent_messages,
        reply_to_message,
        stay_silent,
    )
    from oshaberi.bot.tools.builtin.people import server_info, user_info
    from oshaberi.bot.tools.builtin.schedule import schedule
    from oshaberi.bot.tools.builtin.web import read_web_page

    return (
        remember,
        forget,
        list_memories,
        recent_messages,
        react,
        reply_to_message,
        stay_silent,
        server_info,
        user_info,
        current_time,
        schedule,
        read_web_page,
    )
