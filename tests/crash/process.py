"""Starts the bot's process, waits until it is ready, and ends it without mercy."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path

READY_S = 30.0
ROOT = Path(__file__).parents[2]


class BotProcess:
    """One life of the bot. Its log is kept for whoever asks what happened."""

    def __init__(self, process: asyncio.subprocess.Process, log: Path) -> None:
        self._process = process
        self._log = log

    @classmethod
    async def started(cls, environ: Mapping[str, str], log: Path) -> BotProcess:
        """Returns when it says that it is ready."""
        with log.open("ab") as errors:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "tests.crash.child",
                cwd=ROOT,
                env={**os.environ, **environ},
                stdout=asyncio.subprocess.PIPE,
                stderr=errors,
            )
        bot = cls(process, log)
        try:
            async with asyncio.timeout(READY_S):
                await bot._ready()
        except BaseException:
            await bot.kill()
            raise
        return bot

    async def _ready(self) -> None:
        assert self._process.stdout is not None
        while (line := await self._process.stdout.readline()).strip() != b"READY":
            if not line:
                said = self._log.read_text(encoding="utf-8", errors="replace")[-3000:]
                raise RuntimeError(f"the bot ended before it was ready:\n{said}")

    async def kill(self) -> None:
        """As a power cut would: nothing is finished."""
        await self._end(signal.SIGKILL)

    async def ask_to_end(self) -> int:
        """As an operator would. Its exit status."""
        await self._end(signal.SIGTERM)
        return self._process.returncode or 0

    async def _end(self, how: signal.Signals) -> None:
        if self._process.returncode is None:
            self._process.send_signal(how)
        await self._process.wait()
