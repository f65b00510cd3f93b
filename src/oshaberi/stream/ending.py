"""How a stream ends: which status wins, and the result that its books add up to."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass

from oshaberi.chunks import ProviderError, ToolCall
from oshaberi.delivery.outcomes import Broken
from oshaberi.stream.model_output import ThoughtLog
from oshaberi.stream.reader import ReadingEnd
from oshaberi.stream.result import Metrics, Status, StopReason, StreamResult
from oshaberi.stream.silence_marker import MarkerFilteredEngine
from oshaberi.stream.states import StreamTrigger
from oshaberi.stream.stops import StopRequest
from oshaberi.stream.stream_parts import StreamParts

# Decides which status a stream ends with: the more decisive fact wins.


@dataclass(frozen=True, slots=True)
class StatusVerdict:
    status: Status
    stop_reason: StopReason | None = None
    data: ToolCall | ProviderError | Exception | None = None


@dataclass(frozen=True, slots=True)
class StreamFacts:
    """What is known about a stream at its end."""

    stop: StopRequest | None
    ending: ReadingEnd | None
    broken: Broken | None
    expected: int
    """Messages that were to be sent."""
    visible: int
    """Messages that can be read."""
    last_error: Exception | None


def verdict_on(facts: StreamFacts) -> StatusVerdict:
    if facts.stop is not None:
        return _stopped(facts.stop)
    ending = facts.ending
    if ending is not None and ending.trigger is StreamTrigger.ERROR:
        return StatusVerdict("error", data=ending.error)
    if ending is not None and ending.trigger is StreamTrigger.TIMEOUT:
        return StatusVerdict("timeout", data=ending.error)
    if facts.broken is not None or ending is None:
        return _broken(facts.broken)
    if ending.trigger is StreamTrigger.GUARD:
        return StatusVerdict("stopped_by_user", "speaker_guard")
    if ending.trigger is StreamTrigger.CALL:
        return StatusVerdict("function_call", data=ending.calls[0] if ending.calls else None)
    if facts.expected == 0:
        return StatusVerdict("empty_response")
    if facts.visible == 0:
        return StatusVerdict("error", data=facts.last_error)
    return StatusVerdict("completed")


def _stopped(stop: StopRequest) -> StatusVerdict:
    if stop.follow_up:
        return StatusVerdict("follow_up_interrupt")
    if stop.at_boundary:
        return StatusVerdict("interrupted", stop.reason)
    return StatusVerdict("stopped_by_user", stop.reason)


def _broken(broken: Broken | None) -> StatusVerdict:
    if broken is None:
        return StatusVerdict("error")
    if broken.reason == "error":
        return StatusVerdict("error", data=broken.error)
    return StatusVerdict("stopped_by_user", broken.reason)


# Closes the books of a stream and builds its result from what reading and delivery know.


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
