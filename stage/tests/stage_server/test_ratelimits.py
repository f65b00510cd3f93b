"""Rate limits as discord.py meets them, and the arithmetic by itself."""

from __future__ import annotations

import asyncio

import pytest

from discord_stage import RefusalError, Settings, Stage
from discord_stage.requests import rate_limits as limits
from stage_server.listening_client import ListeningClient, run_on_stage


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_bucket_counts_down_refuses_and_opens_again() -> None:
    clock = Clock()
    rate = limits.RateLimits(clock, 1.0)
    left = [
        rate.enter(limits.MESSAGE_CREATE_LIMIT, "c", global_too=True)["X-RateLimit-Remaining"]
        for _ in range(5)
    ]
    assert left == ["4", "3", "2", "1", "0"]
    clock.now += 2
    with pytest.raises(RefusalError) as caught:
        rate.enter(limits.MESSAGE_CREATE_LIMIT, "c", global_too=True)
    assert caught.value.status == 429
    assert caught.value.body["retry_after"] == 3.0
    assert caught.value.body["global"] is False
    heads = caught.value.headers
    assert heads["Via"]
    assert (heads["X-RateLimit-Scope"], heads["Retry-After"]) == ("user", "3.0")
    assert heads["X-RateLimit-Reset-After"] == "3.000"
    rate.enter(limits.MESSAGE_CREATE_LIMIT, "other", global_too=True)
    clock.now += 3
    rate.enter(limits.MESSAGE_CREATE_LIMIT, "c", global_too=True)


def test_fifty_a_second_for_the_whole_bot() -> None:
    rate = limits.RateLimits(Clock(), 1.0)
    for number in range(50):
        rate.enter(None, str(number), global_too=True)
    with pytest.raises(RefusalError) as caught:
        rate.enter(None, "one more", global_too=True)
    assert caught.value.body["global"] is True
    assert caught.value.headers["X-RateLimit-Global"] == "true"
    rate.enter(limits.WEBHOOK_LIMIT, "webhooks are exempt", global_too=False)


def test_the_channels_webhooks_share_a_limit_that_no_header_shows() -> None:
    rate = limits.RateLimits(Clock(), 1.0)
    for _ in range(30):
        rate.enter_hidden(limits.CHANNEL_WEBHOOKS_LIMIT, "c", 20028)
    with pytest.raises(RefusalError) as caught:
        rate.enter_hidden(limits.CHANNEL_WEBHOOKS_LIMIT, "c", 20028)
    assert caught.value.code == 20028
    assert "X-RateLimit-Remaining" not in caught.value.headers


def test_ten_thousand_invalid_requests_are_a_ban_without_via() -> None:
    clock = Clock()
    rate = limits.RateLimits(clock, 1.0)
    for _ in range(10_000):
        rate.note(403)
    with pytest.raises(RefusalError) as caught:
        rate.enter(None, "", global_too=False)
    assert "Via" not in caught.value.headers
    clock.now += 601
    rate.enter(None, "", global_too=False)


def test_the_time_scale_shortens_windows() -> None:
    clock = Clock()
    rate = limits.RateLimits(clock, 100.0)
    heads = rate.enter(limits.MESSAGE_CREATE_LIMIT, "c", global_too=True)
    assert heads["X-RateLimit-Reset-After"] == "0.050"


def test_discord_py_keeps_to_the_headers_by_itself() -> None:
    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        for number in range(12):
            await bot.place().send(str(number))
        assert stage.world.contents("general") == [str(number) for number in range(12)]
        assert {record.status for record in stage.calls("POST /channels/*")} == {200}

    run_on_stage(scenario, settings=Settings(time_scale=50.0))


def test_two_clients_collide_and_discord_py_waits_out_the_429() -> None:
    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        other = ListeningClient()
        async with other:
            await other.login(stage.token)
            place = await other.fetch_channel(bot.place().id)
            assert hasattr(place, "send")
            stood = stage.state.now()
            stage.state.limits._now = lambda: stood  # however long the machine takes for eight
            sending = asyncio.gather(
                *(bot.place().send("x") for _ in range(4)), *(place.send("x") for _ in range(4))
            )
            await stage.wait_for(lambda: any(record.status == 429 for record in stage.requests))
            stage.state.limits._now = stage.state.now
            await sending
        statuses = [record.status for record in stage.calls("POST /channels/*/messages")]
        assert 429 in statuses
        assert statuses.count(200) == 8

    run_on_stage(scenario, settings=Settings(time_scale=20.0))


def test_webhooks_have_their_own_limits() -> None:
    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        webhook = await bot.place().create_webhook(name="w")
        for number in range(35):
            await webhook.send(str(number), wait=True)
        assert stage.world.contents("general") == [str(number) for number in range(35)]
        # 30 a minute for the channel: no header said so, hence one collision
        assert [r.code for r in stage.calls("POST /webhooks/*") if r.status == 429] == [20028]

    # The minute is long enough for 30 on a busy machine; the loop only waits for it faster.
    run_on_stage(scenario, settings=Settings(time_scale=2.0), speed=40.0)
