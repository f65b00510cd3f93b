"""`python -m tests.crash --kills 50 --busy-channels 100`: the crash test in full.

On SQLite and PostgreSQL: first one answer after the other is killed; then the bot ends, by kill -9
and by SIGTERM, with so many answers under way and so many questions waiting.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
from pathlib import Path

from tests.crash.busy_channels import ENDING_NAMES, ENDINGS, Ending, end_with_busy_channels
from tests.crash.crash_rounds import Played, crash_rounds
from tests.storage.database_servers import postgres_url

MOST_SHOWN = 20
"""Problems of one run that are printed."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.crash", description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--busy-channels", type=int, default=100)
    parser.add_argument("--database", choices=("sqlite", "postgres", "both"), default="both")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    options = parser.parse_args()
    kinds = ("sqlite", "postgres") if options.database == "both" else (options.database,)
    problems = 0
    for kind in kinds:
        url = postgres_url() if kind == "postgres" else None
        if options.kills:
            with tempfile.TemporaryDirectory() as folder:
                played = asyncio.run(crash_rounds(Path(folder), url, options.kills, options.seed))
            problems += _report(kind, options.seed, played)
        if options.busy_channels:
            problems += sum(
                _busy_channels(kind, ending, options.busy_channels) for ending in ENDINGS
            )
    return 1 if problems else 0


def _busy_channels(kind: str, ending: Ending, channels: int) -> int:
    url = postgres_url() if kind == "postgres" else None
    with tempfile.TemporaryDirectory() as folder:
        ended = asyncio.run(end_with_busy_channels(Path(folder), url, channels, ending))
    lines = [
        f"{kind}, {ENDING_NAMES[ending]} with {channels} running and {channels} waiting: {ended}",
        *(f"  {problem}" for problem in ended.problems[:MOST_SHOWN]),
    ]
    sys.stdout.writelines(f"{line}\n" for line in lines)
    sys.stdout.flush()
    return len(ended.problems)


def _report(kind: str, seed: int, played: Played) -> int:
    rounds = played.rounds
    told = sum(one.reports > 0 for one in rounds)
    recovering = sum(one.plan.again_s is not None for one in rounds)
    lines = [
        f"{kind}, seed {seed}: {played.kills} kills, {recovering} of them during recovery; "
        f"{len(rounds)} questions, {sum(one.plan.alter for one in rounds)} to the alter, "
        f"{sum(one.plan.is_away for one in rounds)} while it was away",
        f"  {len(rounds) - told} answers whole, {told} told as interrupted, "
        f"{len(played.problems)} problems",
        *(f"  {problem}" for problem in played.problems),
    ]
    sys.stdout.writelines(f"{line}\n" for line in lines)
    sys.stdout.flush()
    return len(played.problems)


if __name__ == "__main__":
    sys.exit(main())
