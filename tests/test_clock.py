"""The virtual clock: it jumps, it keeps order, it waits for threads, it notices a deadlock."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

import oshaberi
from oshaberi.virtual_time import DeadlockError, VirtualLoop, run_virtual, settle


def test_an_hour_passes_at_once() -> None:
    async def main() -> float:
        await asyncio.sleep(3600)
        return asyncio.get_running_loop().time()

    assert run_virtual(main()) == 3600


@pytest.mark.parametrize("count", [2, 3, 50])
def test_equal_timers_fire_in_creation_order(count: int) -> None:
    async def main() -> list[int]:
        loop = asyncio.get_running_loop()
        fired: list[int] = []
        loop.call_at(0.5, fired.append, -1)
        for number in range(count):
            loop.call_at(1.0, fired.append, number)
        await asyncio.sleep(2)
        return fired

    assert run_virtual(main()) == [-1, *range(count)]


def test_the_clock_stands_still_while_a_thread_works() -> None:
    release = threading.Event()

    async def main() -> tuple[str, float]:
        loop = asyncio.get_running_loop()
        job = loop.run_in_executor(None, release.wait, 10)
        threading.Timer(0.01, release.set).start()
        done, _ = await asyncio.wait({job}, timeout=0.5)
        return ("done" if done else "timed out"), loop.time()

    assert run_virtual(main()) == ("done", 0.0)


def test_a_deadlock_is_an_error_that_says_so() -> None:
    async def main() -> None:
        await asyncio.get_running_loop().create_future()

    with pytest.raises(DeadlockError, match="never happen"):
        run_virtual(main())


def test_settle_lets_all_of_the_instant_run_but_no_later_timer() -> None:
    async def main() -> list[str]:
        seen: list[str] = []

        async def worker() -> None:
            for step in range(10):
                await asyncio.sleep(0)
                seen.append(str(step))
            await asyncio.sleep(1)
            seen.append("later")

        task = asyncio.create_task(worker())
        await settle()
        seen.append("settled")
        await task
        return seen

    assert run_virtual(main()) == [*map(str, range(10)), "settled", "later"]


def test_several_settle_one_after_the_other() -> None:
    async def main() -> list[str]:
        seen: list[str] = []

        async def worker(name: str) -> None:
            await settle()
            seen.append(name)
            await asyncio.sleep(0)
            seen.append(name.upper())

        await asyncio.gather(worker("a"), worker("b"))
        return seen

    assert run_virtual(main()) == ["a", "A", "b", "B"]


def test_a_cancelled_settle_is_passed_over() -> None:
    async def main() -> float:
        task = asyncio.create_task(settle())
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.sleep(1)
        return asyncio.get_running_loop().time()

    assert run_virtual(main()) == 1.0


def test_settle_works_on_a_real_loop() -> None:
    async def main() -> list[str]:
        seen: list[str] = []
        asyncio.get_running_loop().call_soon(seen.append, "ran")
        await settle()
        return seen

    assert asyncio.run(main()) == ["ran"]


def test_time_starts_at_zero_in_each_run() -> None:
    async def main() -> float:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        return loop.time()

    assert [run_virtual(main()), run_virtual(main())] == [0.0, 0.0]


@pytest.mark.parametrize(
    "reading", ["datetime.now(UTC)", "utcnow()", "_loop().time()", " loop.time()"]
)
def test_clocks_are_read_in_one_place(reading: str) -> None:
    source = Path(oshaberi.__file__).parent
    found = [str(file) for file in source.rglob("*.py") if reading in file.read_text()]
    allowed = {str(source / name) for name in ("clocks.py", "virtual_time.py")}
    assert set(found) <= allowed, "oshaberi.clocks has the clocks"
