"""Every kind of place that discord.py knows, in a bot that knows nothing of Oshaberi."""

from __future__ import annotations

import asyncio
import gc
import weakref
from typing import Any

import aiohttp
import discord
import pytest

from discord_stage import SEND, Fault
from oshaberi import ConfigError, Persona
from oshaberi.discord_io import RequestTrace
from tests.one_call.call_harness import CallHarness, OrdinaryBot, deliver, play

WORLD: dict[str, object] = {
    "guilds": [
        {
            "name": "Stage",
            "members": ["mika", "ren"],
            "channels": ["general", {"name": "quiet", "threads": ["side"]}],
        }
    ]
}


def test_a_message_is_answered_by_a_reply() -> None:
    async def scenario(harness: CallHarness) -> None:
        asked = await harness.asked()
        done = await deliver("one\n", "two", to=asked)
        first, second = harness.messages()
        assert [first.content, second.content] == ["one", "two"]
        assert (first.reference or {})["message_id"] == str(asked.id)
        assert second.reference is None
        assert [sent.id for sent in done.messages] == [first.id, second.id]
        assert (done.status, done.text, done.undelivered) == ("completed", "one\ntwo", "")

    play(scenario)


def test_a_channel_and_a_thread_are_written_to() -> None:
    async def scenario(harness: CallHarness) -> None:
        await deliver("hello", to=harness.channel())
        thread = harness.bot.get_channel(harness.stage.world.channel("side").id)
        await deliver("aside", to=thread)
        partial = harness.bot.get_partial_messageable(harness.channel("quiet").id)
        await deliver("by id", to=partial)
        assert (harness.contents(), harness.contents("side")) == (["hello"], ["aside"])
        assert harness.contents("quiet") == ["by id"]

    play(scenario, world=WORLD)


@pytest.mark.parametrize("as_member", [True, False])
def test_a_user_gets_a_direct_message(as_member: bool) -> None:
    async def scenario(harness: CallHarness) -> None:
        mika = harness.stage.world.user("mika").id
        guild = harness.bot.guilds[0]
        user = guild.get_member(mika) if as_member else harness.bot.get_user(mika)
        await deliver("psst", to=user)
        assert harness.contents("@mika") == ["psst"]

    play(scenario)


def test_a_command_of_both_kinds_is_answered() -> None:
    async def scenario(harness: CallHarness) -> None:
        await harness.used(lambda ctx: deliver("by slash", to=ctx), "both")
        answered = asyncio.Event()

        async def use(ctx: Any) -> None:
            await deliver("by prefix", to=ctx)
            answered.set()

        harness.bot.on_use = use
        asked = harness.stage.people.post("general", "!both", user="mika")
        await answered.wait()
        slash, prefix = harness.messages()
        assert [slash.content, prefix.content] == ["by slash", "by prefix"]
        assert slash.interaction_id is not None
        assert (prefix.reference or {})["message_id"] == str(asked.id)

    play(scenario)


def test_a_webhook_speaks_under_any_name() -> None:
    async def scenario(harness: CallHarness) -> None:
        webhook = await harness.channel().create_webhook(name="Radio")
        await deliver("as it is", to=webhook)
        face = Persona("Mochi", avatar_url="https://x.test/m.png")
        done = await deliver("as Mochi", to=webhook, persona=face)
        first, second = harness.messages()
        assert (first.username, second.username) == ("Radio", "Mochi")
        assert {first.webhook_id, second.webhook_id} == {webhook.id}
        assert [sent.via for sent in done.messages] == ["webhook"]

    play(scenario)


def test_a_webhook_needs_no_client() -> None:
    async def scenario(harness: CallHarness) -> None:
        made = await harness.channel().create_webhook(name="Radio")
        async with aiohttp.ClientSession() as session:
            url = f"https://discord.com/api/webhooks/{made.id}/{made.token}"
            webhook = discord.Webhook.from_url(url, session=session)
            done = await deliver("one\n", "two", to=webhook, persona="Mochi")
        assert harness.contents() == ["one", "two"]
        assert done.status == "completed"

    play(scenario)


