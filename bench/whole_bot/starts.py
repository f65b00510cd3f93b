"""From the start of the process until the bot can answer, and how much memory it needs then.

The bots are started in turns, each several times; the median counts. The first start of ours
creates the database; what is measured are the later ones.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench.report import aligned_table
from bench.whole_bot.bench_stage import BenchStage, bench_world
from bench.whole_bot.bot_runs import WARM_UP, BenchedBot, environment
from bench.whole_bot.child_processes import BenchProcess
from bench.whole_bot.goals import Goal
from discord_stage import Settings, Stage

ROUNDS = 5
SERVERS_GROUP = "warm"
IDLE_MB, ANSWERED_MB = 100.0, 115.0
BESIDE_BARE_S = 0.5
RESTING_SHARE = 0.05


@dataclass(frozen=True, slots=True)
class Start:
    """One start of a bot. Memory in MB: at rest, and at rest after the first answers."""

    ready_s: float
    cpu_s: float
    idle_mb: float
    answered_mb: float


@dataclass(frozen=True, slots=True)
class StartFigures:
    """The medians of one bot."""

    bot: str
    starts: Sequence[Start]

    @property
    def medians(self) -> Start:
        one = self.starts
        return Start(
            median(start.ready_s for start in one),
            median(start.cpu_s for start in one),
            median(start.idle_mb for start in one),
            median(start.answered_mb for start in one),
        )


async def measure_starts(
    bots: Sequence[BenchedBot], folder: Path, rounds: int = ROUNDS
) -> list[StartFigures]:
    """Start all bots in turns. One round more than is counted: the first is not."""
    found: Mapping[str, list[Start]] = {bot.name: [] for bot in bots}
    for number in range(rounds + 1):
        for bot in bots:
            start = await _start(bot, folder / bot.name)
            if number:
                found[bot.name].append(start)
    return [StartFigures(name, starts) for name, starts in found.items()]


async def _start(bot: BenchedBot, folder: Path) -> Start:
    folder.mkdir(parents=True, exist_ok=True)
    world = bench_world({SERVERS_GROUP: WARM_UP.channels})
    async with (
        Stage(world, Settings(rate_limits=False)) as server,
        BenchProcess.started("bench.whole_bot.token_server", folder, {}) as model,
    ):
        environ = environment(bot, server, model.greeting, folder)
        environ["OSHABERI_DISCORD_API_URL"] = server.url
        began = time.monotonic()
        async with BenchProcess.started(bot.module, folder, environ) as process:
            ready_s, cpu_s = time.monotonic() - began, process.cpu_s()
            await at_rest(process)
            idle_mb = process.memory_mb()
            await WARM_UP.play(BenchStage(server), SERVERS_GROUP)
            await at_rest(process)
            return Start(ready_s, cpu_s, idle_mb, process.memory_mb())


async def at_rest(process: BenchProcess) -> None:
    """Return when it has used next to no processor time for a second, after 30 s at the latest."""
    for _ in range(30):
        before_s = process.cpu_s()
        await asyncio.sleep(1.0)
        if process.cpu_s() - before_s < RESTING_SHARE:
            return


def start_table(found: Sequence[StartFigures]) -> str:
    head = ["bot", "starts", "ready s", "CPU s", "idle MB", "after answers MB"]
    rows = [
        [
            one.bot,
            str(len(one.starts)),
            f"{one.medians.ready_s:.2f}",
            f"{one.medians.cpu_s:.2f}",
            f"{one.medians.idle_mb:.0f}",
            f"{one.medians.answered_mb:.0f}",
        ]
        for one in found
    ]
    return aligned_table("From process start to ready, and memory at rest (medians)", head, rows)


def start_goals(found: Sequence[StartFigures]) -> list[Goal]:
    bare = next((one.medians for one in found if one.bot == "bare"), None)
    goals = []
    for one in found:
        if one.bot == "bare":
            continue
        ours = one.medians
        if bare is not None:
            limit_s = bare.ready_s + BESIDE_BARE_S
            goals.append(Goal(f"{one.bot}: process start to ready", ours.ready_s, limit_s, "s"))
        goals.append(Goal(f"{one.bot}: idle memory", ours.idle_mb, IDLE_MB, "MB"))
        name = f"{one.bot}: memory after the first answers"
        goals.append(Goal(name, ours.answered_mb, ANSWERED_MB, "MB"))
    return goals
