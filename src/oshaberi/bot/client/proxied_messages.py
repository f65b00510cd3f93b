"""Finds whose words a proxy bot (PluralKit, Tupperbox) repeats.

A proxy bot posts a person's message again through a webhook, without the tags around it, and then
deletes the original. The copy belongs to the author of the newest message with the same words.
`turns.admission.unbegun_questions` makes sure that only one of the two is answered.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

import discord

WITHIN = timedelta(seconds=15)
MOST_TAGS = 100
"""How many characters the tags around a text may have."""


def original_of(
    copy: discord.Message, newest_first: Iterable[discord.Message]
) -> discord.Message | None:
    """Return the person's message that a webhook's message repeats, if it is known."""
    if copy.webhook_id is None:
        return None
    since = discord.utils.time_snowflake(copy.created_at - WITHIN)
    for message in newest_first:
        if message.id <= since:
            return None
        if message.id < copy.id and message.channel.id == copy.channel.id:
            is_person = message.webhook_id is None and not message.author.bot
            if is_person and _repeats(copy, message):
                return message
    return None


def _repeats(copy: discord.Message, original: discord.Message) -> bool:
    words, whole = copy.content.strip(), original.content
    if not words:
        names = [file.filename for file in copy.attachments]
        return bool(names) and names == [file.filename for file in original.attachments]
    return words in whole and len(whole) - len(words) <= MOST_TAGS