def test_a_webhooks_message_whose_outcome_is_unknown_is_sent_once() -> None:
    async def scenario(harness: CallHarness) -> None:
        webhook = await harness.channel().create_webhook(name="Radio")
        route = "POST /webhooks/*/*"
        harness.stage.fault(Fault(kind="status", route=route, status=502, after=True))
        harness.stage.fault(Fault(kind="status", route=route, status=502, call=3))
        done = await deliver("one\ntwo\nthree", to=webhook)
        assert harness.contents() == ["one", "two", "three"]
        assert done.status == "completed"

    play(scenario)


def test_a_persona_speaks_through_a_webhook() -> None:
    async def scenario(harness: CallHarness) -> None:
        await deliver("I was asleep.", to=harness.channel(), persona="Mochi")
        (message,) = harness.messages()
        assert (message.username, message.content) == ("Mochi", "I was asleep.")

    play(scenario)


def test_what_is_no_place_is_refused_in_one_line() -> None:
    async def scenario(harness: CallHarness) -> None:
        guild = harness.bot.guilds[0]
        for wrong in (guild, "general", None, 7):
            with pytest.raises(TypeError, match="cannot send to") as raised:
                await deliver("hi", to=wrong)
            assert "\n" not in str(raised.value)
        with pytest.raises(ConfigError, match="only the answer to an interaction"):
            await deliver("hi", to=harness.channel(), ephemeral=True)
        with pytest.raises(ConfigError, match="did you mean max_typing_time_ms"):
            await deliver("hi", to=harness.channel(), max_typing_time=1)

    play(scenario)


def test_a_channel_that_cannot_be_written_to_is_a_value() -> None:
    async def scenario(harness: CallHarness) -> None:
        harness.stage.deny("general", "send_messages")
        done = await deliver("one\ntwo", to=harness.channel())
        assert (done.stop_reason, done.undelivered) == ("channel_unavailable", "one\ntwo")
        assert done.messages == ()

    play(scenario)


# How it hooks into a client.


def test_it_attaches_to_a_client_once_and_leaves_it_as_it_was() -> None:
    async def scenario(harness: CallHarness) -> None:
        session = harness.bot.http._HTTPClient__session  # type: ignore[attr-defined]
        assert session.trace_configs == []
        await deliver("one", to=harness.channel())
        await deliver("two", to=harness.channel())
        (trace,) = session.trace_configs
        assert isinstance(trace, RequestTrace)
        assert [len(them) for them in harness.bot._listeners.values()] == [1]
        await harness.bot.close()
        assert session.trace_configs == []
        assert "close" not in harness.bot.__dict__
        assert not any("oshaberi" in name for name in harness.bot.__dict__)

    play(scenario)


def test_a_trace_of_the_callers_own_stays() -> None:
    seen: list[str] = []

    async def note(_session: Any, _ctx: Any, params: aiohttp.TraceRequestStartParams) -> None:
        seen.append(params.url.path)

    theirs = aiohttp.TraceConfig()
    theirs.on_request_start.append(note)

    async def scenario(harness: CallHarness) -> None:
        harness.stage.fault(Fault(kind="status", route=SEND, status=502, after=True))
        await deliver("one", to=harness.channel())
        assert harness.contents() == ["one"]
        assert any(path.endswith("/messages") for path in seen)

    play(scenario, http_trace=theirs)


def test_a_closed_client_is_forgotten() -> None:
    kept: list[weakref.ref[OrdinaryBot]] = []

    async def scenario(harness: CallHarness) -> None:
        await deliver("one", to=harness.channel())
        kept.append(weakref.ref(harness.bot))

    play(scenario)
    gc.collect()
    assert kept[0]() is None


def test_the_requests_of_the_bot_itself_are_not_held_up() -> None:
    """The guard that keeps us from a ban slows our requests down, never those of the caller."""

    async def scenario(harness: CallHarness) -> None:
        await deliver("one", to=harness.channel())
        hook = harness.bot.__dict__["_oshaberi_hook"]
        for _ in range(9000):
            hook.state.guard.note(403)
        assert hook.state.guard.is_spaced
        loop = asyncio.get_running_loop()
        began = loop.time()
        for number in range(4):
            await harness.channel().send(f"own {number}")
        assert loop.time() - began < 5.0

    play(scenario)
