"""Every kind of fault, seen from discord.py."""

from __future__ import annotations

import asyncio

import aiohttp
import discord
import pytest

from discord_stage import SEND, TYPING, WEBHOOK, Fault, Settings, Stage, StageError
from stage_server.listening_client import ListeningClient, run_on_stage, world

CALM = Settings(rate_limits=False)
SPEED = 50.0
"""discord.py's own waits between tries take seconds."""


@pytest.mark.parametrize(("after", "left"), [(False, []), (True, ["x"])])
def test_503_before_and_after_the_effect(after: bool, left: list[str]) -> None:
    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        stage.fault(Fault(kind="status", status=503, route=SEND, after=after))
        with pytest.raises(discord.DiscordServerError):
            await bot.place().send("x")
        assert stage.world.contents("general") == left

    run_on_stage(scenario, settings=CALM)


def test_500_after_the_effect_doubles_a_webhook_message_but_not_a_bot_message() -> None:
    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        webhook = await bot.place().create_webhook(name="w")
        stage.fault(Fault(kind="status", status=500, route=SEND, after=True))
        stage.fault(Fault(kind="status", status=500, route=WEBHOOK, after=True))
        await bot.place().send("by the bot")
        await webhook.send("by the webhook", wait=True)
        assert stage.world.contents("general") == ["by the bot"] + ["by the webhook"] * 2

    run_on_stage(scenario, settings=CALM, speed=SPEED)


@pytest.mark.parametrize(("after", "left"), [(False, []), (True, ["x"])])
def test_a_reset_connection(after: bool, left: list[str]) -> None:
    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        stage.fault(Fault(kind="reset", route=SEND, after=after))
        with pytest.raises(aiohttp.ClientOSError) as caught:
            await bot.place().send("x")
        assert caught.value.errno == 104
        assert stage.world.contents("general") == left
        assert stage.calls(SEND)[0].status == 0

    run_on_stage(scenario, settings=CALM)


@pytest.mark.parametrize(("after", "left"), [(False, []), (True, ["x"])])
def test_a_closed_connection(after: bool, left: list[str]) -> None:
    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        stage.fault(Fault(kind="close", route=SEND, after=after))
        with pytest.raises(aiohttp.ServerDisconnectedError):
            await bot.place().send("x")
        assert stage.world.contents("general") == left

    run_on_stage(scenario, settings=CALM)


def test_a_hang_ends_with_discord_pys_own_patience() -> None:
    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        stage.fault(Fault(kind="hang", route=SEND, after=True))
        with pytest.raises(asyncio.TimeoutError):
            await bot.place().send("x")
        assert stage.world.contents("general") == ["x"]

    run_on_stage(scenario, settings=CALM, speed=300.0)


def test_a_page_of_html_instead_of_an_answer() -> None:
    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        stage.fault(Fault(kind="html", status=403, route=SEND))
        with pytest.raises(discord.Forbidden) as caught:
            await bot.place().send("x")
        assert caught.value.code == 0
        assert "cloudflare" in caught.value.text

    run_on_stage(scenario, settings=CALM)


def test_a_delay() -> None:
    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        stage.fault(Fault(kind="delay", delay_s=30.0, route=SEND, after=True))
        sending = asyncio.create_task(bot.place().send("x"))
        await stage.wait_for(lambda: bot.heard)
        assert not sending.done()
        await sending

    run_on_stage(scenario, settings=CALM, speed=100.0)


def test_a_429_with_via_is_waited_for_and_one_without_is_not() -> None:
    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        limit = Fault(kind="status", status=429, retry_after_s=0.01, route=SEND)
        stage.fault(limit)
        await bot.place().send("x")
        assert [record.status for record in stage.calls(SEND)] == [429, 200]
        stage.fault(Fault(kind="status", status=429, via=False, route=SEND))
        with pytest.raises(discord.HTTPException) as caught:
            await bot.place().send("y")
        assert caught.value.status == 429

    run_on_stage(scenario, settings=CALM)


def test_the_event_before_the_answer() -> None:
    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        stage.fault(Fault(kind="event_first", route=SEND))
        await bot.place().send("x")
        assert bot.events[-1] == "MESSAGE_CREATE"

    run_on_stage(scenario, settings=CALM)


def test_the_event_after_the_answer() -> None:
    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        stage.fault(Fault(kind="event_late", route=SEND))
        await bot.place().send("x")
        assert "MESSAGE_CREATE" not in bot.events
        await stage.wait_for(lambda: bot.texts == ["x"])

    run_on_stage(scenario, settings=CALM)


@pytest.mark.parametrize(("kind", "heard"), [("event_twice", ["x", "x"]), ("event_lost", [])])
def test_the_event_twice_or_never(kind: str, heard: list[str]) -> None:
    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        stage.fault(Fault.from_json({"kind": kind, "route": SEND}))
        await bot.place().send("x")
        await stage.settled()
        assert bot.texts == heard
        assert stage.world.contents("general") == ["x"]

    run_on_stage(scenario, settings=CALM)


