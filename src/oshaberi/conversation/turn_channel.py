"""The protocol of a channel that a turn can read and answer in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from oshaberi.conversation.conversation_messages import ChannelInfo, ChannelMessage, IncomingMessage
from oshaberi.delivery.sink import Embed, Sink, WebhookFace


class TurnChannel(Protocol):
    """One channel, thread or direct message."""

    @property
    def channel_id(self) -> int: ...

    @property
    def parent_id(self) -> int | None:
        """The channel of a thread."""

    @property
    def server_id(self) -> int:
        """0 for direct messages."""

    def sink(self, answering: IncomingMessage | None) -> Sink:
        """Where an answer goes."""

    async def channel_info(self, before: int | None, limit: int) -> ChannelInfo:
        """The channel now, with its newest `limit` messages older than `before`."""

    async def said(self, message_id: int) -> ChannelMessage | None:
        """One message of this channel."""

    async def react(self, message_id: int, emoji: str) -> bool:
        """Whether it is there now. A refusal is no error: reactions are a courtesy."""

    async def unreact(self, message_id: int, emoji: str) -> None: ...

    async def delete(self, message_ids: Sequence[int]) -> None:
        """Messages of ours; those that are gone already do not matter."""

    async def log_thoughts(
        self, channel_id: int, embeds: Sequence[Embed], face: WebhookFace | None
    ) -> None:
        """Into another channel, silently, under the face of the persona that spoke."""
