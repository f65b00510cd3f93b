"""The surroundings of a stream besides its settings: channel, response, stops, callbacks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from oshaberi.delivery.attachments import DeliveryPlugIns, PackagedRenderer, TableRenderer
from oshaberi.delivery.response import ResponseState
from oshaberi.events import Event, Message
from oshaberi.stream.stops import StopRegistry
from oshaberi.text.config import TextConfig


class StreamTextEngine(Protocol):
    """A text engine as a stream uses it (steps 05 to 07a)."""

    @property
    def captures(self) -> bool: ...
    def feed(self, text: str) -> Sequence[Event]: ...
    def flush(
        self,
        reason: Literal["tool_call", "stop"],
        *,
        trim_incomplete_clause: bool = False,
        only_whole: bool = False,
    ) -> Sequence[Event]: ...
    def finish(self) -> Sequence[Event]: ...
    def discard(self) -> Sequence[Event]: ...
    def preview(self) -> Sequence[Message]: ...
    def carry(self) -> Any: ...


def text_engine(config: TextConfig, carry: Any) -> StreamTextEngine:
    from oshaberi import TextEngine

    return TextEngine(config, carried=carry)


@dataclass(slots=True)
class StreamContext:
    """The context of a stream. All streams of a turn share its `response`."""

    channel: str = ""
    reply_to: bool = False
    """Whether the response answers a message; the sink knows which."""
    user: str | None = None
    """Whose turn it is: only this user's new message interrupts."""
    stops: StopRegistry = field(default_factory=StopRegistry)
    response: ResponseState = field(default_factory=ResponseState)
    progress: Callable[[Literal["chunk", "sent"]], None] | None = None
    silent_s: Callable[[], float] = lambda: 0.0
    """Returns for how long the model of the running stream has sent nothing."""
    make_engine: Callable[[TextConfig, Any], StreamTextEngine] = text_engine
    renderer: TableRenderer = field(default_factory=PackagedRenderer)
    plug_ins: DeliveryPlugIns = field(default_factory=DeliveryPlugIns)
    silence_markers: tuple[str, ...] = ()
    """Words by which the model says that it stays silent. They are removed where they mean that."""
    offers_silence: bool = False
    """The model was told about them: an answer that begins with one is silence, no matter what
    follows."""
    asks_about_silence: bool = False
    """Somebody asked about them. Then only an answer that consists of one of them is silence."""
