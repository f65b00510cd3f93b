"""The first signal lets running answers finish, the second does not. With a real process."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from oshaberi.bot.wiring.shutdown_signals import ShutdownSignals
from oshaberi.stage import Settings, Stage
from tests.crash import numbered_lines_model
from tests.crash.bot_process import BotProcess
from tests.crash.crash_rounds import errors_in
from tests.crash.crash_world import CHANNEL, USER, environment, settle_in, world
from tests.crash.numbered_lines_model import SLOW, STALLED, asked, expected, lined_model

SOON_S = 30.0


@asynccontextmanager
async def running(folder: Path) -> AsyncIterator[tuple[Stage, BotProcess]]:
    database = f"sqlite:///{folder / 'bot.db'}"
    settings = Settings(rate_limits=False)
    async with Stage(world(), settings) as stage, lined_model() as model_url:
        await settle_in(stage, database, folder)
        environ = environment(folder, stage, model_url, database)
        bot = await BotProcess.started(environ, folder / "bot.log")
        try:
            yield stage, bot
        finally:
            await bot.kill()


def told(stage: Stage) -> list[str]:
    return [one.content for one in stage.world.history(CHANNEL)[1:]]


async def ask(stage: Stage, number: int) -> None:
    """Until it is being answered."""
    question = asked(f"question {number}", bot_id=stage.world.bot.id)
    stage.people.post(CHANNEL, question, user=USER)
    await stage.wait_for(lambda: len(told(stage)) >= 2, SOON_S)


@pytest.mark.slow
def test_a_running_answer_is_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After Ctrl-C; tests/e2e/test_running.py has the same for SIGTERM, without a process."""
    monkeypatch.setattr(numbered_lines_model, "SLOW_PAUSE_S", 0.1)

    async def main() -> None:
        async with running(tmp_path) as (stage, bot):
            await ask(stage, SLOW)
            bot.send(signal.SIGINT)
            assert await bot.ended() == 0
            assert told(stage) == expected(f"question {SLOW}")

    asyncio.run(main())
    assert errors_in(tmp_path / "bot.log") == ()


@pytest.mark.slow
def test_a_second_signal_does_not_wait(tmp_path: Path) -> None:
    """The model says nothing more: the first signal alone would wait for its grace."""

    async def main() -> None:
        async with running(tmp_path) as (stage, bot):
            await ask(stage, STALLED)
            bot.send(signal.SIGTERM)
            await _until_said(tmp_path / "bot.log", "a second Ctrl-C")
            began = asyncio.get_running_loop().time()
            bot.send(signal.SIGINT)
            assert await bot.ended() == 0
            assert asyncio.get_running_loop().time() - began < 15
            assert told(stage)[:2] == expected(f"question {STALLED}")[:2]

    asyncio.run(main())


async def _until_said(log: Path, words: str) -> None:
    async with asyncio.timeout(SOON_S):
        while words not in log.read_text(encoding="utf-8"):
            await asyncio.sleep(0.05)


def test_who_waits_is_woken_by_a_signal_and_work_is_ended_by_the_next() -> None:
    async def main() -> None:
        ended: list[str] = []

        async def work() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                ended.append("work")

        with ShutdownSignals() as ending:
            task = asyncio.create_task(work())
            await asyncio.sleep(0)
            signal.raise_signal(signal.SIGTERM)
            await ending.or_done(task)
            assert not task.done()
            signal.raise_signal(signal.SIGINT)
            await ending.or_done(work())
            assert ended == ["work"]
            task.cancel()
            await asyncio.wait({task})
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL

    asyncio.run(main())


def test_a_signal_that_comes_too_early_is_not_lost() -> None:
    async def main() -> None:
        with ShutdownSignals() as ending:
            signal.raise_signal(signal.SIGTERM)
            await asyncio.sleep(0.01)
            async with asyncio.timeout(SOON_S):
                await ending.or_done(asyncio.sleep(3600))

    asyncio.run(main())


def test_work_that_ends_by_itself() -> None:
    async def main() -> None:
        with ShutdownSignals() as ending:
            async with asyncio.timeout(SOON_S):
                await ending.or_done(asyncio.sleep(0))

    asyncio.run(main())
