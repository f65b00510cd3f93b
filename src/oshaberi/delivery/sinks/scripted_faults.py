"""Scripted faults: which call of which kind fails, and how (spec 10)."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from oshaberi.delivery.sink import AmbiguousError, DiscordRefusalError, WireState

CallKind = Literal[
    "send", "webhook_send", "create_webhook", "typing", "file", "embed", "edit", "delete"
]
Trouble = Literal["timeout", "reset_before_write", "reset_after_write", "http_503"]


@dataclass(frozen=True, slots=True)
class ScriptedFault:
    """A fault in the `nth` call of a kind (retries count): an error or a delay."""

    on: CallKind
    nth: int
    error: int | Trouble | None = None
    delay_ms: int = 0
    rate_limit_ms: int = 0
    """Waits so long before it leaves; until then it can be withdrawn."""
    retry_after_ms: int | None = None


class FaultScript:
    """Counts the calls and applies the scripted faults."""

    def __init__(self, faults: Iterable[ScriptedFault] = ()) -> None:
        self._faults = {(fault.on, fault.nth): fault for fault in faults}
        self._calls: Counter[CallKind] = Counter()

    def next(self, kind: CallKind) -> ScriptedFault | None:
        self._calls[kind] += 1
        return self._faults.get((kind, self._calls[kind]))


async def strike_before(fault: ScriptedFault | None, wire: WireState | None = None) -> None:
    """Apply the part of a fault that comes before the write."""
    if fault is None:
        return
    if fault.rate_limit_ms and wire is not None:
        wire.hold()
        await asyncio.sleep(fault.rate_limit_ms / 1000)
        wire.leave(asyncio.get_running_loop().time())
    if fault.delay_ms:
        await asyncio.sleep(fault.delay_ms / 1000)
    if isinstance(fault.error, int):
        raise DiscordRefusalError(fault.error, retry_after_ms=fault.retry_after_ms)
    if fault.error == "timeout":
        # Longer than any caller waits.
        await asyncio.sleep(3600)
    if fault.error in ("timeout", "reset_before_write", "http_503"):
        raise AmbiguousError(fault.error)


def strike_after(fault: ScriptedFault | None) -> None:
    """Apply the part that comes after the write: the message arrived, the answer is lost."""
    if fault is not None and fault.error == "reset_after_write":
        raise AmbiguousError(fault.error)
