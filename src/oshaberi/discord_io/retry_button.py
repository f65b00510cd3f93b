"""The button under the notice of a failed answer that asks for the answer again.

It never expires.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import discord

from oshaberi.delivery.sink import Post
from oshaberi.discord_io.lasting_button import Button, Interaction, lasting_item, lasting_view
from oshaberi.languages import translatable

CUSTOM_ID = "oshaberi:retry"
LABEL = translatable("Try again")


def offers_retry(post: Post) -> bool:
    return post.embed is not None and post.embed.offers_retry


def retry_view() -> discord.ui.View:
    return lasting_view(LABEL, CUSTOM_ID)


def retry_item(
    answer: Callable[[Interaction], Awaitable[None]],
) -> type[discord.ui.DynamicItem[Button]]:
    """Return the class for `client.add_dynamic_items` that answers clicks on the button."""
    return lasting_item(LABEL, CUSTOM_ID, answer)
