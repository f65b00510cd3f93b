"""Edits and deletes messages of ours. Both may be repeated, since they are idempotent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from oshaberi.delivery.pacing.interruptible_waits import InterruptibleWaits
from oshaberi.delivery.pacing.request_deadline import WithdrawnError
from oshaberi.delivery.posting.error_code_recovery import RefusalRecovery, recovery_of
from oshaberi.delivery.posting.send_attempts import DOUBTS, SendAttempts
from oshaberi.delivery.posting.send_outcome import (
    Delivered,
    EditOutcome,
    Failed,
    Gone,
    Refused,
    Unavailable,
    Uncertain,
    Withdrawn,
)
from oshaberi.delivery.posting.sink_requests import SinkRequests
from oshaberi.delivery.posting.slow_mode_wait import wait_out
from oshaberi.delivery.response_state import ResponseState
from oshaberi.delivery.sink import DiscordRefusalError, Post, Sent, Sink, SinkAwayError, WireState
from oshaberi.turn_spans import turn_span

TOO_OLD_TO_EDIT = 30046


class MessageEdits:
    """Changes the messages of one response. Nothing else calls the sink for that."""

    def __init__(self, sink: Sink, waits: InterruptibleWaits, response: ResponseState) -> None:
        self._sink = sink
        self._waits = waits
        self._response = response
        self._requests = SinkRequests(waits, response)

    async def edit(self, sent: Sent, post: Post) -> EditOutcome:
        """Edit a message."""
        indicator = self._response.indicator
        indicator.message_leaves(grows=True)
        try:
            outcome = await self._change(sent, lambda wire: self._sink.edit(sent, post, wire))
        finally:
            indicator.message_is_settled()
        indicator.message_grew()
        return outcome

    async def delete(self, sent: Sent) -> EditOutcome:
        """Delete a message. `Gone` counts as deleted."""
        return await self._change(sent, lambda wire: self._sink.delete(sent, wire))

    async def _change(
        self, sent: Sent, make: Callable[[WireState], Coroutine[Any, Any, None]]
    ) -> EditOutcome:
        case = SendAttempts(Post(""), _now())
        while True:
            outcome: EditOutcome | None
            try:
                with turn_span("change", {"oshaberi.via": sent.via}):
                    await self._requests.make(make)
                return Delivered(sent)
            except DiscordRefusalError as refusal:
                outcome = await self._refused(case, refusal)
            except SinkAwayError as away:
                goes_on = await case.wait_for_return(self._waits, away)
                outcome = None if goes_on else Failed(away, uncertain=True)
                outcome = Uncertain(away) if goes_on is None else outcome
            except DOUBTS as doubt:
                outcome = await self._doubted(case, doubt)
            except WithdrawnError:
                outcome = Withdrawn()
            except Exception as error:
                return Failed(error, uncertain=True)
            if outcome is not None:
                return outcome

    async def _refused(
        self, case: SendAttempts, refusal: DiscordRefusalError
    ) -> EditOutcome | None:
        if refusal.code == TOO_OLD_TO_EDIT:
            return Gone()
        match recovery_of(refusal.code):
            case RefusalRecovery.NEW_WEBHOOK | RefusalRecovery.PLAIN:
                return Gone()
            case RefusalRecovery.UNAVAILABLE:
                return Unavailable(refusal)
            case RefusalRecovery.WAIT:
                return await wait_out(self._waits, case, refusal)
            case RefusalRecovery.LEAVE_OUT:
                return Refused(refusal)

    async def _doubted(self, case: SendAttempts, doubt: Exception) -> EditOutcome | None:
        delay = case.next_delay()
        if _now() + delay > case.given_up_at:
            return Failed(doubt, uncertain=True)
        return None if await self._waits.hold(delay) else Uncertain(doubt)


def _now() -> float:
    return asyncio.get_running_loop().time()
