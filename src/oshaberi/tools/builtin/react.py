"""The tool `react`: adds an emoji to a message."""

from __future__ import annotations

from collections.abc import Sequence

from oshaberi.text.atoms import CUSTOM_EMOJI
from oshaberi.text.normalize.emoji.standard_emoji import standard_emoji
from oshaberi.tools.builtin.message_ids import message_id_of, message_of
from oshaberi.tools.tool_context import ToolContext
from oshaberi.tools.tool_decorator import tool
from oshaberi.tools.tool_definition import ToolFailedError


@tool
async def react(context: ToolContext, emoji: str, message_id: str | None = None) -> str:
    """Put an emoji under a message of this channel, as a reaction.

    Args:
        emoji: One emoji, or the name of one of the server's own, such as :wave:.
        message_id: The message; without it, the one you are answering.
    """
    target = message_id_of(context, message_id)
    if not context.incoming.said.author.can_add_reactions:
        raise ToolFailedError("whoever asked may not add reactions in this channel")
    if target != context.incoming.said.id:
        await message_of(context, target)
    channel_info = await context.turn_channel.channel_info(None, 0)
    if not await context.turn_channel.react(target, _chosen(emoji.strip(), channel_info.emojis)):
        raise ToolFailedError("Discord does not let us react to that message")
    return "Done."


def _chosen(written: str, custom: Sequence[str]) -> str:
    import emoji

    tag = CUSTOM_EMOJI.fullmatch(written)
    name = tag[1] if tag else written.strip(":")
    for one in custom:
        known = CUSTOM_EMOJI.fullmatch(one.strip())
        if known is not None and known[1].lower() == name.lower():
            return known[0]
    if emoji.is_emoji(written):
        return written
    standard = None if tag else standard_emoji(name)
    if standard is None:
        raise ToolFailedError(f"{written[:40]!r} is no emoji that can be used here")
    return standard
