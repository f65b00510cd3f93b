"""The tools that every bot has, one file per subject."""

from __future__ import annotations

from dataclasses import replace

from oshaberi.bot.tools.definition import BUILT_IN, Tool


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
    from oshaberi.bot.tools.builtin.server import search_messages, server_events
    from oshaberi.bot.tools.builtin.web import read_web_page

    tools = (
        remember,
        forget,
        list_memories,
        recent_messages,
        react,
        reply_to_message,
        stay_silent,
        server_info,
        user_info,
        server_events,
        search_messages,
        current_time,
        schedule,
        read_web_page,
    )
    return tuple(replace(one, source=BUILT_IN) for one in tools)
