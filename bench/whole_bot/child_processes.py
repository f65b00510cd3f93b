"""Starts the programs of the bench, asks their probes, and ends them, each by its own id."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from bench.whole_bot.process_probe import ProcessReport

READY_S = 90.0
ANSWER_S = 60.0
END_S = 30.0
QUIET_S = 120.0
ROOT = Path(__file__).parents[2]
_LONGEST_LINE = 2**24
_LOOK_S = 0.2
_IDLE_SHARE = 0.15
_QUIET_LOOKS = 4


class BenchProcessError(Exception):
    """A program of the bench ended or fell silent."""


class BenchProcess:
    """`greeting` is what it said after READY."""

    def __init__(self, process: asyncio.subprocess.Process, log: Path) -> None:
        self._process = process
        self.log = log
        self.greeting = ""
        self._resting: int | None = None

    @classmethod
    @asynccontextmanager
    async def started(
        cls, module: str, folder: Path, environ: Mapping[str, str]
    ) -> AsyncIterator[BenchProcess]:
        """Ready at the beginning of the block, gone at its end."""
        log = folder / f"{module.rpartition('.')[2]}.log"
        path = os.pathsep.join([str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
        with log.open("ab") as errors:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                *("-m", module),
                cwd=folder,
                env={**os.environ, **environ, "PYTHONPATH": path},
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=errors,
                limit=_LONGEST_LINE,
            )
        child = cls(process, log)
        try:
            await child._ready()
            yield child
        finally:
            await child._end()

    @property
    def pid(self) -> int:
        return self._process.pid

    def cpu_s(self) -> float:
        """Its processor time so far, as the system counts it; 0 where it does not tell."""
        stat = Path(f"/proc/{self.pid}/stat")
        if not stat.exists():
            return 0.0
        fields = stat.read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory_mb(self) -> float:
        """What it has in memory now; 0 where the system does not tell."""
        status = Path(f"/proc/{self.pid}/status")
        if not status.exists():
            return 0.0
        lines = status.read_text(encoding="ascii", errors="replace").splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS:"))

    async def mark(self) -> None:
        await self._ask("mark")

    async def report(self) -> ProcessReport:
        return ProcessReport.from_json(await self._ask("report"))

    async def statements(self) -> list[str]:
        """In order, since the mark; only of a bot that keeps them."""
        return [str(text) for text in json.loads(await self._ask("statements"))]

    async def quiet(self) -> None:
        """Returns when it does next to nothing, and has no more tasks than at rest.

        The first call learns how many that are: call it when nothing was asked for a while.
        """
        try:
            async with asyncio.timeout(QUIET_S):
                await self._rested()
        except TimeoutError:
            raise BenchProcessError(
                f"{self.log.stem} did not come to rest within {QUIET_S:.0f} s"
            ) from None

    async def _rested(self) -> None:
        looks, before = 0, await self._activity()
        while looks < _QUIET_LOOKS:
            await asyncio.sleep(_LOOK_S)
            cpu_s, tasks = await self._activity()
            idle = cpu_s - before[0] < _LOOK_S * _IDLE_SHARE
            settled = tasks == before[1] if self._resting is None else tasks <= self._resting
            looks = looks + 1 if idle and settled else 0
            before = cpu_s, tasks
        self._resting = max(before[1], self._resting or 0)

    async def _activity(self) -> tuple[float, int]:
        """Processor seconds so far, and how many tasks there are."""
        cpu_s, tasks = json.loads(await self._ask("activity"))
        return float(cpu_s), int(tasks)

    async def _ask(self, word: str) -> str:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{word}\n".encode())
        return await self._line(ANSWER_S)

    async def _ready(self) -> None:
        async with asyncio.timeout(READY_S):
            while not (line := await self._line(READY_S)).startswith("READY"):
                pass
        self.greeting = line.removeprefix("READY").strip()

    async def _line(self, seconds: float) -> str:
        assert self._process.stdout is not None
        async with asyncio.timeout(seconds):
            line = await self._process.stdout.readline()
        if not line:
            said = self.log.read_text(encoding="utf-8", errors="replace")[-2000:]
            raise BenchProcessError(f"{self.log.stem} ended:\n{said}")
        return line.decode().strip()

    async def _end(self) -> None:
        """A closed pipe tells it to end."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            async with asyncio.timeout(END_S):
                await self._process.communicate()
        except TimeoutError:
            self._process.kill()
            await self._process.wait()
