"""Measures the process it runs in: processor time, lag of the event loop, memory, statements.

`answer_on_stdin` lets the bench ask for it, a word a line: `mark` begins a measurement, `report`
ends it. When the bench is gone, so is the process.
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.timing import percentile
from bench.whole_bot.statement_counter import StatementCounter, StatementCounts

# The stage's own names; it is not imported, since its memory would count as the bot's.
URL_VARIABLE = "DISCORD_STAGE_URL"
TOKEN_VARIABLE = "DISCORD_TOKEN"
MODEL_VARIABLE = "BENCH_MODEL_URL"
KEEP_VARIABLE = "BENCH_KEEP_STATEMENTS"
"""What the programs are told in their environment."""
BEAT_S = 0.01
_SCHEDSTAT = Path("/proc/self/schedstat")
_STATUS = Path("/proc/self/status")
_CLEAR = Path("/proc/self/clear_refs")
_RESET_PEAK = "5"


@dataclass(frozen=True, slots=True)
class ProcessReport:
    """What a process did since the mark. Times in seconds unless the name says otherwise."""

    seconds: float
    cpu_s: float
    waited_s: float
    """How long others had the processor when the main thread wanted it."""
    lag_p50_ms: float
    lag_p99_ms: float
    lag_max_ms: float
    start_mb: float
    peak_mb: float
    statements: StatementCounts

    @classmethod
    def from_json(cls, text: str) -> ProcessReport:
        values = json.loads(text)
        return cls(**values | {"statements": StatementCounts(**values["statements"])})


class ProcessProbe:
    """`start` it on the loop that is measured."""

    def __init__(self, statements: StatementCounter | None = None) -> None:
        self._statements = statements or StatementCounter()
        self._lags: list[float] = []
        self._beating: asyncio.Task[None] | None = None
        self.mark()

    def start(self) -> None:
        self._beating = asyncio.create_task(self._beat())
        self.mark()

    def stop(self) -> None:
        if self._beating is not None:
            self._beating.cancel()

    def mark(self) -> None:
        self._began, self._cpu, self._waited = time.monotonic(), time.process_time(), _waited_s()
        self._lags.clear()
        self._statements.reset()
        with suppress(OSError):  # only Linux can
            _CLEAR.write_text(_RESET_PEAK, encoding="ascii")
        self._start_mb = _memory_mb("VmRSS:")

    def report(self) -> ProcessReport:
        lags = self._lags or [0.0]
        return ProcessReport(
            seconds=time.monotonic() - self._began,
            cpu_s=time.process_time() - self._cpu,
            waited_s=_waited_s() - self._waited,
            lag_p50_ms=percentile(lags, 0.5) * 1000,
            lag_p99_ms=percentile(lags, 0.99) * 1000,
            lag_max_ms=max(lags) * 1000,
            start_mb=self._start_mb,
            peak_mb=_memory_mb("VmHWM:"),
            statements=self._statements.counts,
        )

    async def answer_on_stdin(self, when_alone: Callable[[], None]) -> None:
        """Until the bench closes the pipe; then `when_alone` ends the process."""
        reader = asyncio.StreamReader()
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        while line := await reader.readline():
            tell(self._answer(line.decode().strip()))
        when_alone()

    def _answer(self, word: str) -> str:
        match word:
            case "mark":
                self.mark()
                return "{}"
            case "report":
                return json.dumps(asdict(self.report()))
            case "activity":
                return json.dumps([time.process_time(), len(asyncio.all_tasks())])
            case "statements":
                return json.dumps(self._statements.texts)
            case _:
                raise ValueError(f"the probe knows no {word!r}")

    async def _beat(self) -> None:
        """How late a timer is. Timers that would have fallen due meanwhile are late too."""
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + BEAT_S
            await asyncio.sleep(BEAT_S)
            late = max(0.0, loop.time() - due)
            while late >= 0:
                self._lags.append(late)
                late -= BEAT_S


def point_discord_at(url: str) -> None:
    """Make discord.py take this stage for Discord, for as long as the process runs."""
    import discord
    import yarl

    discord.http.Route.BASE = f"{url}/api/v10"
    gateway = yarl.URL(url.replace("http", "ws", 1) + "/gw/")
    discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY = gateway
    discord.Asset.BASE = f"{url}/cdn"


def tell(line: str) -> None:
    """One line to the bench."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _waited_s() -> float:
    """Zero where the system does not tell."""
    if not _SCHEDSTAT.exists():
        return 0.0
    return int(_SCHEDSTAT.read_text(encoding="ascii").split()[1]) / 1e9


def _memory_mb(name: str) -> float:
    if not _STATUS.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    lines = _STATUS.read_text(encoding="ascii", errors="replace").splitlines()
    (line,) = (line for line in lines if line.startswith(name))
    return int(line.split()[1]) / 1024
