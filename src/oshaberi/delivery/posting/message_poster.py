"""Posts one message: as the bot, through the webhook, or as the bot where no webhook works.

Handles the reply and the reply notice, the bold name of the fallback, and notifications.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from oshaberi.delivery.bookkeeping.delivery_record import DeliveryRecord
from oshaberi.delivery.delivery_plug_ins import (
    PERSONA_MODE,
    DeliveryPlugIns,
    PersonaMessage,
)
from oshaberi.delivery.outgoing_message import OutgoingMessage
from oshaberi.delivery.posting.exactly_once import ExactlyOnceSender
from oshaberi.delivery.posting.send_outcome import Delivered, NoWebhook, Outcome, Withdrawn
from oshaberi.delivery.posting.webhook_identity import bold_name, face_of, introduced
from oshaberi.delivery.response_state import ResponseState
from oshaberi.delivery.sink import File, Post, Sink, WebhookFace
from oshaberi.delivery.stream_config import StreamConfig
from oshaberi.events import Identity
from oshaberi.text.text_measure import utf16_len


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
