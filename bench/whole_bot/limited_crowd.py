"""`python -m bench.whole_bot.limited_crowd`: hundreds of channels ask at once, limits in force.

The global limit allows 50 requests a second, so answers have to wait for each other. Counted is how
many requests are refused all the same, and whether every line arrives once and in order.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import click

from bench.whole_bot.bot_figures import faults_of
from bench.whole_bot.bot_runs import bot_on_stage, oshaberi_on
from bench.whole_bot.load_modes import AtOnce
from bench.whole_bot.numbered_answers import AnswerFaults

MOST_REFUSED = 0.01
MOST_CHANNELS = 800
_GROUP = "crowd"


@dataclass(frozen=True, slots=True)
class CrowdReport:
    """What became of all questions."""

    channels: int
    answered: int
    faults: AnswerFaults
    messages: int
    requests: int
    refused: int
    seconds: float

    @property
    def refused_share(self) -> float:
        return self.refused / max(self.requests, 1)

    @property
    def is_good(self) -> bool:
        whole = self.answered == self.channels and not self.faults
        return whole and self.refused_share < MOST_REFUSED

    def __str__(self) -> str:
        faults = self.faults
        return (
            f"{self.answered} of {self.channels} answered in {self.seconds:.0f} s, in "
            f"{self.messages} messages; lines: {faults.lost} lost, {faults.doubled} doubled, "
            f"{faults.reordered} reordered; {self.refused} of {self.requests} requests refused "
            f"({self.refused_share:.2%})"
        )


async def run_crowd(channels: int, lines: int, folder: Path) -> CrowdReport:
    bot = oshaberi_on("sqlite", f"sqlite:///{folder / 'bot.db'}")
    async with bot_on_stage(bot, {_GROUP: channels}, folder, limits=True) as running:
        loop, before = asyncio.get_running_loop(), running.stage.request_count
        began = loop.time()
        played = await AtOnce(channels, lines).play(running.stage, _GROUP)
        seconds = loop.time() - began
        await running.bot.quiet()
        return CrowdReport(
            channels=channels,
            answered=sum(one.done_at is not None for one in played.asked),
            faults=faults_of(played),
            messages=sum(one.messages for one in played.asked),
            requests=running.stage.request_count - before,
            refused=running.stage.refused_since(before),
            seconds=seconds,
        )


@click.command()
@click.option("--channels", type=click.IntRange(1, MOST_CHANNELS), default=500, show_default=True)
@click.option("--lines", type=click.IntRange(1, 20), default=4, show_default=True)
def main(channels: int, lines: int) -> None:
    """So many channels ask at the same moment, while Discord's rate limits are in force."""
    with tempfile.TemporaryDirectory(prefix="oshaberi-crowd-") as folder:
        report = asyncio.run(run_crowd(channels, lines, Path(folder)))
    click.echo(str(report))
    sys.exit(0 if report.is_good else 1)


if __name__ == "__main__":
    main()
