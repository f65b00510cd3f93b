"""A sink that stores each message before it is sent, and afterwards what became of it.

After a crash the journal says what arrived, what did not and what is in doubt. Where the journal
itself fails the answer still goes out: an unknown message is better than a lost one, and what
was never written down is never repeated.
"""

from __future__ import annotations

import asyncio
import base64
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Literal, Protocol

from oshaberi.delivery.sink import (
    DiscordRefusalError,
    Embed,
    File,
    Post,
    Sent,
    Sink,
    WebhookFace,
    WireState,
)

log = logging.getLogger(__name__)

JOURNAL_SECONDS = 5.0
"""Nobody waits longer for the journal than this."""
MESSAGE_GONE = 10008

PostState = Literal["intended", "sent", "refused"]


@dataclass(frozen=True, slots=True)
class JournalledPost:
    """An outgoing message as the journal knows it: written before it is sent, marked after."""

    nonce: str
    number: int
    body: Mapping[str, Any]
    """Everything needed to send it again (`post_of_body`)."""
    newest_id: int = 0
    """The newest message of the channel before the first attempt: where to look from."""
    state: PostState = "intended"
    message_id: int | None = None


@dataclass(frozen=True, slots=True)
class JournalledStream:
    """A response under way. `instance` is the process that runs it."""

    key: str
    instance: str
    server_id: int
    channel_id: int
    user_id: int
    answering_id: int | None = None
    persona: str = ""
    began: datetime | None = None
    posts: tuple[JournalledPost, ...] = ()


class SendJournal(Protocol):
    """Where responses under way are written down. `key` is `Response.key`."""

    async def begin(self, stream: JournalledStream) -> None:
        """A response begins. Its messages can be written down from now on."""

    async def intend(self, key: str, post: JournalledPost) -> None:
        """This message is about to be sent, for the first time or again."""

    async def sent(self, key: str, nonce: str, message_id: int | None) -> None:
        """It is there; without an id it was there and is deleted."""

    async def refused(self, key: str, nonce: str) -> None:
        """It is certainly not there."""

    async def finish(self, key: str) -> None:
        """The response is over: forget it."""


class JournalledSink:
    """One response's sink, with a journal. `newest_id` is the channel's newest message, or 0.

    The first failure of the journal is logged and ends it for this response, so that a database
    that does not answer delays one message and not all of them.
    """

    def __init__(self, sink: Sink, journal: SendJournal, newest_id: Callable[[], int]) -> None:
        self._sink = sink
        self._journal = journal
        self._newest_id = newest_id
        self._intended: dict[str, Post] = {}
        self._doubted: set[str] = set()
        self._known: set[int] = set()
        self._in_order = asyncio.Lock()
        self._writes: set[asyncio.Task[None]] = set()
        self._failed = False

    @property
    def display_name(self) -> str | None:
        return self._sink.display_name

    async def send(self, post: Post, wire: WireState) -> Sent:
        try:
            await self._intend(post, wire)
            sent = await self._sink.send(post, wire)
        except DiscordRefusalError as refusal:
            await self._refused(post, refusal)
            raise
        except asyncio.CancelledError:
            await self._cut_off(post, wire)
            raise
        except BaseException:
            self._doubted.add(post.nonce)
            raise
        await self._arrived(post, sent.id)
        return sent

    async def edit(self, sent: Sent, post: Post, wire: WireState) -> None:
        await self._sink.edit(sent, post, wire)

    async def delete(self, sent: Sent, wire: WireState) -> None:
        await self._sink.delete(sent, wire)

    async def typing(self, ms: int | None) -> None:
        await self._sink.typing(ms)

    async def reply_notice(self, face: WebhookFace, wire: WireState) -> Sent | None:
        return await self._sink.reply_notice(face, wire)

    async def open_webhook(self) -> None:
        await self._sink.open_webhook()

    async def forget_webhook(self) -> None:
        await self._sink.forget_webhook()

    async def find_arrivals(self, post: Post, since: float) -> Sequence[Sent]:
        found = await self._sink.find_arrivals(post, since)
        ours = next((sent for sent in found if sent.id not in self._known), None)
        if ours is not None:
            await self._arrived(post, ours.id)
        return found

    async def _intend(self, post: Post, wire: WireState) -> None:
        """Until it is written down nothing has left, so a stop can still withdraw it."""
        if self._intended.get(post.nonce) == post:
            return
        wire.hold()
        key, number = split_nonce(post.nonce)
        entry = JournalledPost(post.nonce, number, post_as_body(post), self._newest_id())
        await self._write(self._journal.intend(key, entry))
        self._intended[post.nonce] = post
        wire.leave(asyncio.get_running_loop().time())

    async def _arrived(self, post: Post, message_id: int | None) -> None:
        if message_id is not None:
            self._known.add(message_id)
        key, _ = split_nonce(post.nonce)
        await self._write(self._journal.sent(key, post.nonce, message_id))

    async def _refused(self, post: Post, refusal: DiscordRefusalError) -> None:
        """After a doubt a refusal proves nothing, but for the bot's nonce whose message is gone."""
        if post.nonce not in self._doubted:
            await self._not_sent(post)
        elif refusal.code == MESSAGE_GONE and post.face is None:
            await self._arrived(post, None)

    async def _cut_off(self, post: Post, wire: WireState) -> None:
        if wire.on_wire:
            self._doubted.add(post.nonce)
        elif post.nonce not in self._doubted:
            await self._not_sent(post)

    async def _not_sent(self, post: Post) -> None:
        self._intended.pop(post.nonce, None)
        key, _ = split_nonce(post.nonce)
        await self._write(self._journal.refused(key, post.nonce))

    async def _write(self, entry: Coroutine[Any, Any, None]) -> None:
        """Whoever waits may be cancelled; the entry is written all the same."""
        if self._failed:
            entry.close()
            return
        task = asyncio.create_task(self._one_after_the_other(entry))
        self._writes.add(task)
        task.add_done_callback(self._writes.discard)
        await asyncio.wait({task}, timeout=JOURNAL_SECONDS)
        if not task.done():
            task.cancel()
            self._give_up(f"no answer within {JOURNAL_SECONDS:.0f} s")

    async def _one_after_the_other(self, entry: Coroutine[Any, Any, None]) -> None:
        async with self._in_order:
            try:
                await entry
            except Exception as error:
                # Whatever is wrong with the journal, the answer must go out.
                self._give_up(str(error) or type(error).__name__)

    def _give_up(self, reason: str) -> None:
        self._failed = True
        log.error("the journal failed, this answer goes on without it: %s", reason)


def split_nonce(nonce: str) -> tuple[str, int]:
    """The response's key and the message's number, as `Response.nonce` put them together."""
    key, _, number = nonce.rpartition("-")
    return key, int(number) if number.isdecimal() else 0


def post_as_body(post: Post) -> dict[str, Any]:
    """A post as JSON can hold it."""
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
    """What `post_as_body` was made from."""
    fields = dict(body)
    fields["files"] = tuple(_file_of_body(file) for file in body["files"])
    fields["embed"] = body["embed"] and Embed(**body["embed"])
    fields["face"] = body["face"] and WebhookFace(**body["face"])
    return Post(**fields)


def _file_as_body(file: File) -> dict[str, Any]:
    return {**asdict(file), "content": base64.b64encode(file.content).decode()}


def _file_of_body(body: Mapping[str, Any]) -> File:
    return File(**{**body, "content": base64.b64decode(body["content"])})
