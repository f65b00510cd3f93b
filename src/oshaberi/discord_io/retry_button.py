"""The button under the notice of a failed answer that asks for it once more. It never expires."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any

import discord

from oshaberi.delivery.sink import Post
from oshaberi.languages import translatable, translated

CUSTOM_ID = "oshaberi:retry"
LABEL = translatable("Try again")

Button = discord.ui.Button[discord.ui.View]
Interaction = discord.Interaction[Any]


def offers_retry(post: Post) -> bool:
    return post.embed is not None and post.embed.offers_retry


def retry_view() -> discord.ui.View:
    return discord.ui.View(timeout=None).add_item(_button())


def retry_item(
    answer: Callable[[Interaction], Awaitable[None]],
) -> type[discord.ui.DynamicItem[Button]]:
    """What `client.add_dynamic_items` takes: it finds the button by its id alone."""

    class RetryItem(discord.ui.DynamicItem[Button], template=re.escape(CUSTOM_ID)):
        @classmethod
        async def from_custom_id(
            cls,
            _interaction: Interaction,
            _item: discord.ui.Item[Any],
            _match: re.Match[str],
            /,
        ) -> RetryItem:
            return cls(_button())

        async def callback(self, interaction: Interaction) -> None:
            await answer(interaction)

    return RetryItem


def _button() -> Button:
    return Button(label=translated(LABEL), custom_id=CUSTOM_ID)
