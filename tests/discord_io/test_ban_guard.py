"""Near Discord's ban for invalid requests the bot slows down: typing and reactions first."""

from __future__ import annotations

import asyncio
import logging

import discord
import pytest

from discord_stage import SEND, TYPING, WEBHOOK, Fault, Settings
from oshaberi.bot.observability.metrics import BotMetrics
from oshaberi.delivery.sink import Post, WebhookFace, WireState
from oshaberi.discord_io import BanGuard, RequestBudget, RequestMeter
from oshaberi.discord_io.requests.guards import INVALID, LIMIT, WINDOW_SECONDS, Slowdown
from oshaberi.text.config import Persona
from oshaberi.virtual_time import run_virtual
from tests.discord_io.sink_harness import SinkHarness, guild, run_with_sinks

NO_LIMITS = Settings(rate_limits=False)
AKI = Persona("Aki", is_alter=True)
REACTION = "PUT /channels/*/messages/*/reactions/*/@me"


def now() -> float:
    return asyncio.get_running_loop().time()


def refuse(guard: BanGuard, times: int, status: int = 429) -> None:
    for _ in range(times):
        guard.note(status)


# -- counting ------------------------------------------------------------------------------------


def test_what_counts() -> None:
    async def main() -> None:
        guard = BanGuard()
        for status in range(200, 600):
            guard.note(status)
        assert guard.count == len(INVALID) == 3

    run_virtual(main())


def test_the_window_slides() -> None:
    async def main() -> None:
        guard = BanGuard()
        refuse(guard, 10)
        await asyncio.sleep(300)
        refuse(guard, 5)
        await asyncio.sleep(298)
        assert guard.count == 15
        await asyncio.sleep(4)
        assert guard.count == 5
        await asyncio.sleep(300)
        assert guard.count == 0

    run_virtual(main())


def test_memory_is_bounded() -> None:
    async def main() -> None:
        guard = BanGuard()
        for _ in range(3000):
            refuse(guard, 3)
            await asyncio.sleep(1)
        assert len(guard._slots) <= 603
        assert 1797 <= guard.count <= 1809

    run_virtual(main())


# -- slowing down --------------------------------------------------------------------------------


