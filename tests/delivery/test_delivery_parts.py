"""The small parts of delivery by themselves: gate, queue, ledger, redaction, notices, channel."""

from __future__ import annotations

import asyncio

import pytest

from oshaberi.chunks import ErrorType, ProviderError
from oshaberi.delivery.ledger import DELIVERED, Ledger
from oshaberi.delivery.notices import HEADLINES, error_notice, flush_limit_notice
from oshaberi.delivery.queue import BOUND, MessageQueue, OutgoingMessage, Wait
from oshaberi.delivery.recording_sink import RecordingSink, ScriptedFault
from oshaberi.delivery.sink import AmbiguousError, Post, WebhookFace, WireState
from oshaberi.delivery.waits import InterruptibleWaits
from oshaberi.events import Message, Withheld
from oshaberi.secret_redaction import MASK, redact
from oshaberi.virtual_time import run_virtual


def item(number: int, text: str = "x") -> OutgoingMessage:
    return OutgoingMessage(number, text, None, (), text, 0.0, Wait(0, 0))


class TestGate:
    @pytest.mark.parametrize(
        ("action", "pause_ends", "hold_ends"),
        [("hurry", 1.0, 10.0), ("halt", 1.0, 1.0), ("", 10.0, 10.0)],
    )
    def test_who_wakes_whom(self, action: str, pause_ends: float, hold_ends: float) -> None:
        async def main() -> tuple[float, float, bool]:
            loop, waits = asyncio.get_running_loop(), InterruptibleWaits()
            ends: dict[str, float] = {}

            async def pause() -> None:
                await waits.pause(10)
                ends["pause"] = loop.time()

            async def hold() -> bool:
                waited = await waits.hold(10)
                ends["hold"] = loop.time()
                return waited

            if action:
                loop.call_later(1, getattr(waits, action))
            _, waited = await asyncio.gather(pause(), hold())
            return ends["pause"], ends["hold"], waited

        assert run_virtual(main()) == (pause_ends, hold_ends, action != "halt")

    def test_after_it_nobody_waits(self) -> None:
        async def main() -> float:
            waits = InterruptibleWaits()
            waits.hurry()
            await waits.pause(10)
            waits.halt()
            assert not await waits.hold(10)
            assert not await waits.until(asyncio.get_running_loop().create_future())
            return asyncio.get_running_loop().time()

        assert run_virtual(main()) == 0.0

    @pytest.mark.parametrize(("halted_after", "done"), [(2.0, True), (0.5, False)])
    def test_until_the_work_is_done(self, halted_after: float, done: bool) -> None:
        async def main() -> bool:
            waits = InterruptibleWaits()
            asyncio.get_running_loop().call_later(halted_after, waits.halt)
            work = asyncio.create_task(asyncio.sleep(1))
            found = await waits.until(work)
            await work
            return found

        assert run_virtual(main()) is done


class TestQueue:
    def test_order_and_end(self) -> None:
        async def main() -> list[int]:
            queue = MessageQueue(100)
            queue.extend([item(1), item(2)])
            queue.close()
            numbers = []
            while (head := await queue.head()) is not None:
                numbers.append(head.number)
                queue.take()
            return numbers

        assert run_virtual(main()) == [1, 2]

    def test_room_comes_back_when_one_leaves(self) -> None:
        async def main() -> float:
            loop, queue = asyncio.get_running_loop(), MessageQueue(100)
            queue.extend(item(n) for n in range(BOUND))
            assert queue.full
            loop.call_later(3, queue.take)
            await queue.room()
            return loop.time()

        assert run_virtual(main()) == 3.0

    def test_what_is_put_back_is_first_and_frozen(self) -> None:
        queue = MessageQueue(100)
        queue.extend([item(1, "a"), item(2, "b"), item(3, "c"), item(4, "d")])
        first = queue.take()
        first.attempted = True
        queue.put_back([first])
        queue.join_waiting(5)
        assert len(queue.items) == 4
        queue.join_waiting(3)
        assert [waiting.text for waiting in queue.items] == ["a", "b\nc\nd"]