def test_a_webhook_is_revoked_under_the_senders_feet() -> None:
    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        webhook = await bot.place().create_webhook(name="w")
        stage.fault(Fault(kind="revoke_webhook", route=WEBHOOK, call=2))
        await webhook.send("one", wait=True)
        with pytest.raises(discord.NotFound) as caught:
            await webhook.send("two", wait=True)
        assert caught.value.code == 10015
        assert stage.world.contents("general") == ["one"]
        await stage.settled()
        assert bot.events.count("WEBHOOKS_UPDATE") == 2

    run_on_stage(scenario, settings=CALM)


def test_a_channel_is_deleted_under_the_senders_feet() -> None:
    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        place = bot.place("random")
        stage.fault(Fault(kind="delete_channel", channel="random"))
        with pytest.raises(discord.NotFound) as caught:
            await place.send("x")
        assert caught.value.code == 10003
        await stage.wait_for(lambda: bot.get_channel(place.id) is None)

    run_on_stage(scenario, settings=CALM)


@pytest.mark.parametrize(
    ("permission", "code"), [("send_messages", 50013), ("view_channel", 50001)]
)
def test_a_permission_is_lost_under_the_senders_feet(permission: str, code: int) -> None:
    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        stage.fault(Fault(kind="lose_permission", permission=permission, route=SEND, call=2))
        await bot.place().send("one")
        with pytest.raises(discord.Forbidden) as caught:
            await bot.place().send("two")
        assert caught.value.code == code
        assert stage.world.contents("general") == ["one"]

    run_on_stage(scenario, settings=CALM)


def test_faults_match_by_route_channel_call_attempt_and_times() -> None:
    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        here = stage.fault(Fault(kind="status", status=503, route=SEND, channel="random", call=2))
        again = stage.fault(Fault(kind="status", status=500, route=SEND, attempt=2, times=None))
        stage.fault(Fault(kind="status", status=500, route=SEND, channel="general"))
        typing = stage.fault(Fault(kind="status", status=503, route=TYPING))
        await bot.place("random").send("1")
        await bot.place("general").send("1")
        with pytest.raises(discord.DiscordServerError):
            await bot.place("random").send("2")
        await bot.place("random").send("3")
        statuses = [
            (r.channel_id == bot.place().id, r.attempt, r.status) for r in stage.calls(SEND)
        ]
        assert statuses == [
            (False, 1, 200),
            (True, 1, 500),
            (True, 2, 500),
            (True, 3, 200),
            (False, 1, 503),
            (False, 1, 200),
        ]
        counts = [stage.faults.struck(fault) for fault in (here, again, typing)]
        assert counts == [1, 1, 0]
        assert stage.world.contents("random") == ["1", "3"]

    run_on_stage(scenario, world("general", "random"), settings=CALM, speed=SPEED)


def test_a_share_of_calls_can_fail_and_always_the_same_ones() -> None:
    outcomes: list[list[int | None]] = []

    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        stage.fault(Fault(kind="status", status=503, route=SEND, times=None, chance=0.3))
        for number in range(40):
            try:
                await bot.place().send(str(number))
            except discord.DiscordServerError:
                continue
        outcomes.append([record.status for record in stage.calls(SEND)])

    for _ in range(2):
        run_on_stage(scenario, settings=Settings(rate_limits=False, seed=7))
    assert outcomes[0] == outcomes[1]
    assert 4 <= outcomes[0].count(503) <= 20


def test_the_world_changes_between_two_calls() -> None:
    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        general, random = bot.place("general"), bot.place("random")
        webhook = await general.create_webhook(name="w")
        stage.revoke_webhook(webhook.id)
        stage.deny("general", "send_messages")
        stage.delete_channel("random")
        acts = (webhook.send("x", wait=True), general.send("x"), random.send("x"))
        for act, code in zip(acts, (10015, 50013, 10003), strict=True):
            with pytest.raises(discord.HTTPException) as caught:
                await act
            assert caught.value.code == code
        await stage.wait_for(lambda: bot.get_channel(random.id) is None)
        assert not general.permissions_for(bot.guilds[0].me).send_messages
        with pytest.raises(StageError, match="no such permission 'fly'"):
            stage.deny("general", "fly")

    run_on_stage(scenario, world("general", "random"), settings=CALM)


MISTAKES = [
    ({"kind": "explode"}, "no such kind 'explode'"),
    ({"kind": "code", "code": 1}, "no such code 1"),
    ({"kind": "status", "rout": "*"}, "no such key 'rout'"),
    ({"kind": "lose_permission", "permission": "fly"}, "no such permission 'fly'"),
    ({"kind": "reset", "call": 0}, "count from 1"),
    ({"route": "*"}, "`kind` is missing"),
]


@pytest.mark.parametrize(("value", "reason"), MISTAKES)
def test_a_fault_with_a_mistake(value: dict[str, object], reason: str) -> None:
    with pytest.raises(StageError, match=reason):
        Fault.from_json(value)


def test_a_fault_for_a_channel_that_is_not_there() -> None:
    async def scenario(stage: Stage, _bot: ListeningClient) -> None:
        with pytest.raises(StageError, match="no channel 'nowhere'"):
            stage.fault(Fault(kind="reset", channel="nowhere"))

    run_on_stage(scenario)
