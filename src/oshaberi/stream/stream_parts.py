"""What one stream is made of: engine, reader, deliverer, ledger and timers, wired together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from oshaberi.delivery.bookkeeping.character_ledger import Ledger
from oshaberi.delivery.deliverer import Deliverer
from oshaberi.delivery.delivery_parts import DeliveryParts
from oshaberi.delivery.pacing.interruptible_waits import InterruptibleWaits
from oshaberi.delivery.sink import Sink
from oshaberi.delivery.stream_config import StreamConfig
from oshaberi.stream.first_visible_text import FirstWordsEngine
from oshaberi.stream.provider_protocol import Provider
from oshaberi.stream.reading.chunk_reader import ChunkReader
from oshaberi.stream.reading.engine_closing import EngineClosing
from oshaberi.stream.reading.model_output import ModelOutput
from oshaberi.stream.reading.reemission import Reemission
from oshaberi.stream.silence_marker import MarkerFilteredEngine, SilenceMarkerFilter
from oshaberi.stream.stream_context import StreamContext, StreamTextEngine
from oshaberi.stream.time_limits.inactivity_timer import InactivityTimer
from oshaberi.stream.time_limits.thinking_limit import ThinkingLimit


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
