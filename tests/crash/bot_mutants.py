"""`python -m tests.crash.bot_mutants`: bots that deal badly with a crash. The harness must object.

The same module is the process of such a bot, if the environment says which.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import oshaberi.bot.recovery.crash_recovery as recovery
from oshaberi.bot.recovery import unsent_post_recovery
from oshaberi.bot.storage.repositories.journal import JournalRepository
from tests.crash import bot_program, crash_rounds

MODULE = "tests.crash.bot_mutants"
VARIABLE = "CRASH_TEST_MUTANT"
KILLS = 12
SEED = 5
PATIENCE_S = 15.0
"""Some of them are silent for ever."""


def sends_again() -> None:
    """Whatever is in doubt goes out once more, under a new nonce."""
    find_or_send = unsent_post_recovery.find_or_send

    async def send(post: Any, sink: Any, response: Any, **more: Any) -> Any:
        fresh = replace(post, nonce=secrets.token_hex(8))
        return await find_or_send(fresh, sink, response, **more)

    async def nobody(*_given: Any) -> tuple[()]:
        return ()

    vars(unsent_post_recovery).update(_search=nobody, find_or_send=send)
    vars(recovery).update(find_or_send=send)


def has_no_journal() -> None:
    async def nothing(*_given: Any) -> None:
        """Not written down."""

    def nothing_queued(*_given: Any) -> None:
        """Not written down either."""

    for name in ("begin", "intend", "sent", "refused"):
        setattr(JournalRepository, name, nothing)
    for name in ("queue_begin", "queue_sent", "queue_refused"):
        setattr(JournalRepository, name, nothing_queued)


def says_nothing() -> None:
    async def silent(*_given: Any) -> None:
        """Nobody is told."""

    for name in ("_tell",):
        setattr(recovery.CrashRecovery, name, silent)


MUTANTS: dict[str, Callable[[], None]] = {
    mutant.__name__: mutant for mutant in (sends_again, has_no_journal, says_nothing)
}


def main() -> int:
    survived = 0
    crash_rounds.SETTLE_S = PATIENCE_S
    for name in MUTANTS:
        os.environ[VARIABLE] = name
        with tempfile.TemporaryDirectory() as folder:
            played = asyncio.run(crash_rounds.crash_rounds(Path(folder), None, KILLS, SEED, MODULE))
        found = played.problems
        survived += not found
        told = found[0] if found else "SURVIVED"
        sys.stdout.write(f"{name}: {len(found)} problems in {played.kills} kills: {told}\n")
        sys.stdout.flush()
    return 1 if survived else 0


if __name__ == "__main__":
    if VARIABLE in os.environ:
        MUTANTS[os.environ[VARIABLE]]()
        bot_program.main()
    else:
        sys.exit(main())
