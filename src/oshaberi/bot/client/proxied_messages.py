"""Finds whose words a proxy bot (PluralKit, Tupperbox) repeats.

A proxy bot posts a person's message again through a webhook, without the tags around it, and then
deletes the original. The original is the message that has the same words and mentions, and the
least besides. `turns.admission.unbegun_questions` makes sure that only one of the two is answered.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import timedelta

import discord

WITHIN = timedelta(seconds=15)
MOST_TAGS = 100
"""How many characters the tags around a text may have."""
_MENTION = re.compile(r"<@!?(&?\d+)>")


def original_of(
    copy: discord.Message, newest_first: Iterable[discord.Message]
) -> discord.Message | None:
    """Return the person's message that a webhook's message repeats, if it is known.

    A short text is often a part of what others wrote, so the closest message counts; of equally
    close ones the newest.
    """
    if copy.webhook_id is None:
        return None
    since = discord.utils.time_snowflake(copy.created_at - WITHIN)
    closest, fewest = None, MOST_TAGS + 1
    for message in newest_first:
        if message.id <= since:
            break
        if message.id < copy.id and message.channel.id == copy.channel.id:
            is_person = message.webhook_id is None and not message.author.bot
            tags = _length_of_tags(copy, message) if is_person else None
            if tags is not None and tags < fewest:
                closest, fewest = message, tags
    return closest


def _length_of_tags(copy: discord.Message, original: discord.Message) -> int | None:
    """Return how much longer the original is; None if the copy does not repeat it.

    PluralKit makes `@Ann hello` of `@Ann m: hello`, so mentions are compared by themselves.
    """
    if not copy.content.strip():
        names = [file.filename for file in copy.attachments]
        is_same = bool(names) and names == [file.filename for file in original.attachments]
        return len(original.content) if is_same else None
    if _MENTION.findall(copy.content) != _MENTION.findall(original.content):
        return None
    words, whole = _words(copy.content), _words(original.content)
    return len(whole) - len(words) if words in whole else None


def _words(content: str) -> str:
    return " ".join(_MENTION.sub(" ", content).split())
