"""What a stream depends on besides its settings: the channel, the turn, the doors to the rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from oshaberi.delivery.response import Response
from oshaberi.delivery.tables import PackagedRenderer, TableRenderer
from oshaberi.events import Event, Message
from oshaberi.stream.stops import StopRegistry
from oshaberi.text.config import TextConfig


class Engine(Protocol):
    """A text engine, as seen from here (stages 05 to 07a)."""

    def feed(self, text: str) -> Sequence[Event]: ...
    def flush(self, reason: Literal["tool_call", "stop"]) -> Sequence[Event]: ...
    def finish(self) -> Sequence[Event]: ...
    def discard(self) -> Sequence[Event]: ...
    def preview(self) -> Sequence[Message]: ...
    def carry(self) -> Any: ...


def text_engine(config: TextConfig, carry: Any) -> Engine:
    from oshaberi import TextEngine

    return TextEngine(config, carried=carry)


@dataclass(slots=True)
class StreamContext:
    """Give the `response` of a turn to each of its streams: it carries what lasts."""

    channel: str = ""
    reply_to: bool = False
    """Whether the response answers a message; the sink knows which."""
    user: str | None = None
    """Whose turn it is: only this user's new message interrupts."""
    stops: StopRegistry = field(default_factory=StopRegistry)
    response: Response = field(default_factory=Response)
    progress: Callable[[Literal["chunk", "sent"]], None] | None = None
    make_engine: Callable[[TextConfig, Any], Engine] = text_engine
    renderer: TableRenderer = field(default_factory=PackagedRenderer)