def test_the_steps_and_the_way_back(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        guard = BanGuard()
        refuse(guard, 2999)
        assert guard.slowdown is Slowdown.NONE
        refuse(guard, 1)
        assert (guard.slowdown, guard.allows_courtesies) == (Slowdown.NO_COURTESIES, False)
        await asyncio.sleep(400)
        refuse(guard, 2000)
        assert guard.is_spaced
        await asyncio.sleep(210)
        assert guard.slowdown is Slowdown.NONE

    with caplog.at_level(logging.INFO, logger="oshaberi"):
        run_virtual(main())
    assert [record.levelname for record in caplog.records] == ["WARNING"] * 4
    assert "3000 requests within 600 s and bans at 10000: typing and" in caplog.messages[0]
    assert "slowed down" in caplog.messages[1]
    assert "as usual" in caplog.messages[3]


def test_without_refusals_nobody_waits() -> None:
    async def main() -> None:
        guard = BanGuard()
        for _ in range(1000):
            await guard.turn()
        assert now() == 0

    run_virtual(main())


def test_a_storm_in_500_channels_never_reaches_the_limit() -> None:
    """Every request is refused, and each is made again at once, for forty minutes."""

    async def main() -> None:
        guard, highest = BanGuard(), 0

        async def channel() -> None:
            nonlocal highest
            while True:
                await guard.turn()
                await asyncio.sleep(0.1)
                guard.note(429)
                highest = max(highest, guard.count)

        channels = [asyncio.create_task(channel()) for _ in range(500)]
        await asyncio.sleep(4 * WINDOW_SECONDS)
        for task in channels:
            task.cancel()
        assert 0.5 * LIMIT < highest <= 0.95 * LIMIT

    run_virtual(main())


def test_a_turn_that_is_given_up_holds_nobody_up() -> None:
    async def main() -> None:
        guard = BanGuard()
        refuse(guard, 8900)
        await guard.turn()
        waiting = [asyncio.create_task(guard.turn()) for _ in range(3)]
        await asyncio.sleep(1)
        for task in waiting:
            task.cancel()
        await asyncio.wait(waiting)
        began = now()
        await guard.turn()
        assert now() - began < 10

    run_virtual(main())


# -- with discord.py -----------------------------------------------------------------------------


def invalid(harness: SinkHarness) -> int:
    return sum(call.status in INVALID for call in harness.stage.calls("*"))


def test_every_refusal_of_both_sessions_is_counted() -> None:
    async def scenario(harness: SinkHarness) -> None:
        for route in (SEND, WEBHOOK, TYPING, "GET *", REACTION):
            fault = Fault(kind="status", status=429, retry_after_s=0.1, route=route, times=2)
            harness.stage.fault(fault)
        harness.stage.fault(Fault(kind="code", code=50013, route=SEND, call=3))
        refused = await harness.play("general", "one\n")
        assert refused.stop_reason == "channel_unavailable"
        await harness.play("other", "one\n", text={"persona": AKI})
        message = await harness.asked("other", "hi")
        await message.add_reaction("👍")
        assert invalid(harness) >= 9
        assert harness.bot.client_state.guard.count == invalid(harness)

    run_with_sinks(
        scenario, world=guild({"name": "general"}, {"name": "other"}), settings=NO_LIMITS
    )


def test_typing_and_reactions_go_first_and_messages_still_arrive() -> None:
    ban_guard = BanGuard(limit=100)

    async def scenario(harness: SinkHarness) -> None:
        refuse(ban_guard, 30)
        result = await harness.play("general", "one\ntwo\n", degree=2)
        assert result.status == "completed"
        assert harness.contents("general") == ["one", "two"]
        assert harness.stage.calls(TYPING) == []

    run_with_sinks(scenario, settings=NO_LIMITS, guard=ban_guard)


def test_sends_of_both_kinds_are_spaced_out_and_can_be_withdrawn() -> None:
    ban_guard = BanGuard(limit=100)

    async def scenario(harness: SinkHarness) -> None:
        sink = harness.bot.client_state.sink(harness.channel("general"))
        await sink.open_webhook()
        refuse(ban_guard, 89)  # a turn every ten seconds
        await sink.send(Post("n-1", "first"), WireState(now()))
        began, wires = now(), [WireState(now()), WireState(now()), WireState(now())]
        posts = [
            Post("n-2", "second"),
            Post("n-3", "third", face=WebhookFace("Aki")),
            Post("n-4", "no"),
        ]
        sends = [
            asyncio.create_task(sink.send(post, wire))
            for post, wire in zip(posts, wires, strict=True)
        ]
        await asyncio.sleep(1)
        assert not any(wire.on_wire for wire in wires)
        sends[2].cancel()
        await asyncio.wait(sends)
        assert 18 < now() - began < 30
        assert harness.contents("general") == ["first", "second", "third"]

    run_with_sinks(scenario, settings=NO_LIMITS, guard=ban_guard, speed=20.0)


def test_other_requests_are_spaced_out_too_but_never_wait_for_ever() -> None:
    ban_guard = BanGuard(limit=100)

    async def scenario(harness: SinkHarness) -> None:
        refuse(ban_guard, 95)
        places: list[discord.TextChannel] = [harness.channel(name) for name in names]
        began = now()
        asking = [asyncio.create_task(place.webhooks()) for place in places]
        await asyncio.wait(asking)
        assert 50 < now() - began < 70
        errors = [task.exception() for task in asking]
        assert sum(error is None for error in errors) in (5, 6, 7)
        assert {type(error).__name__ for error in errors} == {"NoneType", "HeldBackError"}

    names = [f"place-{number}" for number in range(10)]
    world = guild(*({"name": name} for name in names))
    run_with_sinks(scenario, world=world, settings=NO_LIMITS, guard=ban_guard, speed=20.0)


def test_the_metrics_tell() -> None:
    async def main() -> None:
        guard, meter = BanGuard(), BotMetrics()
        meter.discord_requests.watch(guard, RequestBudget(), RequestMeter())
        refuse(guard, 3000, 403)
        refuse(guard, 1, 429)
        text = meter.text().decode()
        assert 'oshaberi_discord_invalid_requests_total{status="403"} 3000.0' in text
        assert 'oshaberi_discord_invalid_requests_total{status="429"} 1.0' in text
        assert "oshaberi_discord_invalid_requests_in_window 3001.0" in text
        assert "oshaberi_discord_slowdown 1.0" in text

    run_virtual(main())
