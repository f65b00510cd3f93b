"""What one stream is made of: engine, reader, deliverer, ledger and timers, wired together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Literal

from oshaberi.delivery.config import StreamConfig
from oshaberi.delivery.deliverer import Deliverer, DeliveryParts
from oshaberi.delivery.ledger import Ledger
from oshaberi.delivery.sink import Sink
from oshaberi.delivery.waits import InterruptibleWaits
from oshaberi.events import Event, Message
from oshaberi.stream.context import StreamContext, StreamTextEngine
from oshaberi.stream.engine_closing import EngineClosing
from oshaberi.stream.model_output import ModelOutput, Reemission
from oshaberi.stream.provider_protocol import Provider
from oshaberi.stream.reader import ChunkReader
from oshaberi.stream.silence_marker import MarkerFilteredEngine, SilenceMarkerFilter
from oshaberi.stream.time_limits import InactivityTimer, ThinkingLimit

# Notices when a model begins to say something that people will read.
#
# Thoughts are not read, and a tag that may begin them is waited for. A marker of silence never
# comes this far. It matters where nobody asked: then the typing indicator waits for the first
# words.


LONGEST_TAG = 40
"""`<mm:think>` and its like are shorter; a longer text that begins with `<` is read."""


class FirstWordsEngine:
    """A text engine that calls `on_words` once, when it is fed the first visible words."""

    def __init__(self, engine: StreamTextEngine, on_words: Callable[[], None]) -> None:
        self._engine = engine
        self._on_words: Callable[[], None] | None = on_words
        self._begun = ""

    @property
    def captures(self) -> bool:
        return self._engine.captures

    def feed(self, text: str) -> Sequence[Event]:
        if self._on_words is None:
            return self._engine.feed(text)
        captured = self._engine.captures
        events = self._engine.feed(text)
        if self._engine.captures:
            self._begun = ""
        else:
            self._look_at(text.rpartition(">")[2] if captured else text)
        return events

    def _look_at(self, text: str) -> None:
        """Look at text outside captured blocks."""
        self._begun = (self._begun + text).lstrip()
        if self._begun.startswith("<"):
            _tag, closed, rest = self._begun.rpartition(">")
            is_begun = bool(closed and rest.strip()) or len(self._begun) > LONGEST_TAG
        else:
            is_begun = bool(self._begun)
        if is_begun and self._on_words is not None:
            self._on_words()
            self._on_words = None

    def flush(
        self,
        reason: Literal["tool_call", "stop"],
        *,
        trim_incomplete_clause: bool = False,
        only_whole: bool = False,
    ) -> Sequence[Event]:
        return self._engine.flush(
            reason, trim_incomplete_clause=trim_incomplete_clause, only_whole=only_whole
        )

    def finish(self) -> Sequence[Event]:
        return self._engine.finish()

    def discard(self) -> Sequence[Event]:
        return self._engine.discard()

    def preview(self) -> Sequence[Message]:
        return self._engine.preview()

    def carry(self) -> Any:
        return self._engine.carry()


# What one stream is made of: engine, reader, deliverer, ledger and timers, wired together.


class StreamParts:
    """The parts of one stream. `on_silence` is called when the model has sent nothing for long."""

    def __init__(
        self,
        provider: Provider,
        config: StreamConfig,
        context: StreamContext,
        sink: Sink,
        on_silence: Callable[[], None],
    ) -> None:
        self.began_at = asyncio.get_running_loop().time()
        self.provider = provider
        self.response = context.response
        self.waits = InterruptibleWaits()
        self.ledger = Ledger()
        self.timer = InactivityTimer(
            config.inactivity_timeout_ms,
            config.max_answer_ms,
            lambda: self.output.last_chunk_at,
            on_silence,
        )
        context.silent_s = self.timer.silent_s
        self.engine = _engine(config, context)
        self._context = context
        delivery = DeliveryParts(
            config,
            sink,
            context.response,
            waits=self.waits,
            ledger=self.ledger,
            renderer=context.renderer,
            plug_ins=context.plug_ins,
            reply_to=context.reply_to,
            on_sent=self._on_sent,
        )
        self.deliverer = Deliverer(delivery, self.engine.preview)
        thinking = ThinkingLimit(config.max_thinking_ms)
        self.output = ModelOutput(
            self.engine,
            self.deliverer,
            self.ledger,
            thinking,
            _dedup(config) if provider.reemits else None,
            None if context.progress is None else self._on_chunk,
        )
        self.closing = EngineClosing(self.output, self.engine, self.deliverer, self.ledger)
        self.reader = ChunkReader(
            provider, self.output, self.deliverer.queue, self.waits, self.timer, thinking
        )

    def _on_sent(self) -> None:
        self.timer.extend()
        self._context.tell_progress("sent")

    def _on_chunk(self) -> None:
        self._context.tell_progress("chunk")


def _engine(config: StreamConfig, context: StreamContext) -> StreamTextEngine:
    engine = context.make_engine(config.text, context.response.carry)
    indicator = context.response.indicator
    if indicator.awaits_words:
        engine = FirstWordsEngine(engine, indicator.words_came)
    silence = _silence_filter(config, context)
    return engine if silence is None else MarkerFilteredEngine(engine, silence)


def _silence_filter(config: StreamConfig, context: StreamContext) -> SilenceMarkerFilter | None:
    markers = [marker for marker in context.silence_markers if marker.strip()]
    if not markers:
        return None
    persona = config.text.persona
    return SilenceMarkerFilter(
        markers,
        () if persona is None else persona.names,
        is_offered=context.offers_silence,
        is_topic=context.asks_about_silence,
        starts_in_thought=config.text.starts_in_thought,
    )


def _dedup(config: StreamConfig) -> Reemission:
    return Reemission(config.stream_chunk_dedup_min_chars, config.stream_chunk_dedup_tail_chars)