class TestLedger:
    def test_each_has_one_fate(self) -> None:
        ledger = Ledger()
        one = ledger.expect(Message("one", "newline", segment=1, span=(0, 4)))
        two = ledger.expect(Message("two", "final", segment=2, span=(4, 7)))
        ledger.withhold(Withheld(".", "stray", 2, (4, 7)))
        assert ledger.problems() == ["no fate: 'one'", "no fate: 'two'"]
        ledger.settle(one, DELIVERED, 1)
        ledger.settle(two, "stop")
        assert ledger.problems() == []
        assert ledger.undelivered == "two"
        assert ledger.sums() == {"delivered": 3, "stop": 3, "stray": 1}
        ledger.settle(two, DELIVERED, 2)
        assert ledger.problems() == ["two fates: 'two'"]

    @pytest.mark.parametrize("span", [(3, 7), (5, 7)], ids=["overlap", "gap"])
    def test_segments_tile_the_text(self, span: tuple[int, int]) -> None:
        ledger = Ledger()
        for number, place in enumerate([(0, 4), span], 1):
            entry = ledger.expect(Message("x", "newline", segment=number, span=place))
            ledger.settle(entry, DELIVERED, number)
        assert ledger.problems() == [f"segment 2 begins at {span[0]}, not at 4"]


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("bad key sk-proj-abcDEF123456", "abcDEF123456"),
        ("Authorization: Bearer abcdef123456", "abcdef123456"),
        ("GET https://api.test/v1?key=AIzaSyA1234567890abc&x=1", "AIzaSyA1234567890abc"),
        ('{"api_key": "0123456789abcdef"}', "0123456789abcdef"),
        ("https://discord.test/api/webhooks/123456/AbCdEfGh_token", "AbCdEfGh_token"),
        ("postgresql://bot:hunter2222@db.test/x", "hunter2222"),
        ("token MTIzNDU2Nzg5MDEyMzQ1Njc4.GabcdE.abcdefghijklmnopqrstuvwxyz12", "GabcdE"),
        ("Incorrect API key provided: abcd1234efgh5678", "abcd1234efgh5678"),
    ],
)
def test_secrets_are_masked(text: str, secret: str) -> None:
    assert secret in text
    assert secret not in redact(text)
    assert MASK in redact(text)


@pytest.mark.parametrize("text", ["slow down", "max_tokens: 4096", "the key is here", "a-b-c sk-1"])
def test_ordinary_words_are_not(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize("kind", list(HEADLINES))
def test_every_error_has_a_headline_and_says_its_message_once(kind: ErrorType) -> None:
    headline = HEADLINES[kind]
    assert error_notice(ProviderError(kind, "why")).description == "why"
    assert error_notice(ProviderError(kind, f"{headline}.")).description == ""
    assert error_notice(ProviderError(kind)).title == headline


def test_long_messages_fit_the_embed() -> None:
    assert len(error_notice(ProviderError("api_error", "x" * 9000)).description) == 4096
    assert "40" in flush_limit_notice(40, attached=False).description


class TestChannel:
    """The recording sink behaves like Discord where it matters."""

    def test_a_nonce_is_remembered_for_a_few_minutes_only(self) -> None:
        async def main() -> list[int | None]:
            sink = RecordingSink()
            ids = []
            for pause in (0, 60, 300):
                await asyncio.sleep(pause)
                ids.append((await sink.send(Post("n", "x"), WireState(0))).id)
            return ids

        assert run_virtual(main()) == [1, 1, 2]

    def test_webhooks_have_no_nonce(self) -> None:
        async def main() -> list[str]:
            sink = RecordingSink([ScriptedFault("webhook_send", 1, "reset_after_write")])
            await sink.open_webhook()
            post = Post("n", "x", face=WebhookFace("Ren"))
            with pytest.raises(AmbiguousError):
                await sink.send(post, WireState(0))
            assert len(await sink.find_arrivals(post, 0)) == 1
            await sink.send(post, WireState(0))
            return sink.contents

        assert run_virtual(main()) == ["x", "x"]
