"""`python -m tests.crash --kills 50`: the crash test in full, on SQLite and on PostgreSQL."""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
from pathlib import Path

from tests.crash.rounds import Round, crash_rounds
from tests.storage.servers import postgres_url


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--database", choices=("sqlite", "postgres", "both"), default="both")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    options = parser.parse_args()
    kinds = ("sqlite", "postgres") if options.database == "both" else (options.database,)
    problems = 0
    for kind in kinds:
        url = postgres_url() if kind == "postgres" else None
        with tempfile.TemporaryDirectory() as folder:
            played = crash_rounds(Path(folder), url, options.kills, options.seed)
            problems += _report(kind, options.seed, asyncio.run(played))
    return 1 if problems else 0


def _report(kind: str, seed: int, rounds: list[Round]) -> int:
    problems = [one.problem for one in rounds if one.problem]
    whole = sum(not one.reported for one in rounds)
    lines = [
        f"{kind}, seed {seed}: {len(rounds)} kills; {whole} answers whole, "
        f"{len(rounds) - whole} told as interrupted, {len(problems)} wrong",
        *(f"  {problem}" for problem in problems),
    ]
    sys.stdout.writelines(f"{line}\n" for line in lines)
    return len(problems)


if __name__ == "__main__":
    sys.exit(main())
