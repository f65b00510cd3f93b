"""What was deleted in Discord is not answered, and not remembered either."""

from __future__ import annotations

from collections.abc import Sequence

from oshaberi.bot.commands import CommandContext


async def forget_deleted(
    context: CommandContext, channel_id: int, message_ids: Sequence[int]
) -> None:
    """Of a question or an answer that is gone nobody is told from the short-term memory."""
    for message_id in message_ids:
        context.channel_turns.withdraw(channel_id, message_id)
    for turn in await context.db.turns.about(channel_id, message_ids):
        if turn.at is not None:
            await context.db.memory.forget_at(channel_id, turn.at)
