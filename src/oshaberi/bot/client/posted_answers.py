"""The messages of an answer as they stand in a channel: read, rewritten, and given buttons."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import discord

from oshaberi.bot.client.message_reader import NOT_FOUND, MessageReader
from oshaberi.bot.conversation.answer_buttons import PREFIX, AnswerButton, ButtonRows
from oshaberi.bot.conversation.messages import PostedAnswer, PostedMessage
from oshaberi.bot.conversation.transcript import is_beside_the_answer
from oshaberi.delivery.sink import AmbiguousError, SinkError, WebhookFace
from oshaberi.discord_io import ClientState
from oshaberi.discord_io.buttons import RETRY_ID
from oshaberi.discord_io.channels import may_read_history
from oshaberi.discord_io.message_changes import MessageChanges
from oshaberi.discord_io.requests.parameters import is_reply_notice

log = logging.getLogger(__name__)

PAGE = 100
BUTTON_STYLE, DANGER_STYLE = 2, 4


class PostedAnswers:
    """The bot's messages in one channel, as the client's user sees them."""

    def __init__(
        self,
        reader: MessageReader,
        client_state: ClientState,
        channel: discord.abc.MessageableChannel,
    ) -> None:
        self._reader = reader
        self._client_state = client_state
        self._channel = channel
        self._rewritten: set[int] = set()
        """Messages without buttons by now, even if the gateway has not said so yet."""
        self._changes = MessageChanges(
            channel,
            client_state.client.http,
            client_state.line,
            client_state.webhooks,
            client_state.webhook_http,
        )

    async def read(self, message_ids: Sequence[int]) -> PostedAnswer:
        """Return the messages that still exist, and the messages after them."""
        ids = sorted(set(message_ids))
        if not ids or not may_read_history(self._channel):
            return PostedAnswer()
        try:
            page = [one async for one in self._page(ids[0])]
            found = {one.id: one for one in page if one.id in ids}
            beyond = [one for one in ids if len(page) == PAGE and one > page[-1].id]
            for message_id in beyond:
                with suppress(discord.NotFound):
                    found[message_id] = await self._channel.fetch_message(message_id)
        except NOT_FOUND as error:
            raise AmbiguousError(f"the answer could not be read: {error}") from error
        ours = [found[one] for one in ids if one in found and self._reader.is_ours(found[one])]
        later = [one for one in page if one.id > ids[-1]]
        after = tuple(_posted(one) if self._reader.is_ours(one) else None for one in later)
        is_whole = len(page) < PAGE
        return PostedAnswer(tuple(map(_posted, ours)), after if is_whole else (*after, None))

    def _page(self, first_id: int) -> Any:
        before_first = discord.Object(first_id - 1)
        return self._channel.history(limit=PAGE, after=before_first, oldest_first=True)

    async def rewrite(self, message: PostedMessage, text: str) -> None:
        self._rewritten.add(message.id)
        with self._client_state.histories.changing(self._channel.id):
            await self._changes.rewrite(message.id, message.webhook_id, text)

    async def set_buttons(self, message: discord.Message | None, rows: ButtonRows) -> None:
        """Replace the answer's buttons under a message. Those of tables stay as they are.

        The text does not change, so the received histories stay valid.
        """
        if message is None or not self._client_state.allows_reactions:
            return
        others = () if message.id in self._rewritten else list(_other_rows(message, rows))
        components = [*others, *map(row_payload, rows)]
        if not components and not message.components:
            return
        try:
            await self._changes.set_components(message.id, message.webhook_id, components)
        except SinkError as error:
            log.info("channel %s: buttons were not changed: %s", self._channel.id, error)


def _posted(message: discord.Message) -> PostedMessage:
    face = None
    if message.webhook_id is not None:
        picture = message.author.avatar
        face = WebhookFace(message.author.name, None if picture is None else picture.url)
    return PostedMessage(
        message.id,
        message.content,
        message.webhook_id,
        face,
        has_more=bool(message.attachments) or any(one.type == "rich" for one in message.embeds),
        is_about=is_reply_notice(message.content) or is_beside_the_answer(message.content),
    )


def row_payload(row: Sequence[AnswerButton]) -> dict[str, Any]:
    """Return a row of buttons as Discord's JSON."""
    return {"type": 1, "components": [_button_payload(one) for one in row]}


def _button_payload(button: AnswerButton) -> dict[str, Any]:
    return {
        "type": 2,
        "style": DANGER_STYLE if button.action == "stop" else BUTTON_STYLE,
        "label": button.label,
        "custom_id": button.custom_id,
        "disabled": not button.is_enabled,
    }


def _other_rows(message: discord.Message, rows: ButtonRows) -> Iterator[dict[str, Any]]:
    """Return the rows that are not the answer's. *Again* takes the place of *Try again*."""
    replaced = any(one.action in ("again", "menu") for row in rows for one in row)
    for row in message.components:
        ids = [str(getattr(one, "custom_id", "")) for one in getattr(row, "children", ())]
        if any(one.startswith(PREFIX) for one in ids) or (replaced and RETRY_ID in ids):
            continue
        yield dict(row.to_dict())
