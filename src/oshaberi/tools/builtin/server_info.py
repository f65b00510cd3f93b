"""The tool `server_info`: the server and channel of the conversation."""

from __future__ import annotations

from oshaberi.text.atoms import CUSTOM_EMOJI
from oshaberi.tools.builtin.people_names import names_for
from oshaberi.tools.tool_context import ToolContext
from oshaberi.tools.tool_decorator import tool


@tool
async def server_info(context: ToolContext) -> dict[str, object]:
    """Tell the names of this server and channel, the channel's topic, the people of the
    conversation and the server's own emoji."""
    channel_info = await context.turn_channel.channel_info(None, context.turn.history_messages)
    names = names_for(context, channel_info)
    tags = [CUSTOM_EMOJI.fullmatch(one.strip()) for one in channel_info.emojis]
    return {
        "server": channel_info.server_name or "(a direct message)",
        "server_id": str(context.incoming.server_id),
        "channel": channel_info.channel_name,
        "channel_id": str(context.incoming.channel_id),
        "topic": channel_info.channel_topic,
        "your_name": context.persona_name or channel_info.bot_name,
        "people": [names.of(one) for one in channel_info.people],
        "emoji": [tag[1] for tag in tags if tag],
    }
