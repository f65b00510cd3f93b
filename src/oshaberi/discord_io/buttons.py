"""Buttons that never expire: *Try again* under a failed answer, *Show text* under a table."""

from __future__ import annotations

import io
import re
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any

import discord

from oshaberi.delivery.sink import Post
from oshaberi.discord_io.requests.parameters import text_in
from oshaberi.languages import speak_language, translatable, translated
from oshaberi.languages.current_language import reader_language

Button = discord.ui.Button[discord.ui.View]
Interaction = discord.Interaction[Any]


def lasting_button(label: str, custom_id: str) -> Button:
    """Return the button, with its label in the current language.

    It never expires: after a restart the bot still recognises it by its id.
    """
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


RETRY_ID = "oshaberi:retry"
RETRY_LABEL = translatable("Try again")


def offers_retry(post: Post) -> bool:
    return post.embed is not None and post.embed.offers_retry


def retry_item(
    answer: Callable[[Interaction], Awaitable[None]],
) -> type[discord.ui.DynamicItem[Button]]:
    """Return the class for `client.add_dynamic_items` that answers clicks on the button."""
    return lasting_item(RETRY_LABEL, RETRY_ID, answer)


# The button under a table's picture shows its Markdown. The source is remembered by message id.
# After a restart it is read from the picture itself (`requests.parameters`), and if the picture is
# gone too, the alt text still has the content of the table.
TABLE_TEXT_ID = "oshaberi:table:text"
SHOW_TEXT_LABEL = translatable("Show text")
FILE_NAME = "table.md"
KEPT_SOURCES = 500
MESSAGE_LIMIT = 1950
LARGEST_PICTURE = 10 * 1024 * 1024
GONE = translatable("The text of this table cannot be found any more.")


class TableSourceLookup:
    """The newest tables by message id. Also used for the context of later turns."""

    def __init__(self, kept: int = KEPT_SOURCES) -> None:
        self._kept = kept
        self._sources: OrderedDict[int, str] = OrderedDict()

    def remember(self, message_id: int, source: str) -> None:
        self._sources[message_id] = source
        self._sources.move_to_end(message_id)
        if len(self._sources) > self._kept:
            self._sources.popitem(last=False)

    def get(self, message_id: int) -> str | None:
        if message_id in self._sources:
            self._sources.move_to_end(message_id)
        return self._sources.get(message_id)


def shows_table(post: Post) -> bool:
    return any(file.source and file.width for file in post.files)


def view_of(post: Post) -> discord.ui.View | None:
    """Return the view with the buttons of a message, or None without buttons."""
    if post.buttons:
        view = discord.ui.View(timeout=None)
        for one in post.buttons:
            view.add_item(Button(label=one.label, custom_id=one.custom_id))
        return view
    if shows_table(post):
        return lasting_view(SHOW_TEXT_LABEL, TABLE_TEXT_ID)
    return lasting_view(RETRY_LABEL, RETRY_ID) if offers_retry(post) else None


class TableText:
    """Answers a click on the button, also under old messages."""

    def __init__(self, sources: TableSourceLookup) -> None:
        self._sources = sources

    def item(self) -> type[discord.ui.DynamicItem[Button]]:
        """Return the class for `client.add_dynamic_items`."""
        return lasting_item(SHOW_TEXT_LABEL, TABLE_TEXT_ID, self.answer)

    async def answer(self, interaction: Interaction) -> None:
        speak_language(reader_language(interaction.locale.value))
        message = interaction.message
        source = None if message is None else self._sources.get(message.id)
        if source is not None or message is None:
            await interaction.response.send_message(**text_answer(source), ephemeral=True)
            return
        # Loading the picture may take longer than the three seconds an answer has.
        await interaction.response.defer(ephemeral=True, thinking=True)
        source = await source_of(message)
        if source is not None:
            self._sources.remember(message.id, source)
        await interaction.followup.send(**text_answer(source or _alt_of(message)), ephemeral=True)


async def source_of(message: discord.Message) -> str | None:
    """Return the Markdown stored in the message's first picture, or None."""
    for file in message.attachments[:1]:
        if file.filename.endswith(".png") and file.size <= LARGEST_PICTURE:
            try:
                return text_in(await file.read())
            except discord.DiscordException:
                return None
    return None


def text_answer(source: str | None) -> dict[str, Any]:
    """Return the answer: the Markdown as a code block if it fits, else as a file."""
    if not source:
        return {"content": translated(GONE)}
    block = f"```md\n{source}\n```"
    if len(block) <= MESSAGE_LIMIT and "```" not in source:
        return {"content": block}
    return {"file": discord.File(io.BytesIO(source.encode("utf-8", "replace")), FILE_NAME)}


def _alt_of(message: discord.Message) -> str | None:
    return next((file.description for file in message.attachments if file.description), None)
