"""The values that all streams of one turn share."""

from __future__ import annotations

from dataclasses import dataclass

from oshaberi.conversation.turn_config import TurnConfig
from oshaberi.delivery.sink import Sink
from oshaberi.delivery.stream_config import StreamConfig
from oshaberi.providers.request.context_items import ToolDeclaration
from oshaberi.stream.stops.stop_registry import ActiveChannel
from oshaberi.stream.stream_context import StreamContext
from oshaberi.stream.stream_result import StreamResult


@dataclass(frozen=True, slots=True)
class GenerationSetup:
    """The values that all streams of one turn share."""

    stream: StreamConfig
    turn: TurnConfig
    context: StreamContext
    sink: Sink
    channel: ActiveChannel
    tools: tuple[ToolDeclaration, ...] = ()
    begins_answer: bool = True
    """False if it continues an earlier answer."""
    may_say_nothing: bool = False
    """Nobody addressed the bot, so the model may say nothing."""

    def is_silence(self, result: StreamResult) -> bool:
        """Tell whether the model chose to say nothing (more)."""
        if result.status != "empty_response":
            return False
        by_itself = self.may_say_nothing and result.finish_reason in (None, "stop")
        return by_itself or self.context.response.chose_silence
