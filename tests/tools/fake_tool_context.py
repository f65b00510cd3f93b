"""A channel and a tool context in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from oshaberi.bot.conversation.answer_buttons import ButtonRows
from oshaberi.bot.conversation.messages import (
    ChannelInfo,
    ChannelMessage,
    ChannelPath,
    IncomingMessage,
    Person,
    PostedAnswer,
    PostedMessage,
)
from oshaberi.bot.tools.definition import ToolContext
from oshaberi.delivery.recording_sink import RecordingSink
from oshaberi.delivery.sink import Embed, Sink, WebhookFace

MIKA = Person(77, "Mika", ("mika_m",), avatar_url="https://cdn.test/mika.png")
REN = Person(78, "Ren", can_manage_server=True)
NOW = datetime(2026, 11, 3, 21, 5, 9, tzinfo=UTC)
SERVER, CHANNEL = 5, 9


def said(message_id: int, text: str, author: Person = MIKA, **more: Any) -> ChannelMessage:
    return ChannelMessage(message_id, author, text, NOW, **more)


@dataclass
class FakeToolChannel:
    """A channel with messages, and a sink per message that is answered."""

    messages: list[ChannelMessage] = field(default_factory=list)
    emojis: tuple[str, ...] = ("<:wave2:123>", "<a:Dance:456>")
    sinks: dict[int | None, RecordingSink] = field(default_factory=dict)
    reactions: list[tuple[int, str]] = field(default_factory=list)
    may_react: bool = True
    channel_id: int = CHANNEL
    server_id: int = SERVER
    is_age_restricted: bool = False
    locale: str = "en-US"

    @property
    def path(self) -> ChannelPath:
        return ChannelPath(self.server_id, self.channel_id)

    @property
    def newest_message_id(self) -> int | None:
        return max((one.id for one in self.messages), default=None)

    def notifying(self, _user_ids: frozenset[int], /) -> FakeToolChannel:
        return self

    def sink(self, answering: IncomingMessage | None) -> Sink:
        key = None if answering is None else answering.said.id
        return self.sinks.setdefault(key, RecordingSink())

    async def channel_info(self, before: int | None, limit: int) -> ChannelInfo:
        older = [one for one in self.messages if before is None or one.id < before]
        people = {one.author.id: one.author for one in self.messages}
        return ChannelInfo(
            server_name="Tea House",
            channel_name="general",
            channel_topic="tea",
            bot_name="Oshaberi",
            people=tuple(people.values()),
            emojis=self.emojis,
            history=tuple(older[-limit:] if limit else ()),
        )

    async def open_thread(self, *_thread: object) -> None:
        """No threads here."""

    async def rename(self, _name: str, _known_as: str) -> bool:
        return False

    async def said(self, message_id: int) -> ChannelMessage | None:
        return next((one for one in self.messages if one.id == message_id), None)

    async def react(self, message_id: int, emoji: str) -> bool:
        self.reactions.append((message_id, emoji))
        return self.may_react

    async def unreact(self, message_id: int, emoji: str) -> None:
        self.reactions.remove((message_id, emoji))

    async def delete(self, message_ids: Sequence[int]) -> None:
        self.messages = [one for one in self.messages if one.id not in message_ids]

    async def posted(self, message_ids: Sequence[int]) -> PostedAnswer:
        raise AssertionError(message_ids)

    async def rewrite(self, message: PostedMessage, text: str) -> None:
        raise AssertionError((message, text))

    async def set_buttons(self, message_id: int, rows: ButtonRows) -> None:
        raise AssertionError((message_id, rows))

    async def server_view(self, _user_id: int) -> None:
        """No server around it."""

    async def log_thoughts(
        self, channel_id: int, embeds: Sequence[Embed], face: WebhookFace | None
    ) -> None:
        raise AssertionError((channel_id, embeds, face))


def asking(text: str = "hi", author: Person = MIKA, server_id: int = SERVER) -> IncomingMessage:
    return IncomingMessage(said(100, text, author), CHANNEL, server_id)


def context(
    turn_channel: FakeToolChannel | None = None,
    *,
    author: Person = MIKA,
    server_id: int = SERVER,
    **more: Any,
) -> ToolContext:
    turn_channel = turn_channel if turn_channel is not None else FakeToolChannel()
    more.setdefault("now", lambda: NOW)
    return ToolContext(turn_channel, asking(author=author, server_id=server_id), **more)
