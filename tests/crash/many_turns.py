"""`python -m tests.crash.many_turns --turns 10000`: many turns, one process; memory must not grow.

The bot is a process of its own, so what is measured is the bot alone: the stage and the model are
in this one, which forgets what is long over.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from discord_stage import Settings, Stage
from tests.crash.bot_process import BotProcess
from tests.crash.crash_rounds import errors_in
from tests.crash.crash_world import USER, environment, settle_in, world
from tests.crash.numbered_lines_model import SHORT, asked, expected, instant_model

CHANNELS = 40
AT_ONCE = 8
STEP = 500
WARM = 4000
"""By then whatever has a bound is full, and the allocator has its arenas."""
KEPT_MESSAGES = 8
ANSWER_S = 120.0
MOST_GROWTH_MB = 5.0
"""The allocator's noise is one or two; over 6000 turns a leak of 900 bytes each is seen."""
ALTER_EVERY = 5


@dataclass(frozen=True, slots=True)
class Sample:
    turns: int
    rss_mb: float
    seconds: float


def rss_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    (line,) = (line for line in status.splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) / 1024


def growth_mb(samples: list[Sample], warm: int = WARM) -> float:
    """From the warm state to the end; a sample alone may be a moment's peak, so two of each."""
    settled = [sample.rss_mb for sample in samples if sample.turns >= warm]
    if len(settled) < 4:
        raise SystemExit(f"too few turns: at least {warm + 3 * STEP} are needed")
    return sum(settled[-2:]) / 2 - sum(settled[:2]) / 2


class Talk:
    """People who ask in many channels, and wait for the answer before they ask again."""

    def __init__(self, stage: Stage, channels: list[str]) -> None:
        self._stage = stage
        self._channels = channels
        self._numbers = count(1)

    async def have(self, turns: int) -> None:
        """So many turns, some of them at once; afterwards nothing runs."""
        left = iter(range(turns))
        await asyncio.gather(*(self._ask(left, first) for first in range(AT_ONCE)))
        self._forget()

    async def _ask(self, left: Iterator[int], first: int) -> None:
        """One asker keeps to channels of their own: one turn at a time in each."""
        own = self._channels[first::AT_ONCE]
        for _ in left:
            number = next(self._numbers)
            await self._turn(number, own[number % len(own)])

    async def _turn(self, number: int, channel: str) -> None:
        alter = number % ALTER_EVERY == 0
        text = asked(f"question {number}", alter=alter, bot_id=self._stage.world.bot.id)
        last = expected(f"question {number}")[SHORT - 1]
        self._stage.people.post(channel, text, user=USER)
        await self._stage.wait_for(lambda: self._has(channel, last), ANSWER_S)

    def _has(self, channel: str, line: str) -> bool:
        newest = self._stage.world.history(channel)[-1]
        return newest.content == line

    def _forget(self) -> None:
        """What was said and asked long ago: the stage would keep it for ever."""
        state = self._stage.state
        state.request_log.records.clear()
        state.request_log._attempts.clear()
        for there in state.world.messages.values():
            for old in sorted(there)[:-KEPT_MESSAGES]:
                del there[old]


async def many_turns(folder: Path, turns: int) -> list[Sample]:
    channels = [f"c{number}" for number in range(CHANNELS)]
    database = f"sqlite:///{folder / 'bot.db'}"
    settings = Settings(rate_limits=False)
    async with Stage(world(*channels), settings) as stage, instant_model() as model_url:
        await settle_in(stage, database, folder)
        environ = environment(folder, stage, model_url, database, log_level="warning")
        bot = await BotProcess.started(environ, folder / "bot.log")
        try:
            samples = await _measured(Talk(stage, channels), bot, turns)
            bot.send(signal.SIGTERM)
            await bot.ended()
        finally:
            await bot.kill()
    if errors := errors_in(folder / "bot.log"):
        raise SystemExit("\n".join(errors))
    return samples


async def _measured(talk: Talk, bot: BotProcess, turns: int) -> list[Sample]:
    samples = []
    began = time.monotonic()
    sys.stdout.write(f"{'turns':>7} {'RSS MB':>8} {'seconds':>8}\n")
    for done in range(STEP, turns + 1, STEP):
        await talk.have(STEP)
        sample = Sample(done, rss_mb(bot.pid), time.monotonic() - began)
        samples.append(sample)
        sys.stdout.write(f"{done:>7} {sample.rss_mb:>8.1f} {sample.seconds:>8.0f}\n")
        sys.stdout.flush()
    return samples


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.crash.many_turns")
    parser.add_argument("--turns", type=int, default=10_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        samples = asyncio.run(many_turns(Path(folder), options.turns))
    grown = growth_mb(samples)
    sys.stdout.write(
        f"from {WARM} to {samples[-1].turns} turns: {grown:+.1f} MB, at most {MOST_GROWTH_MB}\n"
    )
    return int(grown > MOST_GROWTH_MB)


if __name__ == "__main__":
    sys.exit(main())
