"""Makes embeds of notices (error, timeout, limit) and shortens texts to Discord's limits."""

from __future__ import annotations

import discord

from oshaberi.delivery.sink import Embed
from oshaberi.text.text_measure import grapheme_edge

TITLE_LIMIT = 256
DESCRIPTION_LIMIT = 4096

NOTICE_COLOUR = discord.Colour.orange()


def notice_embed(embed: Embed) -> discord.Embed:
    return discord.Embed(
        title=shortened(embed.title, TITLE_LIMIT),
        description=shortened(embed.description, DESCRIPTION_LIMIT) or None,
        colour=NOTICE_COLOUR,
    )


def shortened(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    return text[: grapheme_edge(text, 0, limit - 1)].rstrip() + "…"
