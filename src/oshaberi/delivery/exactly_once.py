"""Sends one message exactly once, or says why not (spec 07, recovery and exactly once).

A refusal is certain, everything else is ambiguous. The bot's messages are repeated under the same
nonce; a webhook's message is looked for in the channel before it is sent again. Edits and deletions
may be repeated, since they are idempotent.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from oshaberi.delivery.outcomes import (
    TOKEN_REVOKED,
    Delivered,
    EditOutcome,
    Failed,
    Gone,
    NoWebhook,
    Outcome,
    RefusalRecovery,
    Refused,
    Unavailable,
    Uncertain,
    Withdrawn,
    recovery_of,
)
from oshaberi.delivery.response import ResponseState
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
from oshaberi.turn_tracing import is_traced, turn_span

log = logging.getLogger(__name__)

T = TypeVar("T")

PATIENCE_SECONDS = 90.0
"""How long after the first attempt a message is given up."""
RETRY_SECONDS = (1.0, 2.0, 4.0, 8.0)
AWAY_SECONDS = 2.0
"""How often a message that waits for Discord's return checks whether it is back."""

DOUBTS = (AmbiguousError, OSError, TimeoutError)
"""Errors after which the outcome of the request is unknown."""
SLOW_MODE_SECONDS = 60.0
"""A channel whose next message may leave later than this is unavailable."""
UNKNOWN_WAIT_SECONDS = 5.0
MESSAGE_GONE = 10008
TOO_OLD_TO_EDIT = 30046


@dataclass(slots=True)
class SendAttempts:
    """One message and its attempts, as long as it is unknown whether it arrived."""

    post: Post
    first_at: float
    retries: int = 0
    doubted: bool = False
    """An attempt may have arrived."""
    must_look: bool = False
    """Look for an earlier attempt first: it is too old for its nonce to prevent a second one."""
    webhook_renewed: bool = False
    returned_at: float | None = None
    """When Discord was last known to be away. The patience counts from then on."""

    @property
    def patient_since(self) -> float:
        return self.first_at if self.returned_at is None else self.returned_at

    @property
    def given_up_at(self) -> float:
        return self.patient_since + PATIENCE_SECONDS

    async def wait_for_return(self, waits: InterruptibleWaits, away: SinkAwayError) -> bool | None:
        """Wait a while. Return whether to go on waiting; None if a stop ended the wait.

        For a notice, wait as long as it takes: its reader must see it.
        """
        began = waits.now()
        is_late = began + AWAY_SECONDS > self.first_at + away.patience_s
        if is_late and self.post.embed is None:
            return False
        is_open = await waits.hold(AWAY_SECONDS)
        self.returned_at = waits.now()
        has_nonce = self.post.face is None and waits.now() - self.first_at < PATIENCE_SECONDS
        self.must_look = self.doubted and not has_nonce
        return True if is_open else None

    def next_delay(self) -> float:
        delay = RETRY_SECONDS[min(self.retries, len(RETRY_SECONDS) - 1)]
        self.retries += 1
        return delay


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


class ExactlyOnceSender:
    """Sends messages. Nothing else calls the sink for that."""

    def __init__(self, sink: Sink, waits: InterruptibleWaits, response: ResponseState) -> None:
        self._sink = sink
        self._waits = waits
        self._response = response

    async def deliver(self, post: Post) -> Outcome:
        case = SendAttempts(post, self._waits.now())
        while True:
            try:
                outcome = await self._try(case)
            except SinkAwayError as away:
                outcome = await self._wait_for_return(case, away)
            except WithdrawnError:
                outcome = Uncertain(AmbiguousError("stopped")) if case.doubted else Withdrawn()
            except Exception as error:
                # A fault of the sink itself, which cannot tell what happened to the message.
                return Failed(error, uncertain=True)
            if outcome is not None:
                self._note(post, outcome)
                return outcome

    async def _try(self, case: SendAttempts) -> Outcome | None:
        """Try once. Return the outcome; None if another attempt makes sense."""
        try:
            return await self._attempt(case)
        except DiscordRefusalError as refusal:
            return await self._refused(case, refusal)
        except ArrivalUnknownError as unknown:
            return Uncertain(unknown)
        except DOUBTS as doubt:
            return await self._doubted(case, doubt)

    async def _wait_for_return(self, case: SendAttempts, away: SinkAwayError) -> Outcome | None:
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
                sent = await self._request(lambda wire: self._sink.reply_notice(face, wire))
                if sent is not None:
                    self._response.note_notice(sent)
            except WithdrawnError:
                pass
            except SinkAwayError as away:
                if await case.wait_for_return(self._waits, away):
                    continue
            except Exception as error:
                log.info("no reply notice: %s", error)
            return True

    def _request(self, request: Callable[[WireState], Coroutine[Any, Any, T]]) -> Awaitable[T]:
        return self._waits.request(request, self._response.note_limit_wait)

    def _note(self, post: Post, outcome: Outcome) -> None:
        if not isinstance(outcome, Delivered):
            return
        self._response.indicator.message_came()
        if post.embed is not None:
            self._response.note_notice(outcome.sent)

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
                return Delivered(await self._send_traced(case))
            return Delivered(await self._send(case.post))
        except BaseException:
            indicator.message_is_settled()
            raise

    async def _send_traced(self, case: SendAttempts) -> Sent:
        values = {"oshaberi.via": case.post.via, "oshaberi.attempt": case.retries + 1}
        with turn_span("send", values):
            return await self._send(case.post)

    def _send(self, post: Post) -> Awaitable[Sent]:
        return self._request(lambda wire: self._sink.send(post, wire))

    async def _have_webhook(self, case: SendAttempts) -> bool:
        if self._response.voice.webhook_lost:
            return False
        try:
            await self._request(lambda _wire: self._sink.open_webhook())
        except DiscordRefusalError as refusal:
            if refusal.code == TOKEN_REVOKED:
                raise  # neither the bot nor a webhook can write there
            log.warning("no webhook, speaking as the bot: %s", refusal)
            return False
        except DOUBTS as doubt:
            # Nothing of the message has been sent yet: only the opening is repeated.
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
            found = await self._request(
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


class MessageEdits:
    """Changes the messages of one response. Nothing else calls the sink for that."""

    def __init__(self, sink: Sink, waits: InterruptibleWaits, response: ResponseState) -> None:
        self._sink = sink
        self._waits = waits
        self._response = response

    async def edit(self, sent: Sent, post: Post) -> EditOutcome:
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
        case = SendAttempts(Post(""), self._waits.now())
        while True:
            outcome: EditOutcome | None
            try:
                with turn_span("change", {"oshaberi.via": sent.via}):
                    await self._waits.request(make, self._response.note_limit_wait)
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
        if self._waits.now() + delay > case.given_up_at:
            return Failed(doubt, uncertain=True)
        return None if await self._waits.hold(delay) else Uncertain(doubt)
