"""Sends one message exactly once, or says why not (spec 07, recovery and exactly once)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any, TypeVar

from oshaberi.delivery.outcomes import (
    DOUBTS,
    RETRY_SECONDS,
    TOKEN_REVOKED,
    Delivered,
    Failed,
    NoWebhook,
    Outcome,
    RefusalRecovery,
    Refused,
    SendAttempts,
    Unavailable,
    Uncertain,
    Withdrawn,
    recovery_of,
)
from oshaberi.delivery.response import LimitWait, ResponseState
from oshaberi.delivery.sink import (
    AmbiguousError,
    ArrivalUnknownError,
    DiscordRefusalError,
    Post,
    Sent,
    Sink,
    SinkAwayError,
    UnsentError,
    WebhookFace,
    WireState,
)
from oshaberi.delivery.waits import InterruptibleWaits, WithdrawnError
from oshaberi.turn_spans import is_traced, turn_span

# Makes single requests to the sink, and notes how long Discord's limits held them up.
#
# How long a stop waits for a request on the wire is decided in `waits`.


T = TypeVar("T")

NOTED_WAIT_SECONDS = 0.1


class SinkRequests:
    """Makes the requests of one delivery, one at a time."""

    def __init__(self, waits: InterruptibleWaits, response: ResponseState) -> None:
        self._waits = waits
        self._response = response

    async def make(self, request: Callable[[WireState], Coroutine[Any, Any, T]]) -> T:
        """Call the sink once. On a stop, a sent request is awaited, an unsent one withdrawn."""
        wanted_at = self._waits.now()
        wire = WireState(wanted_at)
        try:
            with self._waits.answer.of(wire):
                return await request(wire)
        finally:
            self._note_wait(wanted_at, wire)

    def _note_wait(self, wanted_at: float, wire: WireState) -> None:
        """Discord's limits are waited for without a word; the inspector shows them."""
        if wire.on_wire and wire.left_at - wanted_at >= NOTED_WAIT_SECONDS:
            self._response.limit_waits.append(LimitWait(wanted_at, wire.left_at))


# Waits for slow mode or a rate limit, or finds that it takes too long (spec 07, recovery).


SLOW_MODE_SECONDS = 60.0
"""A channel whose next message may leave later than this is unavailable."""
UNKNOWN_WAIT_SECONDS = 5.0


async def wait_out(
    waits: InterruptibleWaits, case: SendAttempts, refusal: DiscordRefusalError
) -> Unavailable | Uncertain | Withdrawn | None:
    """Wait as long as Discord asks for. Nothing was created, so trying again is safe."""
    after_ms = refusal.retry_after_ms
    seconds = UNKNOWN_WAIT_SECONDS if after_ms is None else after_ms / 1000
    too_late = waits.now() + seconds > case.given_up_at
    if seconds > SLOW_MODE_SECONDS or too_late:
        return Unavailable(refusal)
    if await waits.hold(seconds):
        return None
    return Uncertain(refusal) if case.doubted else Withdrawn()


# Sends one message exactly once, or says why not (spec 07, recovery and exactly once).
#
# A refusal is certain, everything else is ambiguous. The bot's messages are repeated under the
# same nonce; a webhook's message is looked for in the channel before it is sent again.


log = logging.getLogger(__name__)

MESSAGE_GONE = 10008


