"""A sink that stores each message before it is sent, and its outcome afterwards.

After a crash the journal says what arrived, what did not and what is uncertain. If the journal
cannot be written now, the answer is still sent: an unrecorded message is better than a lost one,
and a message that was never stored is never repeated.
"""

from __future__ import annotations

import asyncio
import base64
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Literal, Protocol

from oshaberi.clocks import loop_time_s
from oshaberi.delivery.sink import (
    DiscordRefusalError,
    Embed,
    File,
    Post,
    Sent,
    Sink,
    SinkAwayError,
    WebhookFace,
    WireState,
)
from oshaberi.errors import OshaberiError

log = logging.getLogger(__name__)

MESSAGE_GONE = 10008
LINES = "-lines"
"""The end of the nonce of an entry that is not a message: it notes that there may be messages
beside the answer, which nobody needs once the process has ended."""

PostState = Literal["intended", "sent", "refused"]


@dataclass(frozen=True, slots=True)
class JournalledPost:
    """An outgoing message in the journal: stored before it is sent, marked afterwards."""

    nonce: str
    number: int
    body: Mapping[str, Any]
    """Everything needed to send it again (`post_of_body`)."""
    newest_id: int = 0
    """The newest message of the channel before the first attempt: the search starts there."""
    state: PostState = "intended"
    message_id: int | None = None


@dataclass(frozen=True, slots=True)
class JournalledStream:
    """A running response. `instance` is the process that runs it."""

    key: str
    instance: str
    server_id: int
    channel_id: int
    user_id: int
    answering_id: int | None = None
    persona: str = ""
    began: datetime | None = None
    posts: tuple[JournalledPost, ...] = ()


class JournalAwayError(OshaberiError):
    """The journal cannot be written now. It keeps the entry and writes it later."""


class SendJournal(Protocol):
    """Stores running responses. `key` is `ResponseState.key`.

    Entries are written in the order of the calls, even if callers are cancelled. The journal
    answers or raises JournalAwayError; it never waits for a database that is down.
    """

    def queue_begin(self, stream: JournalledStream) -> None:
        """Queue the start of a response, so that its messages can be stored."""

    async def intend(self, key: str, post: JournalledPost) -> None:
        """Store a message that is about to be sent, first or again. Returns when durable."""

    def queue_sent(self, key: str, nonce: str, message_id: int | None) -> None:
        """Mark a message as sent; without an id it was sent and then deleted."""

    def queue_refused(self, key: str, nonce: str) -> None:
        """Mark a message as certainly not sent."""

    async def finish(self, key: str) -> None:
        """Delete a finished response."""


