"""The call itself on the stage: faults, stops, exceptions, long answers, several at once."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest
from discord.ext import commands

import oshaberi
from discord_stage import SEND, TYPING, Fault
from oshaberi import Chunk, ToolCall
from tests.one_call.call_harness import CallHarness, deliver, play, tokens


@pytest.mark.parametrize("after", [True, False])
@pytest.mark.parametrize("call", [1, 2])
def test_each_message_is_sent_once_though_discord_stumbles(call: int, after: bool) -> None:
    async def scenario(harness: CallHarness) -> None:
        harness.stage.fault(Fault(kind="status", route=SEND, status=502, call=call, after=after))
        done = await deliver("one\ntwo\nthree", to=await harness.asked())
        assert harness.contents() == ["one", "two", "three"]
        assert len(done.messages) == 3

    play(scenario)


def test_discord_py_repeats_nothing_on_its_own() -> None:
    """The trace sees the answer: the same request is not made again within discord.py."""

    async def scenario(harness: CallHarness) -> None:
        harness.stage.fault(Fault(kind="status", route=SEND, status=500, times=1, after=True))
        await deliver("one", to=harness.channel())
        sends = harness.stage.calls(SEND)
        assert [send.status for send in sends] == [500, 200]
        assert sends[0].body["nonce"] == sends[1].body["nonce"]

    play(scenario)


def test_a_long_answer_and_its_code_arrive_whole() -> None:
    code = "\n".join(f"    print({number})  # {'x' * 40}" for number in range(120))
    prose = " ".join(f"word{number}" for number in range(900))
    answer = f"{prose}\n```python\ndef f():\n{code}\n```\nDone."

    async def scenario(harness: CallHarness) -> None:
        pieces = [answer[at : at + 7] for at in range(0, len(answer), 7)]
        done = await deliver(*pieces, to=harness.channel())
        contents = harness.contents()
        assert all(len(content) <= 2000 for content in contents)
        assert all(content.count("```") % 2 == 0 for content in contents)
        words = " ".join(content for content in contents if "```" not in content).split()
        assert words == [*prose.split(), "Done."]
        lines = [line for content in contents for line in content.split("\n")]
        assert [line for line in lines if line.startswith("    print")] == code.split("\n")
        assert done.undelivered == ""

    play(scenario)


def test_a_very_long_answer_is_not_cut() -> None:
    async def scenario(harness: CallHarness) -> None:
        lines = [f"line {number}" for number in range(60)]
        done = await deliver("\n".join(lines), to=harness.channel(), degree=0)
        assert "\n".join(harness.contents()).split() == " ".join(lines).split()
        assert done.status == "completed"
        many = await deliver("\n".join(lines), to=harness.channel("random"))
        assert harness.contents("random") == lines
        assert many.status == "completed"

    world = {"guilds": [{"name": "G", "members": ["mika"], "channels": ["general", "random"]}]}
    play(scenario, world=world)


def test_two_answers_at_once_in_one_channel_stay_whole() -> None:
    async def scenario(harness: CallHarness) -> None:
        harness.stage.fault(Fault(kind="status", route=SEND, status=502, call=3, after=True))
        channel = harness.channel()
        first = [f"a{number}" for number in range(6)]
        second = [f"b{number}" for number in range(6)]
        await asyncio.gather(
            *(deliver("\n".join(lines), "", to=channel) for lines in (first, second))
        )
        contents = harness.contents()
        assert [one for one in contents if one.startswith("a")] == first
        assert [one for one in contents if one.startswith("b")] == second
        assert len(contents) == 12

    play(scenario)


def test_the_text_stays_as_it_is() -> None:
    """A bot's habits (drop unknown emoji, stop at `User:`) are not the library's."""
    said = ":nothing: and std::vector\nUser: hello\nAssistant: hi"

    async def scenario(harness: CallHarness) -> None:
        await deliver(said, to=harness.channel())
        assert "\n".join(harness.contents()) == said

    play(scenario)


# Stopping.


@pytest.mark.parametrize("by", ["channel", "message", "id"])
def test_a_stop_ends_the_answers_of_a_channel(by: str) -> None:
    closed: list[str] = []

    async def endless(name: str) -> AsyncIterator[str]:
        try:
            yield f"{name} begins\nand goes on\n"
            await asyncio.Event().wait()
        finally:
            closed.append(name)

    async def scenario(harness: CallHarness) -> None:
        asked = await harness.asked()
        places: dict[str, Any] = {
            "channel": asked.channel,
            "message": asked,
            "id": asked.channel.id,
        }
        running = [
            asyncio.create_task(oshaberi.deliver(endless(name), to=asked, degree=1))
            for name in ("first", "second")
        ]
        begun = {"first begins", "second begins"}
        await harness.stage.wait_for(lambda: begun <= set(harness.contents()))
        assert oshaberi.stop(places[by])
        done = await asyncio.gather(*running)
        assert [one.status for one in done] == ["stopped_by_user", "stopped_by_user"]
        assert sorted(closed) == ["first", "second"]
        assert not oshaberi.stop(places[by])

    play(scenario)


def test_a_stop_leaves_other_channels_alone() -> None:
    async def scenario(harness: CallHarness) -> None:
        assert not oshaberi.stop(harness.channel())
        assert (await deliver("one", to=harness.channel())).status == "completed"

    play(scenario)


# What the caller's stream raises.


async def breaks_off(*said: str) -> AsyncIterator[str]:
    for piece in said:
        yield piece
    raise LookupError("sk-secret is not valid")


def test_what_the_stream_raises_is_raised_after_what_was_said() -> None:
    async def scenario(harness: CallHarness) -> None:
        with pytest.raises(LookupError, match="sk-secret"):
            await oshaberi.deliver(breaks_off("one\ntw", "o"), to=harness.channel())
        assert harness.contents() == ["one", "two"]
        assert [message.embeds for message in harness.messages()] == [[], []]

    play(scenario)


def test_a_notice_is_posted_only_if_it_is_asked_for() -> None:
    async def scenario(harness: CallHarness) -> None:
        with pytest.raises(LookupError):
            await oshaberi.deliver(breaks_off("one"), to=harness.channel(), notices=True)
        _one, notice = harness.messages()
        assert notice.embeds[0]["title"] == "The model failed to answer"
        assert "sk-secret" not in str(notice.embeds)
        assert notice.components == []

    play(scenario)


def test_on_error_says_something_else() -> None:
    async def scenario(harness: CallHarness) -> None:
        async def sorry(error: Exception) -> str:
            return f"Sorry, {type(error).__name__}."

        stream = breaks_off("one\n")
        done = await oshaberi.deliver(stream, to=harness.channel(), on_error=sorry)
        assert harness.contents() == ["one", "Sorry, LookupError."]
        assert (done.status, done.text) == ("error", "one\nSorry, LookupError.")
        assert len(done.messages) == 2
        assert isinstance(done.error, LookupError)

    play(scenario)


def test_on_error_may_raise_another_exception() -> None:
    async def scenario(harness: CallHarness) -> None:
        def other(error: Exception) -> str:
            raise ValueError("better") from error

        with pytest.raises(ValueError, match="better"):
            await oshaberi.deliver(breaks_off("one"), to=harness.channel(), on_error=other)
        assert harness.contents() == ["one"]

    play(scenario)


def test_a_cancellation_is_passed_on() -> None:
    closed: list[bool] = []

    async def endless() -> AsyncIterator[str]:
        try:
            yield "one\ntwo"
            await asyncio.Event().wait()
        finally:
            closed.append(True)

    async def scenario(harness: CallHarness) -> None:
        running = asyncio.create_task(oshaberi.deliver(endless(), to=harness.channel(), degree=1))
        await harness.stage.wait_for(lambda: harness.contents() == ["one"])
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert closed == [True]
        assert not oshaberi.stop(harness.channel())

    play(scenario)


# Options.


@pytest.mark.parametrize("typing", [True, False])
def test_the_typing_indicator_can_be_left_out(typing: bool) -> None:
    async def scenario(harness: CallHarness) -> None:
        await deliver("one\ntwo", to=harness.channel(), degree=2, typing=typing)
        assert harness.contents() == ["one", "two"]
        assert bool(harness.stage.calls(TYPING)) is typing

    play(scenario)


def test_a_turn_with_tools_is_one_answer() -> None:
    async def scenario(harness: CallHarness) -> None:
        asked = await harness.asked()
        call = Chunk("function_call", calls=(ToolCall("brew", {"minutes": 2}),))
        done = await deliver("Let me see.", call, to=asked)
        while done.calls:
            done = await deliver(f"{done.calls[0].name}: done.", to=asked, after=done)
        first, second = harness.messages()
        assert [first.content, second.content] == ["Let me see.", "brew: done."]
        assert first.reference is not None
        assert second.reference is None
        assert [sent.id for sent in done.messages] == [second.id]

    play(scenario)


def test_settings_are_keywords() -> None:
    async def scenario(harness: CallHarness) -> None:
        done = await deliver("a\nb\nc", to=harness.channel(), send_message_limit=2)
        assert harness.contents() == ["a", "b"]
        assert (done.stop_reason, done.undelivered) == ("send_message_limit", "c")

    play(scenario)


def test_it_works_in_a_cog() -> None:
    class Tea(commands.Cog):
        @commands.command()
        async def tea(self, ctx: commands.Context[Any]) -> None:
            await oshaberi.deliver(tokens("Green.\n", "Or black?"), to=ctx)

    async def scenario(harness: CallHarness) -> None:
        await harness.bot.add_cog(Tea())
        harness.stage.people.post("general", "!tea", user="mika")
        await harness.stage.wait_for(lambda: harness.contents() == ["Green.", "Or black?"])

    play(scenario)


# Models that call back.


def test_what_is_written_in_the_block_is_delivered() -> None:
    async def scenario(harness: CallHarness) -> None:
        async with oshaberi.delivery(to=await harness.asked(), degree=1) as out:
            for token in ("one", "\nt", "wo"):
                assert out.write(token)
        assert harness.contents() == ["one", "two"]
        assert out.result is not None
        assert out.result.status == "completed"

    play(scenario)


def test_another_thread_may_write() -> None:
    async def scenario(harness: CallHarness) -> None:
        def model(on_token: Any) -> None:
            assert threading.current_thread() is not threading.main_thread()
            for token in ("one", "\nt", "wo"):
                on_token(token)

        async with oshaberi.delivery(to=harness.channel(), degree=1) as out:
            await asyncio.to_thread(model, out.write)
        assert harness.contents() == ["one", "two"]

    play(scenario)


def test_what_the_block_raises_is_raised_after_what_was_written() -> None:
    async def scenario(harness: CallHarness) -> None:
        async def fail() -> None:
            async with oshaberi.delivery(to=harness.channel(), degree=1) as out:
                out.write("one")
                raise LookupError("no model")

        with pytest.raises(LookupError, match="no model"):
            await fail()
        assert harness.contents() == ["one"]
        async with oshaberi.delivery(to=harness.channel(), on_error=lambda _: "sorry"):
            raise LookupError("no model")
        assert harness.contents() == ["one", "sorry"]

    play(scenario)


def test_a_writer_hears_of_a_stop() -> None:
    async def scenario(harness: CallHarness) -> None:
        async with oshaberi.delivery(to=harness.channel(), degree=1) as out:
            out.write("one\nt")
            await harness.stage.wait_for(lambda: harness.contents() == ["one"])
            oshaberi.stop(harness.channel())
            await harness.stage.wait_for(lambda: not out.write("more"))
        assert out.result is not None
        assert out.result.status == "stopped_by_user"

    play(scenario)


def test_what_the_block_raises_after_a_stop_is_raised_too() -> None:
    async def scenario(harness: CallHarness) -> None:
        async def fail() -> None:
            async with oshaberi.delivery(to=harness.channel(), degree=1) as out:
                out.write("one\nt")
                await harness.stage.wait_for(lambda: harness.contents() == ["one"])
                oshaberi.stop(harness.channel())
                await harness.stage.wait_for(lambda: not out.write("more"))
                raise LookupError("no model")

        with pytest.raises(LookupError, match="no model"):
            await fail()

    play(scenario)


def test_a_block_that_is_cancelled_ends_the_answer() -> None:
    async def scenario(harness: CallHarness) -> None:
        async def block() -> None:
            async with oshaberi.delivery(to=harness.channel(), degree=1) as out:
                out.write("one\nt")
                await asyncio.Event().wait()

        running = asyncio.create_task(block())
        await harness.stage.wait_for(lambda: harness.contents() == ["one"])
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert not oshaberi.stop(harness.channel())

    play(scenario)


def test_a_wrong_place_ends_the_block_at_once() -> None:
    async def main() -> None:
        with pytest.raises(TypeError, match="cannot send to 'int'"):
            async with oshaberi.delivery(to=7):
                pytest.fail("nobody reads what is written here")

    asyncio.run(main())
