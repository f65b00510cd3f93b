"""One message on its way to the sink: under which name, silently or not, as a post or an edit."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

from oshaberi.delivery.attachments import (
    PERSONA_MODE,
    DeliveryPlugIns,
    PersonaMessage,
)
from oshaberi.delivery.config import StreamConfig
from oshaberi.delivery.delivery_record import DeliveryRecord
from oshaberi.delivery.exactly_once import ExactlyOnceSender, SinkRequests, wait_out
from oshaberi.delivery.outcomes import (
    DOUBTS,
    Delivered,
    EditOutcome,
    Failed,
    Gone,
    MessageLimits,
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
from oshaberi.delivery.queue import OutgoingMessage
from oshaberi.delivery.response import ResponseState
from oshaberi.delivery.sink import (
    DiscordRefusalError,
    File,
    Post,
    Sent,
    Sink,
    SinkAwayError,
    WebhookFace,
    WireState,
)
from oshaberi.delivery.waits import InterruptibleWaits, WithdrawnError
from oshaberi.events import Identity
from oshaberi.text.config import Persona
from oshaberi.text.measure import utf16_len
from oshaberi.text.normalize.webhook_names import webhook_username
from oshaberi.turn_spans import turn_span

# Chooses the name and avatar of a message, and how to show them without a webhook.


_BLOCK_START = re.compile(r"```|#{1,3} |-# |>{1,3} |[-*•] |\d+[.)] |\|")
_MARKUP = re.compile(r"([*_~|`\\>])")


def face_of(identity: Identity | None, persona: Persona | None) -> WebhookFace | None:
    """Return the webhook name and avatar, or None to send as the bot.

    An alter persona always has one (spec 07, webhook path).
    """
    if identity is not None:
        return WebhookFace(identity.username, identity.avatar_url)
    if persona is not None and persona.is_alter:
        return WebhookFace(webhook_username(persona.name), persona.avatar_url)
    return None


def bold_name(face: WebhookFace) -> str:
    name = _MARKUP.sub(r"\\\1", face.username)
    return f"**{name}**:"


def introduced(face: WebhookFace, text: str) -> str:
    """Put the speaker's name in front. Block markup stays at the start of its line."""
    seam = "\n" if _BLOCK_START.match(text) else " "
    return f"{bold_name(face)}{seam}{text}"


# Decides which messages of a response notify their readers (`notify`, spec 07: quiet).


class NotifyPolicy:
    """All messages notify, or only the first or the last of a response."""

    def __init__(
        self, config: StreamConfig, limits: MessageLimits, response: ResponseState
    ) -> None:
        self._notify = config.notify
        self._limits = limits
        self._response = response
        self.least_waiting = 2 if config.notify == "last" else 1
        """How many messages must wait before one is sent: with `notify: last`, two."""

    def is_silent(self, *, ends_response: bool) -> bool:
        """Return whether the next message is sent without a notification."""
        match self._notify:
            case "first":
                return self._response.sent > 0
            case "last":
                return not (ends_response or self._limits.leave_one())
        return False


# Posts one message: as the bot, through the webhook, or as the bot where no webhook works.
#
# Handles the reply and the reply notice, the bold name of the fallback, and notifications.


