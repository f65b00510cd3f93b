"""Which status a stream ends with: the more decisive fact wins."""

from __future__ import annotations

from dataclasses import dataclass

from oshaberi.chunks import ProviderError, ToolCall
from oshaberi.delivery.outcome import Broken
from oshaberi.stream.reader import Ending
from oshaberi.stream.result import Status, StopReason
from oshaberi.stream.state import Trigger
from oshaberi.stream.stops import StopRequest


@dataclass(frozen=True, slots=True)
class Verdict:
    status: Status
    stop_reason: StopReason | None = None
    data: ToolCall | ProviderError | Exception | None = None


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known at the end."""

    stop: StopRequest | None
    ending: Ending | None
    broken: Broken | None
    expected: int
    """Messages that were to be sent."""
    visible: int
    """Messages that can be read."""
    last_error: Exception | None


def verdict_on(facts: Facts) -> Verdict:
    if facts.stop is not None:
        return _stopped(facts.stop)
    ending = facts.ending
    if ending is not None and ending.trigger is Trigger.ERROR:
        return Verdict("error", data=ending.error)
    if ending is not None and ending.trigger is Trigger.TIMEOUT:
        return Verdict("timeout")
    if facts.broken is not None or ending is None:
        return _broken(facts.broken)
    if ending.trigger is Trigger.GUARD:
        return Verdict("stopped_by_user", "speaker_guard")
    if ending.trigger is Trigger.CALL:
        return Verdict("function_call", data=ending.calls[0] if ending.calls else None)
    if facts.expected == 0:
        return Verdict("empty_response")
    if facts.visible == 0:
        return Verdict("error", data=facts.last_error)
    return Verdict("completed")


def _stopped(stop: StopRequest) -> Verdict:
    if stop.follow_up:
        return Verdict("follow_up_interrupt")
    return Verdict("stopped_by_user", stop.reason)


def _broken(broken: Broken | None) -> Verdict:
    if broken is None:
        return Verdict("error")
    if broken.reason == "error":
        return Verdict("error", data=broken.error)
    return Verdict("stopped_by_user", broken.reason)