class ExactlyOnceSender:
    """Sends messages. Nothing else calls the sink for that."""

    def __init__(self, sink: Sink, waits: InterruptibleWaits, response: ResponseState) -> None:
        self._sink = sink
        self._waits = waits
        self._response = response
        self._requests = SinkRequests(waits, response)

    async def deliver(self, post: Post) -> Outcome:
        case = SendAttempts(post, self._waits.now())
        while True:
            try:
                outcome = await self._tried(case)
            except SinkAwayError as away:
                outcome = await self._away(case, away)
            except WithdrawnError:
                outcome = Uncertain(AmbiguousError("stopped")) if case.doubted else Withdrawn()
            except Exception as error:
                # A fault of the sink itself: it cannot tell us what became of the message.
                return Failed(error, uncertain=True)
            if outcome is not None:
                self._note(post, outcome)
                return outcome

    async def _tried(self, case: SendAttempts) -> Outcome | None:
        """Try once. Return the outcome; None if it is worth another try."""
        try:
            return await self._attempt(case)
        except DiscordRefusalError as refusal:
            return await self._refused(case, refusal)
        except ArrivalUnknownError as unknown:
            return Uncertain(unknown)
        except DOUBTS as doubt:
            return await self._doubted(case, doubt)

    async def _away(self, case: SendAttempts, away: SinkAwayError) -> Outcome | None:
        """Wait for Discord's return. The message itself is in the journal."""
        goes_on = await case.wait_for_return(self._waits, away)
        if goes_on is None:
            return Uncertain(away) if case.doubted else Withdrawn()
        return None if goes_on else Failed(away, uncertain=case.doubted)

    async def notice(self, face: WebhookFace) -> bool:
        """Send the reply notice before a webhook's first message. It may fail.

        Returns False if there is no webhook.
        """
        case = SendAttempts(Post("", face=face), self._waits.now())
        while True:
            try:
                if not await self._have_webhook(case):
                    return False
                sent = await self._requests.make(lambda wire: self._sink.reply_notice(face, wire))
                self._response.notices += [sent] if sent is not None else []
            except WithdrawnError:
                pass
            except SinkAwayError as away:
                if await case.wait_for_return(self._waits, away):
                    continue
            except Exception as error:
                log.info("no reply notice: %s", error)
            return True

    def _note(self, post: Post, outcome: Outcome) -> None:
        if not isinstance(outcome, Delivered):
            return
        self._response.indicator.message_came()
        if post.embed is not None:
            self._response.notices.append(outcome.sent)

    async def _attempt(self, case: SendAttempts) -> Outcome | None:
        if case.must_look:
            found = await self._arrival(case)
            case.must_look = False
            if found is not None:
                return Delivered(found)
        if case.post.face is not None and not await self._have_webhook(case):
            return NoWebhook()
        indicator = self._response.indicator
        indicator.message_leaves()
        try:
            if is_traced():
                return Delivered(await self._traced_send(case))
            return Delivered(await self._send(case.post))
        finally:
            indicator.message_is_settled()

    async def _traced_send(self, case: SendAttempts) -> Sent:
        values = {"oshaberi.via": case.post.via, "oshaberi.attempt": case.retries + 1}
        with turn_span("send", values):
            return await self._send(case.post)

    def _send(self, post: Post) -> Coroutine[Any, Any, Sent]:
        return self._requests.make(lambda wire: self._sink.send(post, wire))

    async def _have_webhook(self, case: SendAttempts) -> bool:
        if self._response.webhook_lost:
            return False
        try:
            await self._requests.make(lambda _wire: self._sink.open_webhook())
        except DiscordRefusalError as refusal:
            if refusal.code == TOKEN_REVOKED:
                raise  # neither the bot nor a webhook will be heard
            log.warning("no webhook, speaking as the bot: %s", refusal)
            return False
        except DOUBTS as doubt:
            # Nothing of the message has left yet: opening again is all that is repeated.
            if self._waits.now() - case.patient_since > sum(RETRY_SECONDS):
                log.warning("no webhook, speaking as the bot: %s", doubt)
                return False
            if not await self._waits.hold(case.next_delay()):
                raise WithdrawnError from doubt
            return await self._have_webhook(case)
        return True

    async def _refused(self, case: SendAttempts, refusal: DiscordRefusalError) -> Outcome | None:
        outcome: Outcome | None
        match recovery_of(refusal.code):
            case RefusalRecovery.NEW_WEBHOOK:
                outcome = await self._renew_webhook(case)
            case RefusalRecovery.UNAVAILABLE:
                outcome = Unavailable(refusal)
            case RefusalRecovery.PLAIN:
                outcome = _without_reply(case, refusal)
            case RefusalRecovery.WAIT:
                outcome = await wait_out(self._waits, case, refusal)
            case RefusalRecovery.LEAVE_OUT:
                outcome = Refused(refusal)
        return await self._after_doubts(case, outcome)

    async def _after_doubts(self, case: SendAttempts, outcome: Outcome | None) -> Outcome | None:
        """Check whether an earlier attempt arrived, after this one was refused."""
        if not case.doubted or not isinstance(outcome, Refused | Unavailable):
            return outcome
        try:
            found = await self._arrival(case)
        except (ArrivalUnknownError, *DOUBTS):
            if isinstance(outcome, Refused):
                return Uncertain(outcome.error)
            return Unavailable(outcome.error, uncertain=True)
        return outcome if found is None else Delivered(found)

    async def _renew_webhook(self, case: SendAttempts) -> Outcome | None:
        await self._sink.forget_webhook()
        if case.webhook_renewed:
            return NoWebhook()
        case.webhook_renewed = True
        return None

    async def _doubted(self, case: SendAttempts, doubt: Exception) -> Outcome | None:
        case.doubted = case.doubted or not isinstance(doubt, UnsentError)
        delay = case.next_delay()
        if self._waits.now() + delay > case.given_up_at:
            return await self._last_look(case, doubt)
        if not await self._waits.hold(delay):
            return Uncertain(doubt) if case.doubted else Withdrawn()
        if case.post.face is None or not case.doubted:
            return None  # the nonce makes a repetition harmless
        try:
            found = await self._arrival(case)
        except ArrivalUnknownError:
            return Uncertain(doubt)
        except DOUBTS:
            return await self._doubted(case, doubt)
        return Delivered(found) if found is not None else None

    async def _last_look(self, case: SendAttempts, doubt: Exception) -> Outcome:
        try:
            found = await self._arrival(case)
        except (ArrivalUnknownError, *DOUBTS):
            return Failed(doubt, uncertain=case.doubted)
        if found is not None:
            return Delivered(found)
        if case.post.face is None:
            return Failed(doubt, uncertain=False)
        log.warning("the webhook keeps failing, speaking as the bot: %s", doubt)
        return NoWebhook()

    async def _arrival(self, case: SendAttempts) -> Sent | None:
        """Find the message in the channel, except those known as others of ours."""
        claimed = {sent.id for sent in self._response.messages}
        try:
            found = await self._requests.make(
                lambda _wire: self._sink.find_arrivals(case.post, case.first_at)
            )
        except DiscordRefusalError as refusal:
            raise ArrivalUnknownError(str(refusal)) from refusal
        return next((sent for sent in found if sent.id not in claimed), None)


def _without_reply(case: SendAttempts, refusal: DiscordRefusalError) -> Outcome | None:
    if case.post.reply and not case.doubted:
        case.post = replace(case.post, reply=False)
        return None
    if refusal.code == MESSAGE_GONE and case.doubted and case.post.face is None:
        return Delivered(Sent(None))  # its nonce is known, so it was there and was deleted
    return Refused(refusal)
