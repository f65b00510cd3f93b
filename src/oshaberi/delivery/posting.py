"""One message on its way to the sink: its name and avatar, and whether it is a reply."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from oshaberi.delivery.attachments import (
    PERSONA_MODE,
    DeliveryPlugIns,
    PersonaMessage,
)
from oshaberi.delivery.config import StreamConfig
from oshaberi.delivery.exactly_once import ExactlyOnceSender
from oshaberi.delivery.ledger import DeliveryRecord
from oshaberi.delivery.outcomes import Delivered, NoWebhook, Outcome, Withdrawn
from oshaberi.delivery.queue import OutgoingMessage
from oshaberi.delivery.response import ResponseState
from oshaberi.delivery.sink import File, Post, Sent, Sink, WebhookFace
from oshaberi.events import Identity
from oshaberi.text.config import Persona
from oshaberi.text.measure import utf16_len
from oshaberi.text.normalize.webhook_names import webhook_username

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


class MessagePoster:
    """Posts messages: as the bot, through the webhook, or as the bot where no webhook works.

    `may_send` becomes false on a stop: then nothing new is sent.
    """

    def __init__(
        self,
        config: StreamConfig,
        sink: Sink,
        sender: ExactlyOnceSender,
        response: ResponseState,
        record: DeliveryRecord,
        may_send: Callable[[], bool],
        reply_to: bool,
        plug_ins: DeliveryPlugIns,
    ) -> None:
        self._config = config
        self._sink = sink
        self._sender = sender
        self._response = response
        self._voice = response.voice
        self._reply_rule = response.reply_rule
        self._record = record
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
        post, face = self._display(post, item.identity)
        if face is not None and not self._voice.webhook_lost:
            worn = replace(post, face=face)
            outcome = await self._wear(face, worn)
            if not isinstance(outcome, NoWebhook):
                return outcome, worn
            self._voice.webhook_lost = True
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
            nonce=self._response.nonce(),
            content=text,
            face=face_of(identity, self._config.text.persona),
            silent=silent,
            suppress_embeds=self._config.suppress_embeds,
        )
        if post.face is None:
            return await self._speak(None, post)
        outcome = NoWebhook() if self._voice.webhook_lost else await self._wear(post.face, post)
        self._voice.webhook_lost = isinstance(outcome, NoWebhook)
        return outcome, post

    def _display(self, post: Post, identity: Identity | None) -> tuple[Post, WebhookFace | None]:
        """Return text, name and avatar in the form that the display mode chooses."""
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
        """Return whether the next message is a reply."""
        may_reply = self._reply_to and (self._reply_rule.every or not self._voice.replied)
        return may_reply and self._reply_rule.is_due()

    async def _wear(self, face: WebhookFace, post: Post) -> Outcome:
        # One notice is enough for a response, even where every message replies.
        if not self._voice.replied and self._answers:
            if not await self._sender.notice(face):
                return NoWebhook()
            self._voice.replied = True
            if not self._may_send():
                return Withdrawn()
        outcome = await self._sender.deliver(post)
        if isinstance(outcome, Delivered):
            self._note_post(outcome.sent, None)
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
            self._note_post(outcome.sent, face)
        return outcome, post

    def _must_name(self, face: WebhookFace) -> bool:
        known = (self._sink.display_name, getattr(self._voice.spoken_as, "username", None))
        return face.username not in known

    async def _name_alone(self, face: WebhookFace, post: Post) -> Outcome:
        nonce = self._response.nonce()
        label = replace(post, nonce=nonce, content=bold_name(face), files=(), reply=self._answers)
        outcome = await self._sender.deliver(label)
        if isinstance(outcome, Delivered):
            self._note_post(outcome.sent, face)
        return outcome

    def _note_post(self, sent: Sent, spoken_as: WebhookFace | None) -> None:
        self._voice.spoken_as = spoken_as
        self._voice.replied = self._voice.replied or self._reply_to
        self._record.note_post(sent)

    def take_back(self, sent: Sent, spoken_before: WebhookFace | None) -> None:
        """Note that a message was deleted."""
        self._record.note_deleted(sent)
        self._voice.spoken_as = spoken_before

    def reply_again(self) -> None:
        """Let the next message reply, because the one that replied was deleted."""
        self._voice.replied = False
