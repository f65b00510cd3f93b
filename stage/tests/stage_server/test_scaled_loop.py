"""The scaled loop: waiting goes fast, work counts as it is, a stall is nobody's time."""

from __future__ import annotations

import asyncio

import pytest

from discord_stage import scaled_loop as module
from discord_stage.scaled_loop import run_scaled


class Wall:
    """A clock that moves when it is told to, and a little each time it is read."""

    def __init__(self) -> None:
        self.now = 0.0
        self.each_look = 0.0

    def monotonic(self) -> float:
        self.now += self.each_look
        return self.now


@pytest.fixture
def wall(monkeypatch: pytest.MonkeyPatch) -> Wall:
    wall = Wall()
    monkeypatch.setattr(module, "time", wall)
    return wall


def test_work_counts_as_it_is(wall: Wall) -> None:
    async def main() -> float:
        loop = asyncio.get_running_loop()
        before = loop.time()
        wall.now += 5.0
        return loop.time() - before

    assert run_scaled(main(), 1000.0) == pytest.approx(5.0)


def test_a_wait_that_ends_late_counts_only_as_long_as_it_was_meant(wall: Wall) -> None:
    async def main() -> tuple[float, bool]:
        loop = asyncio.get_running_loop()
        later = loop.create_future()
        loop.call_at(loop.time() + 30.0, later.set_result, None)
        wall.each_look = 0.5
        await asyncio.sleep(2.0)
        return loop.time(), later.done()

    woke_at, gave_up = run_scaled(main(), 20.0)
    assert woke_at < 30.0
    assert not gave_up


def test_waiting_goes_fast() -> None:
    async def main() -> float:
        loop = asyncio.get_running_loop()
        before = loop.time()
        await asyncio.sleep(1000.0)
        return loop.time() - before

    assert run_scaled(main(), 100_000.0) == pytest.approx(1000.0, abs=1.0)
