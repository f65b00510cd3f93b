"""A short soak of the whole bot; the long one is `python -m tests.faults.bot_soak`."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from discord_stage import Stage
from tests.crash.crash_world import USER, world
from tests.crash.numbered_lines_model import expected
from tests.faults.bot_soak import soak_bot
from tests.faults.question_fates import Batch, MemorySample, Soaked

WHOLE = expected("question 1")
NOTICE = {"title": "The model failed to answer"}


@pytest.mark.slow
def test_twenty_seconds_with_faults(tmp_path: Path) -> None:
    found = asyncio.run(soak_bot(tmp_path, seconds=20.0, seed=4, channels=9))
    assert found.problems == []
    assert found.asked == found.whole + found.told.total() - found.spare
    assert found.whole > 20
    assert found.faults["REST wholly away"] == 1
    assert len(found.samples) >= 15


async def _looked_at(lines: list[str], *, is_told: bool = False, reaction: str = "") -> Batch:
    async with Stage(world()) as stage:
        question = stage.people.post("general", "question 1", user=USER)
        bot = stage.world.bot.id
        batch = Batch("general", {1: question}, 0.0)
        if reaction:
            stage.people.react(question, reaction, user=bot)
        if lines:
            said = stage.people.post("general", "\n".join(lines), user=USER)
            said.author_id = bot
        if is_told:
            notice = stage.people.post("general", "told", user=USER)
            notice.author_id, notice.content, notice.embeds = bot, "", [NOTICE]
        batch.look(stage)
    return batch


@pytest.mark.parametrize(
    ("lines", "is_told", "reaction", "is_fine"),
    [
        (WHOLE, False, "", True),
        (WHOLE[:4], True, "", True),
        ([*WHOLE[:4], WHOLE[4][:12]], True, "", True),
        ([], True, "", True),
        ([], False, "🈵", True),
        ([], False, "", False),
        ([], False, "👀", False),
        (WHOLE[:-1], False, "", False),
        ([*WHOLE, WHOLE[-1]], False, "", False),
        ([*WHOLE[:3], *WHOLE[2:5]], True, "", False),
        ([WHOLE[1], WHOLE[0], *WHOLE[2:]], True, "", False),
    ],
)
def test_what_counts_as_lost(lines: list[str], is_told: bool, reaction: str, is_fine: bool) -> None:
    batch = asyncio.run(_looked_at(lines, is_told=is_told, reaction=reaction))
    assert (batch.problems() == []) is is_fine


def test_memory_is_compared_from_the_sixth_to_the_tenth_minute_on() -> None:
    samples = [MemorySample(30.0 * number, float(number), 0.0) for number in range(1, 41)]
    assert Soaked(samples=samples).memory(1200.0) == (15.5, 35.5)
    assert not Soaked(samples=samples).is_flat(1200.0)


@pytest.mark.parametrize(("later_mb", "is_flat"), [(108.9, True), (109.1, False)])
def test_memory_may_grow_by_a_twentieth_and_four_megabytes(later_mb: float, is_flat: bool) -> None:
    sizes = [100.0] * 30 + [later_mb] * 10
    samples = [MemorySample(30.0 * at, size, 0.0) for at, size in enumerate(sizes, 1)]
    assert Soaked(samples=samples).is_flat(1200.0) is is_flat
