"""`python -m bench.whole_bot.probed_bot`: `oshaberi run` on a stage, with a probe in its loop.

The command itself runs, so the bench measures what an operator starts.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Mapping
from typing import Any

from bench.whole_bot.process_probe import (
    KEEP_VARIABLE,
    URL_VARIABLE,
    ProcessProbe,
    point_discord_at,
    tell,
)
from bench.whole_bot.statement_counter import StatementCounter
from oshaberi.bot.config import LoadedSettings
from oshaberi.bot.wiring import bot_wiring
from oshaberi.cli import main

_run = bot_wiring.run


async def probed_run(
    settings: LoadedSettings,
    environ: Mapping[str, str],
    *,
    on_ready: Callable[[], None],
    **rest: Any,
) -> None:
    """`bot_wiring.run`, as the command calls it, with a task beside it that answers the bench."""
    statements = StatementCounter(keep=KEEP_VARIABLE in environ)
    statements.listen()
    probe = ProcessProbe(statements)

    def ready() -> None:
        on_ready()
        probe.start()
        tell("READY")

    answering = asyncio.create_task(probe.answer_on_stdin(_end))
    try:
        await _run(settings, environ, on_ready=ready, **rest)
    finally:
        answering.cancel()


def _end() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    bot_wiring.run = probed_run  # type: ignore[assignment]
    point_discord_at(os.environ[URL_VARIABLE])
    sys.exit(main(["run", "--no-browser"]))
