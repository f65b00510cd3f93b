"""Handles deleted messages: the bot does not answer them, and short-term memory forgets them."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from oshaberi.bot.bot_context import BotContext
from oshaberi.storage.storage_errors import StorageAwayError

log = logging.getLogger(__name__)


async def forget_deleted(context: BotContext, channel_id: int, message_ids: Sequence[int]) -> None:
    """Withdraw deleted questions, and delete their exchanges from short-term memory.

    A summary that may contain one of the messages is deleted as a whole.
    """
    for message_id in message_ids:
        context.channel_turns.withdraw(channel_id, message_id)
    for forget in (context.db.memory.forget_messages, context.db.summaries.forget_messages):
        try:
            await forget(channel_id, message_ids)
        except StorageAwayError as error:
            log.info("deleted messages are forgotten when the database is back: %s", error)
