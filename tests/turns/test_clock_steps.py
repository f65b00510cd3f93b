"""The wall clock is set while the bot runs: cooldowns and rests last as long as they should."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from oshaberi.bot.storage.records import KeyRecord, ModelRecord
from oshaberi.bot.turns.services.key_cooldowns import LONGEST_SECONDS, KeyCooldowns
from tests.turns.turn_harness import EPOCH, SERVER, TurnHarness, fails, link, run_turns, text

STEPS = [timedelta(hours=-1), timedelta(hours=1), timedelta(days=-400), timedelta(days=400)]


def set_clock(harness: TurnHarness, step: timedelta) -> None:
    harness.steps.append(step)


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_a_cooldown_lasts_as_long_as_it_should(step: timedelta) -> None:
    async def scenario(harness: TurnHarness) -> None:
        assert await harness.answer() == "mention"
        set_clock(harness, step)
        assert await harness.answer() == "cooldown"
        await asyncio.sleep(10)
        assert await harness.answer() == "mention"

    run_turns(scenario, turn={"cooldown_ms": 10_000})


@pytest.mark.parametrize("step", STEPS, ids=str)
@pytest.mark.parametrize("stored", [True, False])
def test_a_key_rests_as_long_as_it_should(step: timedelta, stored: bool) -> None:
    async def scenario(harness: TurnHarness) -> None:
        if stored:
            await harness.have_models(
                ModelRecord(SERVER, "scripted", "m"),
                keys=[
                    KeyRecord(SERVER, "scripted", "k1", id=1),
                    KeyRecord(SERVER, "scripted", "k2", id=2),
                ],
            )
        await harness.answer()
        set_clock(harness, step)
        await harness.answer()
        await asyncio.sleep(70)
        await harness.answer()
        assert [key for _, key in harness.models.asked] == ["k1", "k2", "k2", "k1"]

    fault = fails("rate_limit", {"retry_after_s": 70})
    run_turns(scenario, [fault], [text("Fine.")], links=[link("m", "k1", "k2")])


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_a_rest_of_the_database_is_read_once(step: timedelta) -> None:
    cooldowns = KeyCooldowns()
    key = KeyRecord(0, "scripted", "k", rest_until=EPOCH + timedelta(seconds=30))
    assert cooldowns.seconds_left(key, EPOCH, 100.0) == 30
    assert cooldowns.seconds_left(key, EPOCH + step, 110.0) == 20
    assert cooldowns.seconds_left(key, EPOCH + step, 130.0) == 0


def test_no_rest_of_the_database_is_longer_than_the_longest() -> None:
    """Whoever wrote it had another idea of the time."""
    key = KeyRecord(0, "scripted", "k", rest_until=EPOCH + timedelta(days=400))
    assert KeyCooldowns().seconds_left(key, EPOCH, 100.0) == LONGEST_SECONDS


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_personas_are_looked_up_again(step: timedelta) -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.channel_turns.persona_cache.of(SERVER)
        set_clock(harness, step)
        await harness.db.personas.delete(SERVER, "Ren")
        await asyncio.sleep(3)
        personas = await harness.channel_turns.persona_cache.of(SERVER)
        assert [one.name for one in personas] == ["Tomori"]

    run_turns(scenario)
