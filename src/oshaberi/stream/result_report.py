"""Builds the result of a stream from what reading and delivery know."""

from __future__ import annotations

import asyncio

from oshaberi.delivery.bookkeeping.character_ledger import Ledger
from oshaberi.delivery.bookkeeping.delivery_record import DeliveryRecord
from oshaberi.delivery.response_state import ResponseState
from oshaberi.stream.chunk_reader import ChunkReader
from oshaberi.stream.provider_protocol import Provider
from oshaberi.stream.stream_result import Metrics, StreamResult
from oshaberi.stream.stream_status import StreamFacts, verdict_on
from oshaberi.stream.thought_collector import ThoughtLog


def report(
    facts: StreamFacts,
    provider: Provider,
    reader: ChunkReader,
    delivery_record: DeliveryRecord,
    response: ResponseState,
    ledger: Ledger,
    began: float,
) -> StreamResult:
    verdict = verdict_on(facts)
    now = asyncio.get_running_loop().time()
    return StreamResult(
        status=verdict.status,
        stop_reason=verdict.stop_reason,
        data=verdict.data,
        calls=facts.ending.calls if facts.ending else (),
        accumulated_text="\n".join(delivery_record.history),
        thought_log=ThoughtLog(
            parts=reader.thoughts.parts(),
            provider=provider.name,
            model=provider.model,
            duration_ms=_ms(now - began),
            first_reply_url=response.first_url,
        ),
        details=tuple(reader.details),
        undelivered=ledger.undelivered,
        finish_reason=reader.finish_reason,
        usage=reader.usage,
        continuation_prefill=reader.continuation_prefill,
        metrics=_metrics(reader, delivery_record, began, now),
        ledger=ledger,
    )


def _metrics(
    reader: ChunkReader, delivery_record: DeliveryRecord, began: float, now: float
) -> Metrics:
    first = delivery_record.first_at
    return Metrics(
        chunks=reader.chunks,
        characters=reader.characters,
        messages=delivery_record.sent,
        first_message_ms=None if first is None else _ms(first - began),
        queue_wait_ms=_ms(delivery_record.longest_wait),
        duration_ms=_ms(now - began),
    )


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
