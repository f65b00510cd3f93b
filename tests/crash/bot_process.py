"""The bot's process: started, watched, asked to end, or ended without mercy."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path

READY_S = 180.0
"""A busy machine takes half a minute for the imports alone."""
END_S = 120.0
ROOT = Path(__file__).parents[2]


class BotProcess:
    """One life of the bot. Its log is kept for whoever asks what happened."""

    def __init__(self, process: asyncio.subprocess.Process, log: Path) -> None:
        self._process = process
        self._log = log

    @classmethod
    async def launched(
        cls, environ: Mapping[str, str], log: Path, module: str = "tests.crash.bot_program"
    ) -> BotProcess:
        """Returns at once."""
        with log.open("ab") as errors:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                module,
                cwd=ROOT,
                env={**os.environ, **environ},
                stdout=asyncio.subprocess.PIPE,
                stderr=errors,
            )
        return cls(process, log)

    @classmethod
    async def started(cls, environ: Mapping[str, str], log: Path) -> BotProcess:
        """Returns when it says that it is ready."""
        bot = await cls.launched(environ, log)
        try:
            await bot.ready()
        except BaseException:
            await bot.kill()
            raise
        return bot

    @property
    def pid(self) -> int:
        return self._process.pid

    async def ready(self) -> None:
        assert self._process.stdout is not None
        async with asyncio.timeout(READY_S):
            while (line := await self._process.stdout.readline()).strip() != b"READY":
                if not line:
                    said = self._log.read_text(encoding="utf-8", errors="replace")[-3000:]
                    raise RuntimeError(f"the bot ended before it was ready:\n{said}")

    async def kill(self) -> None:
        """As a power cut would: nothing is finished."""
        self.send(signal.SIGKILL)
        await self._process.wait()

    def send(self, number: signal.Signals) -> None:
        if self._process.returncode is None:
            self._process.send_signal(number)

    async def ended(self) -> int:
        """Its exit status."""
        async with asyncio.timeout(END_S):
            return await self._process.wait()
