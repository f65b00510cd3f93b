"""The protocol of a channel that a turn can read and answer in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from oshaberi.conversation.channel_path import ChannelPath
from oshaberi.conversation.conversation_messages import ChannelInfo, ChannelMessage, IncomingMessage
from oshaberi.delivery.sink import Embed, Sink, WebhookFace


class TurnChannel(Protocol):
    """What a turn needs from one channel, thread or direct message."""

    @property
    def channel_id(self) -> int: ...

    @property
    def path(self) -> ChannelPath:
        """Return the channel's ids with those of the places above it."""

    @property
    def is_age_restricted(self) -> bool:
        """Tell whether Discord marks the channel, or the thread's channel, as age-restricted."""

    @property
    def server_id(self) -> int:
        """Return the server's id, or 0 for direct messages."""

    @property
    def newest_message_id(self) -> int | None:
        """Return the id of the channel's newest message, as far as it is known."""

    @property
    def locale(self) -> str:
        """Return the language of the server as Discord says it (`ja`), or "" if unknown."""

    def sink(self, answering: IncomingMessage | None) -> Sink:
        """Return the sink that sends an answer to this channel."""

    async def channel_info(self, before: int | None, limit: int) -> ChannelInfo:
        """Return the channel's state and its newest `limit` messages older than `before`."""

    async def said(self, message_id: int) -> ChannelMessage | None:
        """Return one message of this channel, or None if there is none with this id."""

    async def react(self, message_id: int, emoji: str) -> bool:
        """Add a reaction, and return whether it was added. A refusal is not an error."""

    async def unreact(self, message_id: int, emoji: str) -> None: ...

    async def delete(self, message_ids: Sequence[int]) -> None:
        """Delete messages of ours. Messages that are already gone are ignored."""

    async def log_thoughts(
        self, channel_id: int, embeds: Sequence[Embed], face: WebhookFace | None
    ) -> None:
        """Post thoughts to another channel, silently, with the persona's name and avatar."""
