"""Decides which status a stream ends with: the more decisive fact wins."""

from __future__ import annotations

from dataclasses import dataclass

from oshaberi.chunks import ProviderError, ToolCall
from oshaberi.delivery.posting.send_outcome import Broken
from oshaberi.stream.reading.chunk_reader import ReadingEnd
from oshaberi.stream.stops.stop_registry import StopRequest
from oshaberi.stream.stream_result import Status, StopReason
from oshaberi.stream.stream_state import StreamTrigger


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
