"""The wall clock is set while the bot runs: cooldowns and rests last as long as they should."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from oshaberi.storage.stored_records import KeyRecord, ModelRecord
from oshaberi.turns.generation.key_cooldowns import LONGEST_SECONDS, KeyCooldowns
from tests.turns.house import EPOCH, SERVER, House, fails, link, now, play, text

STEPS = [timedelta(hours=-1), timedelta(hours=1), timedelta(days=-400), timedelta(days=400)]


def set_clock(house: House, step: timedelta) -> None:
    house.services.clock = lambda: now() + step


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_a_cooldown_lasts_as_long_as_it_should(step: timedelta) -> None:
    async def scene(house: House) -> None:
        assert await house.answer() == "mention"
        set_clock(house, step)
        assert await house.answer() == "cooldown"
        await asyncio.sleep(10)
        assert await house.answer() == "mention"

    play(scene, turn={"cooldown_ms": 10_000})


@pytest.mark.parametrize("step", STEPS, ids=str)
@pytest.mark.parametrize("stored", [True, False])
def test_a_key_rests_as_long_as_it_should(step: timedelta, stored: bool) -> None:
    async def scene(house: House) -> None:
        if stored:
            house.store.models.records = (ModelRecord(SERVER, "house", "m"),)
            house.store.keys.records = [
                KeyRecord(SERVER, "house", "k1", id=1),
                KeyRecord(SERVER, "house", "k2", id=2),
            ]
        await house.answer()
        set_clock(house, step)
        await house.answer()
        await asyncio.sleep(70)
        await house.answer()
        assert [key for _, key in house.models.asked] == ["k1", "k2", "k2", "k1"]

    fault = fails("rate_limit", {"retry_after_s": 70})
    play(scene, [fault], [text("Fine.")], links=[link("m", "k1", "k2")])


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_a_rest_of_the_database_is_read_once(step: timedelta) -> None:
    cooldowns = KeyCooldowns()
    key = KeyRecord(0, "house", "k", rest_until=EPOCH + timedelta(seconds=30))
    assert cooldowns.seconds_left(key, EPOCH, 100.0) == 30
    assert cooldowns.seconds_left(key, EPOCH + step, 110.0) == 20
    assert cooldowns.seconds_left(key, EPOCH + step, 130.0) == 0


def test_no_rest_of_the_database_is_longer_than_the_longest() -> None:
    """Whoever wrote it had another idea of the time."""
    key = KeyRecord(0, "house", "k", rest_until=EPOCH + timedelta(days=400))
    assert KeyCooldowns().seconds_left(key, EPOCH, 100.0) == LONGEST_SECONDS


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_personas_are_looked_up_again(step: timedelta) -> None:
    async def scene(house: House) -> None:
        await house.talks.cast.of(SERVER)
        set_clock(house, step)
        house.store.personas.all = ()
        await asyncio.sleep(3)
        assert [one.name for one in await house.talks.cast.of(SERVER)] == ["Tomori"]

    play(scene)