class JournalledSink:
    """The sink of the response `key`, with a journal. `newest_id` is the newest message, or 0.

    A message is sent when its entry is durable. If the journal cannot store it now, the message
    is sent anyway; that is logged once.
    """

    def __init__(
        self, sink: Sink, journal: SendJournal, newest_id: Callable[[], int], key: str
    ) -> None:
        self._sink = sink
        self._key = key
        self._journal = journal
        self._newest_id = newest_id
        self._intended: dict[str, Post] = {}
        self._doubted: set[str] = set()
        self._known: set[int] = set()
        self._has_warned = False
        # The journal only records requests that create a message.
        self.room = sink.room
        self.edit = sink.edit
        self.delete = sink.delete
        self.typing = sink.typing
        self.open_webhook = sink.open_webhook
        self.forget_webhook = sink.forget_webhook

    @property
    def display_name(self) -> str | None:
        return self._sink.display_name

    async def send(self, post: Post, wire: WireState) -> Sent:
        try:
            await self._intend(post, wire)
            sent = await self._sink.send(post, wire)
        except DiscordRefusalError as refusal:
            self._note_refusal(post, refusal)
            raise
        except asyncio.CancelledError:
            self._note_cut_off(post, wire)
            raise
        except SinkAwayError:
            raise  # nothing was sent; the entry stays, in case the process ends before it can be
        except BaseException:
            self._doubted.add(post.nonce)
            raise
        self._note_arrival(post, sent.id)
        return sent

    async def reply_notice(self, face: WebhookFace, wire: WireState) -> Sent | None:
        """Send the notice after it is stored that one was sent, so that it is never sent twice.

        The journal does not send it again: the entry only says that the response was seen.
        """
        entry = JournalledPost(f"{self._key}-notice", 0, {}, self._newest_id(), state="refused")
        await self._write(self._journal.intend(self._key, entry))
        return await self._sink.reply_notice(face, wire)

    async def find_arrivals(self, post: Post, since: float) -> Sequence[Sent]:
        found = await self._sink.find_arrivals(post, since)
        ours = next((sent for sent in found if sent.id not in self._known), None)
        if ours is not None:
            self._note_arrival(post, ours.id)
        return found

    async def _intend(self, post: Post, wire: WireState) -> None:
        """Store the post. Nothing has been sent yet, so a stop can still withdraw it."""
        if self._intended.get(post.nonce) == post:
            return
        wire.hold()
        key, number = split_nonce(post.nonce)
        entry = JournalledPost(post.nonce, number, post_as_body(post), self._newest_id())
        await self._write(self._journal.intend(key, entry))
        self._intended[post.nonce] = post
        wire.leave(loop_time_s())

    def _note_arrival(self, post: Post, message_id: int | None) -> None:
        if message_id is not None:
            self._known.add(message_id)
        key, _ = split_nonce(post.nonce)
        self._journal.queue_sent(key, post.nonce, message_id)

    def _note_refusal(self, post: Post, refusal: DiscordRefusalError) -> None:
        """Mark a refusal, if it is certain.

        After an ambiguous attempt it is not. But if the bot's nonce gives a deleted
        message, the post had arrived.
        """
        if post.nonce not in self._doubted:
            self._note_unsent(post)
        elif refusal.code == MESSAGE_GONE and post.face is None:
            self._note_arrival(post, None)

    def _note_cut_off(self, post: Post, wire: WireState) -> None:
        if wire.on_wire:
            self._doubted.add(post.nonce)
        elif post.nonce not in self._doubted:
            self._note_unsent(post)

    def _note_unsent(self, post: Post) -> None:
        self._intended.pop(post.nonce, None)
        key, _ = split_nonce(post.nonce)
        self._journal.queue_refused(key, post.nonce)

    async def _write(self, entry: Coroutine[Any, Any, None]) -> None:
        try:
            await entry
        except Exception as error:
            # Whatever is wrong with the journal, the answer must be sent.
            if not self._has_warned:
                self._has_warned = True
                level = logging.WARNING if isinstance(error, JournalAwayError) else logging.ERROR
                reason = error if str(error) else type(error).__name__
                log.log(level, "messages leave before the journal has them: %s", reason)


def split_nonce(nonce: str) -> tuple[str, int]:
    """Split a nonce of `ResponseState.nonce` into the response's key and the message's number."""
    key, _, number = nonce.rpartition("-")
    return key, int(number) if number.isdecimal() else 0


def post_as_body(post: Post) -> dict[str, Any]:
    """Return a post as JSON."""
    return {
        "nonce": post.nonce,
        "content": post.content,
        "files": [_file_as_body(file) for file in post.files],
        "embed": post.embed and asdict(post.embed),
        "face": post.face and asdict(post.face),
        "reply": post.reply,
        "silent": post.silent,
        "suppress_embeds": post.suppress_embeds,
    }


def post_of_body(body: Mapping[str, Any]) -> Post:
    """Return the post from the JSON of `post_as_body`."""
    fields = dict(body)
    fields["files"] = tuple(_file_of_body(file) for file in body["files"])
    fields["embed"] = body["embed"] and Embed(**body["embed"])
    fields["face"] = body["face"] and WebhookFace(**body["face"])
    return Post(**fields)


def _file_as_body(file: File) -> dict[str, Any]:
    return {**asdict(file), "content": base64.b64encode(file.content).decode()}


def _file_of_body(body: Mapping[str, Any]) -> File:
    return File(**{**body, "content": base64.b64decode(body["content"])})
