"""Answers to commands: deferred, followed up, for one person only, and when the token is over."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import discord
import pytest

import oshaberi
from discord_stage import Fault, Settings
from discord_stage.world.records import MessageFlag
from oshaberi import Delivery
from tests.one_call.call_harness import CallHarness, deliver, play

FOLLOW_UP = "POST /webhooks/*/*"


def test_a_command_is_deferred_and_followed_up() -> None:
    async def scenario(harness: CallHarness) -> None:
        done = await harness.used(lambda interaction: deliver("one\n", "two", to=interaction))
        first, second = harness.messages()
        assert [first.content, second.content] == ["one", "two"]
        assert not first.flags & MessageFlag.LOADING
        assert [sent.id for sent in done.messages] == [first.id, second.id]
        callback, *_rest = harness.stage.calls("POST /interactions/*/*/callback")
        assert (
            callback.body["type"] == discord.InteractionResponseType.deferred_channel_message.value
        )

    play(scenario)


def test_an_ephemeral_answer_is_seen_by_one_person() -> None:
    async def scenario(harness: CallHarness) -> None:
        mika = harness.stage.world.user("mika").id
        await harness.used(lambda target: deliver("one\ntwo", to=target, ephemeral=True))
        assert harness.contents() == ["one", "two"]
        assert [message.ephemeral_to for message in harness.messages()] == [mika, mika]

    play(scenario)


@pytest.mark.parametrize("is_ephemeral", [True, False])
def test_a_command_that_the_caller_has_deferred_is_gone_on_with(is_ephemeral: bool) -> None:
    async def answer(interaction: discord.Interaction[Any]) -> Delivery:
        await interaction.response.defer(ephemeral=is_ephemeral)
        return await deliver("one\ntwo", to=interaction)

    async def scenario(harness: CallHarness) -> None:
        await harness.used(answer)
        assert harness.contents() == ["one", "two"]
        seen = [message.ephemeral_to is not None for message in harness.messages()]
        assert seen == [is_ephemeral, is_ephemeral]

    play(scenario)


def test_a_command_that_the_caller_has_answered_is_followed_up() -> None:
    async def answer(interaction: discord.Interaction[Any]) -> Delivery:
        await interaction.response.send_message("wait")
        return await deliver("one\ntwo", to=interaction)

    async def scenario(harness: CallHarness) -> None:
        await harness.used(answer)
        assert harness.contents() == ["wait", "one", "two"]

    play(scenario)


def test_an_expired_token_goes_on_in_the_channel() -> None:
    async def scenario(harness: CallHarness) -> None:
        def answer(interaction: discord.Interaction[Any]) -> Any:
            return oshaberi.deliver(_late(harness, "one\n", "two\nthree"), to=interaction, degree=1)

        done = await harness.used(answer)
        first, second, third = harness.messages()
        assert [first.content, second.content, third.content] == ["one", "two", "three"]
        assert first.interaction_id is not None
        assert (second.interaction_id, third.interaction_id) == (None, None)
        assert (done.status, done.undelivered) == ("completed", "")

    play(scenario)


def test_an_expired_token_leaves_undelivered_what_the_bot_may_not_write() -> None:
    async def scenario(harness: CallHarness) -> None:
        harness.stage.deny("general", "send_messages")

        def answer(interaction: discord.Interaction[Any]) -> Any:
            return oshaberi.deliver(_late(harness, "one\n", "two\nthree"), to=interaction, degree=1)

        done = await harness.used(answer)
        assert harness.contents() == ["one"]
        assert (done.stop_reason, done.undelivered) == ("channel_unavailable", "two\nthree")

    play(scenario)


def test_what_is_for_one_person_never_goes_to_the_channel() -> None:
    async def scenario(harness: CallHarness) -> None:
        def answer(interaction: discord.Interaction[Any]) -> Any:
            stream = _late(harness, "one\n", "a secret")
            return oshaberi.deliver(stream, to=interaction, degree=1, ephemeral=True)

        done = await harness.used(answer)
        assert harness.contents() == ["one"]
        assert done.undelivered == "a secret"

    play(scenario)


async def _late(harness: CallHarness, first: str, rest: str) -> AsyncIterator[str]:
    """Say the rest when the token has expired."""
    yield first + rest[0]
    await harness.stage.wait_for(lambda: harness.contents() == [first.strip()])
    (interaction,) = harness.stage.world.interactions.values()
    interaction.at -= 901
    yield rest[1:]


def test_a_command_that_is_answered_too_late_is_answered_in_the_channel() -> None:
    async def scenario(harness: CallHarness) -> None:
        async def answer(interaction: discord.Interaction[Any]) -> Delivery:
            (known,) = harness.stage.world.interactions.values()
            known.at -= 4
            return await deliver("one", to=interaction)

        await harness.used(answer)
        (message,) = harness.messages()
        assert (message.content, message.interaction_id) == ("one", None)

    play(scenario)


def test_a_user_install_has_five_follow_ups_and_the_rest_is_joined() -> None:
    async def scenario(harness: CallHarness) -> None:
        lines = [f"line {number}" for number in range(1, 12)]

        def answer(interaction: discord.Interaction[Any]) -> Any:
            return deliver("\n".join(lines), to=interaction)

        done = await harness.used(answer, user_install=True)
        assert len(harness.messages()) == 6
        assert "\n".join(harness.contents()).split("\n") == lines
        assert (done.status, done.undelivered) == ("completed", "")

    play(scenario)


def test_a_user_install_takes_as_much_as_six_messages_hold() -> None:
    async def scenario(harness: CallHarness) -> None:
        lines = [f"{number:02} " + "x" * 700 for number in range(20)]

        def answer(interaction: discord.Interaction[Any]) -> Any:
            return deliver("\n".join(lines), to=interaction)

        done = await harness.used(answer, user_install=True)
        there = "\n".join(harness.contents()).split("\n")
        assert there == lines[: len(there)]
        assert len(there) >= 12
        assert all(len(content) <= 2000 for content in harness.contents())
        assert done.undelivered == "\n".join(lines[len(there) :])

    play(scenario)


@pytest.mark.parametrize("call", [1, 2])
def test_a_follow_up_whose_outcome_is_unknown_is_sent_once(call: int) -> None:
    """There is no nonce, so the channel says whether it is there."""

    async def scenario(harness: CallHarness) -> None:
        for after in (True, False):
            route = f"{FOLLOW_UP}|PATCH /webhooks/*/*/messages/*"
            harness.stage.fault(
                Fault(kind="status", route=route, status=502, call=call, after=after)
            )
        done = await harness.used(lambda target: deliver("one\ntwo\nthree", to=target))
        assert harness.contents() == ["one", "two", "three"]
        assert (done.status, done.undelivered) == ("completed", "")

    play(scenario)


def test_an_answer_without_text_leaves_nothing_that_thinks() -> None:
    async def scenario(harness: CallHarness) -> None:
        done = await harness.used(lambda target: deliver(to=target))
        assert (done.status, harness.messages()) == ("empty_response", [])

    play(scenario)


def test_it_thinks_while_the_caller_runs_a_tool() -> None:
    thinking: list[bool] = []

    async def scenario(harness: CallHarness) -> None:
        async def answer(interaction: discord.Interaction[Any]) -> Delivery:
            call = oshaberi.Chunk("function_call", calls=(oshaberi.ToolCall("brew"),))
            first = await deliver(call, to=interaction)
            assert [one.name for one in first.calls] == ["brew"]
            thinking.append(bool(harness.messages()[0].flags & MessageFlag.LOADING))
            return await deliver("Done.", to=interaction, after=first)

        await harness.used(answer)
        assert (thinking, harness.contents()) == ([True], ["Done."])

    play(scenario)


def test_a_failed_answer_is_the_callers_and_nothing_thinks() -> None:
    async def broken() -> AsyncIterator[str]:
        raise LookupError("no model")
        yield ""

    async def scenario(harness: CallHarness) -> None:
        with pytest.raises(LookupError, match="no model"):
            await harness.used(lambda target: oshaberi.deliver(broken(), to=target))
        assert harness.messages() == []

    play(scenario)


def test_a_button_is_answered_too() -> None:
    class Button(discord.ui.View):
        @discord.ui.button(label="More")
        async def more(self, interaction: discord.Interaction[Any], _button: Any) -> None:
            await deliver("more", to=interaction)
            pressed.set()

    pressed = asyncio.Event()

    async def scenario(harness: CallHarness) -> None:
        sent = await harness.channel().send("press", view=Button())
        harness.stage.people.press(sent.id, "More", user="mika")
        await pressed.wait()
        assert harness.contents() == ["press", "more"]

    play(scenario)


def test_it_is_slow_and_the_limits_of_the_follow_ups_hold() -> None:
    """Five follow-ups in two seconds: the sixth waits, and none is lost."""

    async def scenario(harness: CallHarness) -> None:
        lines = [f"line {number}" for number in range(12)]
        done = await harness.used(lambda target: deliver("\n".join(lines), to=target))
        assert harness.contents() == lines
        assert done.status == "completed"

    play(scenario, settings=Settings(time_scale=1.0))
