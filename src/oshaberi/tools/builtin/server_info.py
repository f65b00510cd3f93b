"""Where the conversation takes place."""

from __future__ import annotations

from oshaberi.text.atoms import CUSTOM_EMOJI
from oshaberi.tools.tool_decorator import tool
from oshaberi.tools.tool_definition import ToolContext


@tool
async def server_info(context: ToolContext) -> dict[str, object]:
    """Tell the names of this server and channel, the channel's topic, the people of the
    conversation and the server's own emoji."""
    scenery = await context.room.scenery(None, context.turn.history_messages)
    tags = [CUSTOM_EMOJI.fullmatch(one.strip()) for one in scenery.emojis]
    return {
        "server": scenery.server_name or "(a direct message)",
        "server_id": str(context.incoming.server_id),
        "channel": scenery.channel_name,
        "channel_id": str(context.incoming.channel_id),
        "topic": scenery.channel_topic,
        "your_name": context.persona_name or scenery.bot_name,
        "people": [one.name for one in scenery.people],
        "emoji": [tag[1] for tag in tags if tag],
    }
