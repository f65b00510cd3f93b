"""`python -m tests.fleet --processes 4`: processes that share the shards by leases, under load.

First one after another is killed and started again; then one after another is restarted with
SIGTERM. Every question must be answered once; after a kill, an answer that had begun may be cut, if
its channel is told.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path

from tests.fleet.bot_fleet import SHARDS, BotFleet, bot_fleet
from tests.storage.database_servers import postgres_url, redis_url

LATER_S = 300.0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fleet", description=__doc__)
    parser.add_argument("--processes", type=int, default=4, choices=(2, 4, 8))
    parser.add_argument("--max-concurrency", type=int, default=SHARDS)
    parser.add_argument("--logs", type=Path, help="a folder that keeps the logs of the processes")
    options = parser.parse_args()
    database, redis = postgres_url(), redis_url()
    with tempfile.TemporaryDirectory() as made:
        folder = options.logs or Path(made)
        play = _play(folder, database, redis, options.processes, options.max_concurrency)
        problems = asyncio.run(play)
    _say(*problems, f"{len(problems)} problems")
    return 1 if problems else 0


async def _play(
    folder: Path, database: str, redis: str, processes: int, max_concurrency: int
) -> list[str]:
    names = [f"process-{number}" for number in range(processes)]
    running = bot_fleet(folder, database, redis, *names, max_concurrency=max_concurrency)
    async with running as fleet:
        async with fleet.under_load():
            for name in names:
                await _kill(fleet, name)
        await fleet.answered(LATER_S)
        problems = fleet.problems(may_be_cut=True)
        _say(f"{len(fleet.asked)} questions, {len(problems)} of them not answered once")
        fleet.begin_anew()
        async with fleet.under_load():
            for name in names:
                await _restart(fleet, name)
        await fleet.answered(LATER_S)
        lost = fleet.problems()
        _say(f"{len(fleet.asked)} questions, {len(lost)} of them not answered once")
        return [*problems, *lost]


async def _kill(fleet: BotFleet, name: str) -> None:
    shards = sorted(fleet.shards_of(name))
    began = time.monotonic()
    await fleet.kill(name)
    await fleet.all_connected(LATER_S)
    _say(f"{name} killed: shards {shards} connected again after {time.monotonic() - began:.1f} s")
    await fleet.start(name)
    await fleet.balanced(LATER_S)


async def _restart(fleet: BotFleet, name: str) -> None:
    began = time.monotonic()
    status = await fleet.end(name)
    ended = time.monotonic()
    await fleet.all_connected(LATER_S)
    await fleet.start(name)
    await fleet.balanced(LATER_S)
    now = time.monotonic()
    _say(f"{name} ended with {status} after {ended - began:.1f} s, back after {now - ended:.1f} s")


def _say(*lines: str) -> None:
    sys.stdout.writelines(f"{line}\n" for line in lines)
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
