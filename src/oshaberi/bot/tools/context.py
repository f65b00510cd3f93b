"""What a tool knows when it runs: for whom, where, with which permission; its text is cleaned here.

A turn makes one context and passes it to every call.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal, Protocol

from oshaberi.bot.tools.tool_text_plug_ins import ToolText, plugged_text
from oshaberi.delivery.attachments import DeliveryPlugIns
from oshaberi.delivery.config import StreamConfig
from oshaberi.delivery.response import ResponseState
from oshaberi.text.normalize.table import cleaned_text

if TYPE_CHECKING:
    from oshaberi.bot.conversation.messages import IncomingMessage, TurnChannel
    from oshaberi.bot.conversation.turn_config import TurnConfig
    from oshaberi.bot.storage.records import Exchange, Fact
    from oshaberi.delivery.sink import Sink


Permission = Literal["everyone", "manage_messages", "manage_server"]
PERMISSIONS: tuple[Permission, ...] = ("everyone", "manage_messages", "manage_server")


class FactStore(Protocol):
    """Long-term memory. `user_id` None means the facts of the server."""

    async def add(self, fact: Fact) -> Fact: ...
    async def of(self, server_id: int, user_id: int | None) -> tuple[Fact, ...]: ...
    async def delete(self, server_id: int, user_id: int | None, fact_id: int) -> bool: ...
    async def delete_all(self, server_id: int, user_id: int | None) -> int: ...


class ExchangeStore(Protocol):
    """Short-term memory; the oldest exchange is first."""

    async def recent(self, channel_id: int, limit: int) -> tuple[Exchange, ...]: ...


class ToolStore(Protocol):
    """The parts of the bot's database that built-in tools use."""

    @property
    def facts(self) -> FactStore: ...

    @property
    def memory(self) -> ExchangeStore: ...


def _default_turn() -> TurnConfig:
    from oshaberi.bot.conversation.turn_config import TurnConfig

    return TurnConfig()


def utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class ToolContext:
    """Tells a tool for whom and where it runs. A turn makes one and passes it to every call.

    `stream` is the configuration of the turn's streams (with its persona), and `response` is the
    response that they share: what a tool posts is cleaned, limited and counted like the rest of the
    answer.
    """

    turn_channel: TurnChannel
    incoming: IncomingMessage
    store: ToolStore | None = None
    """The bot's database, if there is one."""
    turn: TurnConfig = field(default_factory=_default_turn)
    stream: StreamConfig = field(default_factory=StreamConfig)
    response: ResponseState = field(default_factory=ResponseState)
    now: Callable[[], datetime] = utc_now
    """The current time, with its time zone."""
    sink_for: Callable[[IncomingMessage], Sink] | None = None
    """Where a reply to a message goes; None: `turn_channel.sink`."""
    plug_ins: DeliveryPlugIns = field(default_factory=DeliveryPlugIns)
    tool_text: Mapping[str, ToolText] = field(default_factory=dict)
    posting: asyncio.Lock = field(default_factory=asyncio.Lock, repr=False, compare=False)
    """The lock of tools that write into the channel, so that they do so one after the other."""
    user_id: int = 0
    """The person for whom the tool runs, even if a persona asked. By default the author of
    `incoming`."""

    def __post_init__(self) -> None:
        if not self.user_id:
            object.__setattr__(self, "user_id", self.incoming.user_id)

    @property
    def persona_name(self) -> str:
        """Return the name of the persona that speaks; empty if there is none."""
        persona = self.stream.text.persona
        return "" if persona is None else persona.name

    def allows(self, permission: Permission) -> bool:
        """Return whether the asking person has this permission."""
        author = self.incoming.said.author
        if permission == "manage_server":
            return author.can_manage_server
        if permission == "manage_messages":
            return author.can_manage_messages or author.can_manage_server
        return True

    def plugged_text(self, text: str) -> str:
        """Return a tool's text after the plug-ins. The stream that sends it cleans it later."""
        return plugged_text(text, self.tool_text)

    def cleaned_text(self, text: str) -> str:
        """Return a tool's text as it would be in an answer: emoji, mentions, names, plug-ins.

        This is for a tool that sends its text by other means than a stream.
        """
        return self.plugged_text(cleaned_text(text, self.stream.text))

    def sink(self, answering: IncomingMessage) -> Sink:
        return (self.sink_for or self.turn_channel.sink)(answering)
