"""The sink with a journal: what stands in it after every way in which a message can end."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, TypeVar

import pytest

from oshaberi.delivery.exactly_once import ExactlyOnceSender
from oshaberi.delivery.journal import (
    JournalledPost,
    JournalledSink,
    JournalledStream,
    post_as_body,
    post_of_body,
    split_nonce,
)
from oshaberi.delivery.outcomes import Delivered, Outcome, Refused, Uncertain, Withdrawn
from oshaberi.delivery.recording_sink import CallKind, RecordingSink, ScriptedFault, Trouble
from oshaberi.delivery.response import ResponseState
from oshaberi.delivery.sink import Embed, File, Post, WebhookFace, WireState
from oshaberi.delivery.waits import InterruptibleWaits
from oshaberi.virtual_time import run_virtual, settle

T = TypeVar("T")

PLAIN = Post("k-1", "hello", reply=True)
WORN = Post("k-1", "hello", face=WebhookFace("Ren", "https://x.test/ren.png"))
EVERYTHING = Post(
    "k-7",
    "text",
    files=(
        File("t.png", b"\x00\xff", source="|a|", alt="a", width=3, height=4),
        File("r.txt", b""),
    ),
    embed=Embed("title", "words"),
    face=WebhookFace("Ren"),
    reply=True,
    silent=True,
    suppress_embeds=True,
)


class MemoryJournal:
    """Keeps what the database would keep, and what was done in which order."""

    def __init__(self) -> None:
        self.streams: dict[str, JournalledStream] = {}
        self.posts: dict[str, JournalledPost] = {}
        self.did: list[str] = []
        self.broken: Callable[[], Awaitable[None]] | None = None

    def queue_begin(self, stream: JournalledStream) -> None:
        self.streams[stream.key] = stream

    async def finish(self, key: str) -> None:
        del self.streams[key]

    async def intend(self, key: str, post: JournalledPost) -> None:
        """Taken at once, durable when `broken` is over."""
        assert key == "k"
        if self.broken is not None:
            await self.broken()
        self.did.append(f"intend {post.nonce}")
        first = self.posts.get(post.nonce, post)
        self.posts[post.nonce] = replace(post, newest_id=first.newest_id)

    def queue_sent(self, key: str, nonce: str, message_id: int | None) -> None:
        assert key == "k"
        self.did.append(f"sent {nonce} as {message_id}")
        if nonce in self.posts:
            self.posts[nonce] = replace(self.posts[nonce], state="sent", message_id=message_id)

    def queue_refused(self, key: str, nonce: str) -> None:
        assert key == "k"
        self.did.append(f"refused {nonce}")
        if nonce in self.posts:
            self.posts[nonce] = replace(self.posts[nonce], state="refused")


class JournaledSender:
    """A sender over a journalled sink over a channel."""

    def __init__(self, *faults: ScriptedFault) -> None:
        self.channel = RecordingSink(faults, display_name="Bot")
        self.journal = MemoryJournal()
        self.waits = InterruptibleWaits()
        self.response = ResponseState(key="k")
        self.newest = 100
        self.sink = JournalledSink(self.channel, self.journal, lambda: self.newest, "k")
        self.sender = ExactlyOnceSender(self.sink, self.waits, self.response)

    async def deliver(self, post: Post) -> Outcome:
        outcome = await self.sender.deliver(post)
        if isinstance(outcome, Delivered):
            self.response.messages.append(outcome.sent)
        return outcome

    @property
    def state(self) -> list[tuple[str, int | None]]:
        return [(post.state, post.message_id) for post in self.journal.posts.values()]


def with_journaled_sender(
    scenario: Callable[[JournaledSender], Awaitable[T]], *faults: ScriptedFault
) -> T:
    async def main() -> T:
        sender = JournaledSender(*faults)
        try:
            result = await scenario(sender)
            await settle()
            assert asyncio.all_tasks() == {asyncio.current_task()}
        finally:
            sender.waits.close()
        return result

    return run_virtual(main())


def test_it_is_written_down_before_it_is_sent() -> None:
    async def scenario(sender: JournaledSender) -> None:
        async def nothing_there_yet() -> None:
            if not sender.journal.did:
                assert sender.channel.contents == []

        sender.journal.broken = nothing_there_yet
        assert isinstance(await sender.deliver(PLAIN), Delivered)
        assert sender.journal.did == ["intend k-1", "sent k-1 as 1"]
        entry = sender.journal.posts["k-1"]
        assert (entry.number, entry.newest_id) == (1, 100)
        assert post_of_body(entry.body) == PLAIN

    with_journaled_sender(scenario)


@pytest.mark.parametrize("post", [PLAIN, WORN], ids=["bot", "webhook"])
@pytest.mark.parametrize("doubt", ["timeout", "reset_before_write", "reset_after_write"])
def test_a_doubt_that_is_cleared_up(post: Post, doubt: Trouble) -> None:
    kind: CallKind = "send" if post.face is None else "webhook_send"

    async def scenario(sender: JournaledSender) -> None:
        assert isinstance(await sender.deliver(post), Delivered)
        assert sender.channel.contents == ["hello"]
        assert sender.state == [("sent", 1)]
        assert sender.journal.did == ["intend k-1", "sent k-1 as 1"], "no second entry is needed"

    with_journaled_sender(scenario, ScriptedFault(kind, 1, doubt))


def test_a_witness_is_not_taken_for_a_twin() -> None:
    async def scenario(sender: JournaledSender) -> None:
        await sender.deliver(WORN)
        await sender.deliver(replace(WORN, nonce="k-2"))
        assert sender.state == [("sent", 1), ("sent", 2)]

    with_journaled_sender(scenario, ScriptedFault("webhook_send", 2, "reset_after_write"))


def test_a_refusal() -> None:
    async def scenario(sender: JournaledSender) -> None:
        assert isinstance(await sender.deliver(replace(PLAIN, reply=False)), Refused)
        assert sender.state == [("refused", None)]

    with_journaled_sender(scenario, ScriptedFault("send", 1, 50035))


def test_a_refusal_that_is_tried_again_otherwise() -> None:
    """What it answers is gone: it goes out without the reply, under the same nonce."""

    async def scenario(sender: JournaledSender) -> None:
        sender.newest = 100
        assert isinstance(await sender.deliver(PLAIN), Delivered)
        assert sender.journal.did == ["intend k-1", "refused k-1", "intend k-1", "sent k-1 as 1"]
        assert post_of_body(sender.journal.posts["k-1"].body) == replace(PLAIN, reply=False)

    with_journaled_sender(scenario, ScriptedFault("send", 1, 10008))


def test_a_refusal_after_a_doubt_proves_nothing() -> None:
    async def scenario(sender: JournaledSender) -> None:
        plain = replace(PLAIN, reply=False)
        await sender.deliver(plain)
        assert sender.channel.contents == ["hello"]
        assert sender.state == [("sent", 1)], "the witness was found"

    with_journaled_sender(
        scenario, ScriptedFault("send", 1, "reset_after_write"), ScriptedFault("send", 2, 50035)
    )


def test_a_doubt_that_stays_is_left_open() -> None:
    async def scenario(sender: JournaledSender) -> None:
        async def stop() -> None:
            await asyncio.sleep(0.5)
            sender.waits.halt()

        stopping = asyncio.create_task(stop())
        assert isinstance(await sender.deliver(PLAIN), Uncertain)
        await stopping
        assert sender.state == [("intended", None)]

    with_journaled_sender(scenario, ScriptedFault("send", 1, "http_503"))


def test_it_was_there_and_is_deleted() -> None:
    async def scenario(sender: JournaledSender) -> None:
        outcome = await sender.deliver(PLAIN)
        assert isinstance(outcome, Delivered)
        assert outcome.sent.id is None
        assert sender.state == [("sent", None)]

    with_journaled_sender(
        scenario, ScriptedFault("send", 1, "reset_after_write"), ScriptedFault("send", 2, 10008)
    )


def test_what_a_stop_withdraws_is_not_sent_after_a_crash() -> None:
    async def scenario(sender: JournaledSender) -> None:
        async def stop() -> None:
            await asyncio.sleep(1)
            sender.waits.halt()

        stopping = asyncio.create_task(stop())
        assert isinstance(await sender.deliver(PLAIN), Withdrawn)
        await stopping
        await settle()
        assert sender.channel.contents == []
        assert sender.state == [("refused", None)]

    with_journaled_sender(scenario, ScriptedFault("send", 1, rate_limit_ms=5000))


def test_a_stop_while_it_is_written_down() -> None:
    """Nothing has left: the entry that was under way is taken back."""

    async def scenario(sender: JournaledSender) -> None:
        async def slow() -> None:
            await asyncio.sleep(0.5)

        async def stop() -> None:
            await asyncio.sleep(0.1)
            sender.waits.halt()

        sender.journal.broken = slow
        stopping = asyncio.create_task(stop())
        assert isinstance(await sender.deliver(PLAIN), Withdrawn)
        await stopping
        assert sender.channel.contents == []
        assert sender.journal.did == ["refused k-1"]

    with_journaled_sender(scenario)


def test_a_send_that_is_cut_off_is_left_open() -> None:
    """A crash of the turn, not a stop: the request was on the wire."""

    async def scenario(sender: JournaledSender) -> None:
        task = asyncio.create_task(sender.deliver(PLAIN))
        await asyncio.sleep(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert sender.state == [("intended", None)]

    with_journaled_sender(scenario, ScriptedFault("send", 1, delay_ms=5000))


def test_a_journal_that_fails_loses_no_answer(caplog: pytest.LogCaptureFixture) -> None:
    """Each message is handed to it all the same: it may keep it until it can be written."""

    async def scenario(sender: JournaledSender) -> None:
        async def fail() -> None:
            raise RuntimeError("disk full")

        sender.journal.broken = fail
        for number in (1, 2, 3):
            post = replace(PLAIN, nonce=f"k-{number}", content=str(number))
            assert isinstance(await sender.deliver(post), Delivered)
            if number == 2:
                sender.journal.broken = None
        assert sender.channel.contents == ["1", "2", "3"]
        assert sender.journal.did == [
            "sent k-1 as 1",
            "sent k-2 as 2",
            "intend k-3",
            "sent k-3 as 3",
        ]

    caplog.set_level(logging.ERROR)
    with_journaled_sender(scenario)
    (told,) = caplog.messages
    assert "disk full" in told


def test_a_reply_notice_waits_for_the_journal() -> None:
    async def scenario(sender: JournaledSender) -> None:
        await sender.sink.open_webhook()
        await sender.sink.reply_notice(WebhookFace("Ren"), WireState(0))
        assert sender.journal.did == ["intend k-notice"]
        assert sender.state == [("refused", None)], "nobody sends it again"

    with_journaled_sender(scenario)


def test_the_rest_passes_through() -> None:
    async def scenario(sender: JournaledSender) -> None:
        assert sender.sink.display_name == "Bot"
        await sender.sink.open_webhook()
        await sender.sink.reply_notice(WebhookFace("Ren"), WireState(0))
        await sender.sink.typing(500)
        outcome = await sender.deliver(PLAIN)
        assert isinstance(outcome, Delivered)
        await sender.sink.edit(outcome.sent, replace(PLAIN, content="changed"), WireState(0))
        await sender.sink.forget_webhook()
        kinds = [record["kind"] for record in sender.channel.records]
        assert kinds == ["reply_notice", "typing", "message", "edit"]
        assert sender.channel.contents == ["changed"]

    with_journaled_sender(scenario)


@pytest.mark.parametrize("post", [PLAIN, WORN, EVERYTHING, Post("k-2")])
def test_a_post_survives_json(post: Post) -> None:
    body: dict[str, Any] = json.loads(json.dumps(post_as_body(post)))
    assert post_of_body(body) == post


def test_a_nonce_taken_apart() -> None:
    assert split_nonce(ResponseState(key="a-b").nonce(12)) == ("a-b", 12)
    assert split_nonce("odd") == ("", 0)
