"""The button under a table's picture that shows its Markdown. It never expires.

The source is remembered by message id. After a restart it is read from the picture itself
(png_text.py), and if the picture is gone too, the alt text still has the content of the table.
"""

from __future__ import annotations

import io
from collections import OrderedDict
from typing import Any

import discord

from oshaberi.delivery.sink import Post
from oshaberi.discord_io.lasting_button import Button, Interaction, lasting_item, lasting_view
from oshaberi.discord_io.png_text import text_in
from oshaberi.languages import speak_language, translatable, translated
from oshaberi.languages.language_choice import reader_language

CUSTOM_ID = "oshaberi:table:text"
LABEL = translatable("Show text")
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


def table_view() -> discord.ui.View:
    return lasting_view(LABEL, CUSTOM_ID)


class TableText:
    """Answers a click on the button, also under old messages."""

    def __init__(self, sources: TableSourceLookup) -> None:
        self._sources = sources

    def item(self) -> type[discord.ui.DynamicItem[Button]]:
        """Return the class for `client.add_dynamic_items`."""
        return lasting_item(LABEL, CUSTOM_ID, self.answer)

    async def answer(self, interaction: Interaction) -> None:
        speak_language(reader_language(interaction.locale.value))
        message = interaction.message
        source = None if message is None else self._sources.get(message.id)
        if source is not None or message is None:
            await interaction.response.send_message(**told(source), ephemeral=True)
            return
        # Loading the picture may take longer than the three seconds an answer has.
        await interaction.response.defer(ephemeral=True, thinking=True)
        source = await source_of(message)
        if source is not None:
            self._sources.remember(message.id, source)
        await interaction.followup.send(**told(source or _alt_of(message)), ephemeral=True)


async def source_of(message: discord.Message) -> str | None:
    """Return the Markdown stored in the message's first picture, or None."""
    for file in message.attachments[:1]:
        if file.filename.endswith(".png") and file.size <= LARGEST_PICTURE:
            try:
                return text_in(await file.read())
            except discord.DiscordException:
                return None
    return None


def told(source: str | None) -> dict[str, Any]:
    """Return the answer: the Markdown as a code block if it fits, else as a file."""
    if not source:
        return {"content": translated(GONE)}
    block = f"```md\n{source}\n```"
    if len(block) <= MESSAGE_LIMIT and "```" not in source:
        return {"content": block}
    return {"file": discord.File(io.BytesIO(source.encode("utf-8", "replace")), FILE_NAME)}


def _alt_of(message: discord.Message) -> str | None:
    return next((file.description for file in message.attachments if file.description), None)
