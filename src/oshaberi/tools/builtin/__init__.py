"""The tools that every bot has, one file each."""

from __future__ import annotations

from oshaberi.tools.tool_definition import Tool


def builtin_tools() -> tuple[Tool, ...]:
    """Return all built-in tools. A turn may use only those that its context allows."""
    from oshaberi.tools.builtin.current_time import current_time
    from oshaberi.tools.builtin.forget import forget
    from oshaberi.tools.builtin.list_memories import list_memories
    from oshaberi.tools.builtin.react import react
    from oshaberi.tools.builtin.read_web_page import read_web_page
    from oshaberi.tools.builtin.recent_messages import recent_messages
    from oshaberi.tools.builtin.remember import remember
    from oshaberi.tools.builtin.reply_to_message import reply_to_message
    from oshaberi.tools.builtin.server_info import server_info
    from oshaberi.tools.builtin.stay_silent import stay_silent
    from oshaberi.tools.builtin.user_info import user_info

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
        read_web_page,
    )