class MessagePoster:
    """Posts messages. `may_send` becomes false on a stop: then nothing new is sent."""

    def __init__(
        self,
        config: StreamConfig,
        sink: Sink,
        sender: ExactlyOnceSender,
        response: ResponseState,
        delivery_record: DeliveryRecord,
        may_send: Callable[[], bool],
        reply_to: bool,
        plug_ins: DeliveryPlugIns,
    ) -> None:
        self._config = config
        self._sink = sink
        self._sender = sender
        self._response = response
        self._delivery_record = delivery_record
        self._may_send = may_send
        self._reply_to = reply_to
        self._plug_ins = plug_ins

    async def send(
        self, item: OutgoingMessage, *, silent: bool, files: tuple[File, ...] = ()
    ) -> tuple[Outcome, Post]:
        """Send a message. Return the outcome, and the post as it was finally sent."""
        post = Post(
            nonce=self._response.nonce(item.number),
            content="" if files else item.text,
            files=files,
            silent=silent,
            suppress_embeds=self._config.suppress_embeds,
        )
        post, face = self._displayed(post, item.identity)
        if face is not None and not self._response.webhook_lost:
            worn = replace(post, face=face)
            outcome = await self._wear(face, worn)
            if not isinstance(outcome, NoWebhook):
                return outcome, worn
            self._response.webhook_lost = True
            if not self._may_send():
                return Withdrawn(), post
        return await self._speak(face, post)

    async def draft(
        self, text: str, identity: Identity | None, *, silent: bool
    ) -> tuple[Outcome, Post]:
        """Send an unfinished message.

        It is not sent if its webhook is missing: every edit would need the name in front.
        """
        post = Post(
            nonce=self._response.nonce(self._response.next_number()),
            content=text,
            face=face_of(identity, self._config.text.persona),
            silent=silent,
            suppress_embeds=self._config.suppress_embeds,
        )
        if post.face is None:
            return await self._speak(None, post)
        outcome = NoWebhook() if self._response.webhook_lost else await self._wear(post.face, post)
        self._response.webhook_lost = isinstance(outcome, NoWebhook)
        return outcome, post

    def _displayed(self, post: Post, identity: Identity | None) -> tuple[Post, WebhookFace | None]:
        """Return text, name and avatar as the display mode wants them."""
        persona = self._config.text.persona
        face = face_of(identity, persona)
        mode = self._config.display_mode
        if mode == PERSONA_MODE or self._config.delivery == "live":
            return post, face
        name, mood = persona.name if persona else "", (identity and identity.sprite) or ""
        message = PersonaMessage(post.content, face, name, mood, self._response.sent)
        limit = self._config.text.max_single_message_length
        shown = self._plug_ins.shown(mode, message, limit)
        return replace(post, content=shown.text.strip() if post.files else shown.text), shown.face

    @property
    def _answers(self) -> bool:
        response = self._response
        may_reply = self._reply_to and (response.replies_always or not response.replied)
        return may_reply and response.reply_is_due()

    async def _wear(self, face: WebhookFace, post: Post) -> Outcome:
        # One notice is enough for a response, also where every message replies.
        if not self._response.replied and self._answers:
            if not await self._sender.notice(face):
                return NoWebhook()
            self._response.replied = True
            if not self._may_send():
                return Withdrawn()
        outcome = await self._sender.deliver(post)
        if isinstance(outcome, Delivered):
            self._posted(outcome, None)
        return outcome

    async def _speak(self, face: WebhookFace | None, post: Post) -> tuple[Outcome, Post]:
        if face is not None and self._must_name(face):
            named = introduced(face, post.content) if post.content else bold_name(face)
            if utf16_len(named) <= self._config.text.max_single_message_length:
                post = replace(post, content=named)
            else:
                outcome = await self._name_alone(face, post)
                if not isinstance(outcome, Delivered):
                    return outcome, post
                if not self._may_send():
                    return Withdrawn(), post
        if self._answers:
            post = replace(post, reply=True)
        outcome = await self._sender.deliver(post)
        if isinstance(outcome, Delivered):
            self._posted(outcome, face)
        return outcome, post

    def _must_name(self, face: WebhookFace) -> bool:
        known = (self._sink.display_name, getattr(self._response.spoken_as, "username", None))
        return face.username not in known

    async def _name_alone(self, face: WebhookFace, post: Post) -> Outcome:
        nonce = self._response.nonce(self._response.next_number())
        label = replace(post, nonce=nonce, content=bold_name(face), files=(), reply=self._answers)
        outcome = await self._sender.deliver(label)
        if isinstance(outcome, Delivered):
            self._posted(outcome, face)
        return outcome

    def _posted(self, outcome: Delivered, spoken_as: WebhookFace | None) -> None:
        response = self._response
        response.spoken_as = spoken_as
        response.replied = response.replied or self._reply_to
        self._delivery_record.posted(outcome.sent)


# Edits and deletes messages of ours. Both may be repeated, since they are idempotent.


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
