"""A button that never expires: after a restart the bot still recognises it by its id."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any

import discord

from oshaberi.languages import translated

Button = discord.ui.Button[discord.ui.View]
Interaction = discord.Interaction[Any]


def lasting_button(label: str, custom_id: str) -> Button:
    """Return the button, with its label in the current language."""
    return Button(label=translated(label), custom_id=custom_id)


def lasting_view(label: str, custom_id: str) -> discord.ui.View:
    """Return a view that contains only the button."""
    return discord.ui.View(timeout=None).add_item(lasting_button(label, custom_id))


def lasting_item(
    label: str, custom_id: str, answer: Callable[[Interaction], Awaitable[None]]
) -> type[discord.ui.DynamicItem[Button]]:
    """Return the class for `client.add_dynamic_items` that answers every click on the button."""

    class LastingItem(discord.ui.DynamicItem[Button], template=re.escape(custom_id)):
        @classmethod
        async def from_custom_id(
            cls,
            _interaction: Interaction,
            _item: discord.ui.Item[Any],
            _match: re.Match[str],
            /,
        ) -> LastingItem:
            return cls(lasting_button(label, custom_id))

        async def callback(self, interaction: Interaction) -> None:
            await answer(interaction)

    return LastingItem
