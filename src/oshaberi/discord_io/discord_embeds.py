"""Embeds: notices of ours (error, timeout, limit) and the thought log, within Discord's limits."""

from __future__ import annotations

import discord

from oshaberi.delivery.sink import Embed
from oshaberi.secret_redaction import redact
from oshaberi.stream.thought_collector import ThoughtLog
from oshaberi.text.text_measure import grapheme_edge

TITLE_LIMIT = 256
DESCRIPTION_LIMIT = 4096
FOOTER_LIMIT = 2048

NOTICE_COLOUR = discord.Colour.orange()
THOUGHT_COLOUR = discord.Colour.greyple()


def notice_embed(embed: Embed) -> discord.Embed:
    return discord.Embed(
        title=shortened(embed.title, TITLE_LIMIT),
        description=shortened(embed.description, DESCRIPTION_LIMIT) or None,
        colour=NOTICE_COLOUR,
    )


def thought_log_embed(log: ThoughtLog) -> discord.Embed | None:
    """Build the embed with the model's thoughts: summaries, else raw thoughts.

    Returns None if there are no thoughts.
    """
    texts = log.of_kind("summary") or log.of_kind("raw")
    thoughts = redact("\n\n".join(text for text in texts if text.strip()))
    if not thoughts:
        return None
    embed = discord.Embed(
        title="Thoughts",
        url=log.first_reply_url,
        description=shortened(thoughts, DESCRIPTION_LIMIT),
        colour=THOUGHT_COLOUR,
    )
    facts = [log.provider, log.model, f"{log.duration_ms / 1000:.1f} s"]
    return embed.set_footer(text=shortened(" · ".join(filter(None, facts)), FOOTER_LIMIT))


def shortened(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    return text[: grapheme_edge(text, 0, limit - 1)].rstrip() + "…"
