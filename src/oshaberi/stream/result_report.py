"""Closes the books of a stream and builds its result from what reading and delivery know."""

from __future__ import annotations

import asyncio
import logging

from oshaberi.stream.silence_marker import MarkerFilteredEngine
from oshaberi.stream.stream_parts import StreamParts
from oshaberi.stream.stream_result import Metrics, StreamResult
from oshaberi.stream.stream_status import StreamFacts, verdict_on
from oshaberi.stream.thought_collector import ThoughtLog

log = logging.getLogger(__name__)


def close_books(parts: StreamParts, *, crashed: bool) -> None:
    """Store what the turn's next stream needs, and check the ledger."""
    response = parts.response
    response.carry = parts.engine.carry()
    if response.first_token_at is None:
        response.first_token_at = parts.output.first_token_at
    if isinstance(parts.engine, MarkerFilteredEngine) and parts.engine.found:
        response.chose_silence = True
        response.silence_reason = parts.engine.reason
    visible = "\n".join(parts.deliverer.delivery_record.history)
    if visible.strip():
        response.text_parts.append(visible)
    parts.deliverer.drop("error")
    if crashed:
        parts.ledger.settle_open("uncertain")
    for problem in parts.ledger.problems():
        log.error("the ledger does not add up: %s", problem)


def report(facts: StreamFacts, parts: StreamParts) -> StreamResult:
    verdict = verdict_on(facts)
    output, delivery_record = parts.output, parts.deliverer.delivery_record
    now = asyncio.get_running_loop().time()
    return StreamResult(
        status=verdict.status,
        stop_reason=verdict.stop_reason,
        data=verdict.data,
        calls=facts.ending.calls if facts.ending else (),
        accumulated_text="\n".join(delivery_record.history),
        thought_log=ThoughtLog(
            parts=output.thoughts.parts(),
            provider=parts.provider.name,
            model=parts.provider.model,
            duration_ms=_ms(now - parts.began_at),
            first_reply_url=parts.response.first_url,
        ),
        details=tuple(output.details),
        undelivered=parts.ledger.undelivered,
        unfinished=parts.closing.unfinished,
        finish_reason=output.finish_reason,
        usage=output.usage,
        continuation_prefill=output.continuation_prefill,
        metrics=_metrics(parts, now),
        ledger=parts.ledger,
    )


def _metrics(parts: StreamParts, now: float) -> Metrics:
    delivery_record = parts.deliverer.delivery_record
    first = delivery_record.first_at
    return Metrics(
        chunks=parts.output.chunks,
        characters=parts.output.characters,
        messages=delivery_record.sent,
        first_message_ms=None if first is None else _ms(first - parts.began_at),
        queue_wait_ms=_ms(delivery_record.longest_wait),
        duration_ms=_ms(now - parts.began_at),
    )


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
