"""The first signal lets running answers finish, the second does not. With a real process."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from discord_stage import Settings, Stage
from oshaberi.bot.storage.errors import StorageError
from oshaberi.bot.wiring.shutdown_signals import ShutdownSignals
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


def test_before_it_listens_a_signal_cancels_the_work() -> None:
    closed: list[str] = []

    async def work() -> None:
        try:
            signal.raise_signal(signal.SIGTERM)
            await asyncio.Event().wait()
        finally:
            closed.append("closed")

    async def main() -> None:
        with ShutdownSignals() as ending:
            await ending.over(work())
            await asyncio.sleep(0)  # this task itself is not cancelled any more

    asyncio.run(main())
    assert closed == ["closed"]


def test_an_error_of_cancelled_work_is_no_failure(caplog: pytest.LogCaptureFixture) -> None:
    """A transaction that was cancelled once made the process end with status 78."""

    async def work() -> None:
        signal.raise_signal(signal.SIGINT)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise StorageError("the transaction was cut off") from None

    async def main() -> None:
        with ShutdownSignals() as ending:
            await ending.over(work())

    asyncio.run(main())
    assert caplog.messages == ["while the bot was ending: the transaction was cut off"]


def test_an_error_without_a_signal_is_raised() -> None:
    async def work() -> None:
        raise StorageError("no disk")

    async def main() -> None:
        with ShutdownSignals() as ending:
            await ending.over(work())

    with pytest.raises(StorageError, match="no disk"):
        asyncio.run(main())


HANGING = """
import asyncio, logging, os, signal, sys, threading, time
from oshaberi.bot.wiring import shutdown_signals
from oshaberi.bot.wiring.shutdown_signals import HardEnd, ShutdownSignals
logging.basicConfig(format="%(message)s")
for name in ("ENDS_WITHIN_SECONDS", "CLOSES_WITHIN_SECONDS", "AT_ONCE_SECONDS"):
    setattr(shutdown_signals, name, 0.05)

async def stubborn():
    while True:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            pass

async def listening(signals):
    with signals.listening(3600):
        await signals.or_done(stubborn())

async def opening(signals):
    await stubborn()

async def blocked(signals):
    with signals.listening(3600):
        time.sleep(3600)

async def thread(signals):
    threading.Thread(target=time.sleep, args=(3600,)).start()
    await asyncio.to_thread(time.sleep, 3600)

def main():
    way, count = sys.argv[1], int(sys.argv[2])
    if way == "loading":
        with ShutdownSignals(HardEnd()):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(3600)
    def signalled():
        for _ in range(count):
            time.sleep(0.2)
            os.kill(os.getpid(), signal.SIGTERM)
    with ShutdownSignals(HardEnd()) as signals:
        threading.Thread(target=signalled, daemon=True).start()
        asyncio.run(signals.over(globals()[way](signals)))

main()
"""


@pytest.mark.parametrize(
    ("way", "count"),
    [("opening", 1), ("thread", 1), ("listening", 2), ("blocked", 2), ("loading", 1)],
)
def test_whatever_hangs_the_process_ends(way: str, count: int) -> None:
    """A cancellation that is swallowed, a thread that does not end, a loop that stands still."""
    done = subprocess.run(
        [sys.executable, "-c", HANGING, way, str(count)],
        capture_output=True,
        text=True,
        timeout=SOON_S,
    )
    told = "" if way == "loading" else "closing takes too long; the process ends without it\n"
    assert (done.returncode, done.stderr) == (0, told)
