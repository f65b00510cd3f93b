"""A sink in memory for tests and replays: keeps messages as Discord would, fails on demand.

A scripted fault says which call of which kind fails, and how (spec 10).
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from oshaberi.clocks import loop_time_s
from oshaberi.delivery.sink import (
    AmbiguousError,
    ArrivalUnknownError,
    DiscordRefusalError,
    Post,
    RequestKind,
    RequestRoom,
    Sent,
    WebhookFace,
    WireState,
)

NONCE_SECONDS = 180
WEBHOOK_GONE = (10015, 50027)
MESSAGE_GONE = 10008

Record = dict[str, Any]
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
    """It waits this long before it is sent, and can be withdrawn until then."""
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
        wire.leave(loop_time_s())
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


@dataclass(slots=True)
class RecordedPost:
    """A message in the channel."""

    id: int
    post: Post
    at: float
    deleted: bool = False


def _nothing(_record: Record) -> None:
    pass


class RecordingSink:
    """A sink in memory. Create it inside the running loop: its clock starts then.

    `records` are the lines of `oshaberi replay --json`, in order; `posted` is the channel.
    """

    def __init__(
        self,
        faults: Iterable[ScriptedFault] = (),
        *,
        display_name: str | None = None,
        readable: bool = True,
        on_record: Callable[[Record], None] = _nothing,
    ) -> None:
        self.records: list[Record] = []
        self.posted: list[RecordedPost] = []
        self._faults = FaultScript(faults)
        self._display_name = display_name
        self._readable = readable
        self._on_record = on_record
        self._started_at = loop_time_s()
        self._last_id = 0
        self._notices: set[int] = set()
        self._webhook = False

    @property
    def display_name(self) -> str | None:
        return self._display_name

    @property
    def contents(self) -> list[str]:
        """Return the final texts of the channel."""
        return [p.post.content for p in self.posted if p.post.content and not p.deleted]

    def room(self, _kind: RequestKind) -> RequestRoom | None:
        return None

    async def send(self, post: Post, wire: WireState) -> Sent:
        fault = self._faults.next(_kind(post))
        await self._strike(fault, wire)
        if post.face is not None and not self._webhook:
            raise DiscordRefusalError(WEBHOOK_GONE[0])
        sent = self._write(post)
        strike_after(fault)
        return sent

    async def edit(self, sent: Sent, post: Post, wire: WireState) -> None:
        fault = self._faults.next("edit")
        await self._strike(fault, wire)
        posted = self._find(sent)
        embed = post.embed or posted.post.embed
        posted.post = replace(posted.post, content=post.content, embed=embed)
        self._record("edit", id=posted.id, content=post.content)
        strike_after(fault)

    async def delete(self, sent: Sent, wire: WireState) -> None:
        fault = self._faults.next("delete")
        await self._strike(fault, wire)
        if sent.id in self._notices:
            self._notices.remove(sent.id)
        else:
            self._find(sent).deleted = True
        self._record("delete", id=sent.id)
        strike_after(fault)

    async def typing(self, ms: int | None) -> None:
        if ms is None:
            return
        self._record("typing", ms=ms)
        await self._strike(self._faults.next("typing"))

    async def reply_notice(self, face: WebhookFace, wire: WireState) -> Sent | None:
        fault = self._faults.next("webhook_send")
        await self._strike(fault, wire)
        if not self._webhook:
            raise DiscordRefusalError(WEBHOOK_GONE[0])
        sent = Sent(self._next_id(), via="webhook")
        self._notices.add(self._last_id)
        self._record("reply_notice", username=face.username)
        strike_after(fault)
        return sent

    async def open_webhook(self) -> None:
        if self._webhook:
            return
        fault = self._faults.next("create_webhook")
        await self._strike(fault)
        self._webhook = True
        strike_after(fault)

    async def forget_webhook(self) -> None:
        self._webhook = False

    async def find_arrivals(self, post: Post, since: float) -> Sequence[Sent]:
        if not self._readable:
            raise ArrivalUnknownError("the history of this channel cannot be read")
        there = [p for p in self.posted if p.at >= since and not p.deleted]
        return [_sent(p) for p in there if _looks_like(p.post, post)]

    async def _strike(self, fault: ScriptedFault | None, wire: WireState | None = None) -> None:
        if fault is not None and fault.error in WEBHOOK_GONE:
            self._webhook = False
        await strike_before(fault, wire)

    def _find(self, sent: Sent) -> RecordedPost:
        for posted in self.posted:
            if posted.id == sent.id and not posted.deleted:
                return posted
        raise DiscordRefusalError(MESSAGE_GONE)

    def _write(self, post: Post) -> Sent:
        """Write the post. The same nonce within a few minutes returns the old message.

        Webhook posts have no nonce.
        """
        if post.face is None:
            for posted in reversed(self.posted):
                fresh = loop_time_s() - posted.at <= NONCE_SECONDS
                if posted.post.face is None and posted.post.nonce == post.nonce and fresh:
                    return _sent(posted)
        posted = RecordedPost(self._next_id(), post, loop_time_s())
        self.posted.append(posted)
        self._record_post(posted)
        return _sent(posted)

    def _record_post(self, posted: RecordedPost) -> None:
        post = posted.post
        if post.embed is not None:
            self._record("embed", title=post.embed.title, description=post.embed.description)
        for file in post.files:
            self._record(
                "file",
                name=file.name,
                bytes=len(file.content),
                width=file.width,
                height=file.height,
                source=file.source,
                alt=file.alt,
                via=post.via,
            )
        if post.content:
            self._record(
                "message",
                id=posted.id,
                content=post.content,
                via=post.via,
                username=post.face and post.face.username,
                avatar_url=post.face and post.face.avatar_url,
                reply=post.reply and post.face is None,
            )

    def _record(self, kind: str, **fields: Any) -> None:
        at_ms = round((loop_time_s() - self._started_at) * 1000)
        record = {"kind": kind, **fields, "at_ms": at_ms}
        self.records.append(record)
        self._on_record(record)

    def _next_id(self) -> int:
        self._last_id += 1
        return self._last_id


def _kind(post: Post) -> CallKind:
    if post.embed is not None:
        return "embed"
    if post.files:
        return "file"
    return "send" if post.face is None else "webhook_send"


def _sent(posted: RecordedPost) -> Sent:
    return Sent(posted.id, f"https://discord.test/channels/1/1/{posted.id}", posted.post.via)


def _looks_like(there: Post, ours: Post) -> bool:
    same_text = there.content.strip() == ours.content.strip() and there.embed == ours.embed
    return same_text and there.via == ours.via and there.files == ours.files
