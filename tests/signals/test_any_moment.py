"""SIGINT and SIGTERM end `oshaberi run` at any moment of its life, within five seconds.

Each moment is a process of its own: on the local stage, on Discord with SQLite, and with shards by
leases. The moments are spread over start-up, connecting, answering and ending.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from discord_stage import Settings, Stage
from tests.crash.crash_world import CHANNEL, USER, environment, world
from tests.crash.numbered_lines_model import STALLED, asked, lined_model
from tests.local_run.local_run_process import environment as local_environment
from tests.signals.signalled_program import (
    REPORT_VARIABLE,
    SIGNALS_VARIABLE,
    STAGE_VARIABLE,
    Moment,
    held_up_s,
)
from tests.storage.database_servers import redis_url

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PROGRAM = [sys.executable, "-m", "tests.signals.signalled_program", "run", "--no-browser"]
PROMISED_S = 5.0
GRACE_S = 1.0
LAST_S = 20.0
"""How long a stopped answer may take for its last message (docs/operations.md)."""
MOST_LINES = 60
HUNG_S = 120.0
"""Of the wall: only for a process that does not end at all."""
INT, TERM = "SIGINT", "SIGTERM"


@dataclass(frozen=True, slots=True)
class Ended:
    """How a process ended. `seconds` do not count while others had the processors."""

    status: int
    seconds: float
    is_caught: bool
    """Whether the program had begun to listen for signals when the (last) one came."""
    log: str

    def problem(self, within_s: float) -> str | None:
        expected = (0,) if self.is_caught else (130, -signal.SIGINT, -signal.SIGTERM)
        if self.status not in expected:
            return f"status {self.status}, not one of {expected}"
        if self.seconds > within_s:
            return f"{self.seconds:.1f} s, not {within_s:g}"
        if self.is_caught and "Traceback" in self.log:
            return "a traceback"
        if self.log.count("\n") > MOST_LINES:
            return f"{self.log.count(chr(10))} lines of log"
        return None


class Place:
    """Where `oshaberi run` runs, again and again, each time with an empty data folder."""

    def __init__(self, stage: Stage | None, environ: dict[str, str], folder: Path) -> None:
        self.stage = stage
        self._environ = environ
        self._folder = folder
        self._number = 0
        self._log = folder / "0.log"

    def start(self, moments: Sequence[Moment] = ()) -> subprocess.Popen[bytes]:
        self._number += 1
        folder = self._folder / str(self._number)
        folder.mkdir()
        self._log = folder / "bot.log"
        counts_imports = any(what == "import" for _name, what, _count in moments)
        on_stage = self.stage is not None and not counts_imports
        environ = {
            **self._environ,
            **({STAGE_VARIABLE: self.stage.url} if self.stage and on_stage else {}),
            SIGNALS_VARIABLE: json.dumps(moments),
            REPORT_VARIABLE: str(self._report),
            "OSHABERI_DATA_DIR": str(folder),
            "OSHABERI_DATABASE_URL": f"sqlite:///{folder / 'bot.db'}",
            "OSHABERI_STAGE_PORT": "0",
            "OSHABERI_SHUTDOWN_GRACE_S": f"{GRACE_S:g}",
        }
        with self._log.open("wb") as log:
            return subprocess.Popen(PROGRAM, cwd=ROOT, env=environ, stdout=log, stderr=log)

    @property
    def _report(self) -> Path:
        return self._log.with_name("report.json")

    async def ended(
        self, process: subprocess.Popen[bytes], sent: dict[str, float] | None = None
    ) -> Ended:
        """Wait for its end. `sent` is when the last signal came, if it did not report that."""
        # What the system knows of it is gone when it is waited for as usual.
        end = os.P_PID, process.pid, os.WEXITED | os.WNOWAIT
        waiting = asyncio.create_task(asyncio.to_thread(os.waitid, *end))
        if not (await asyncio.wait({waiting}, timeout=HUNG_S))[0]:
            process.kill()
            await waiting
        at, held_up = time.monotonic(), held_up_s(process.pid)
        status = process.wait()
        last = sent or json.loads(self._report.read_text())[-1]
        waited = max(0.0, held_up - last["held_up"])
        return Ended(
            status,
            at - last["at"] - waited,
            bool(last["is_caught"]),
            self._log.read_text(encoding="utf-8", errors="replace"),
        )

    async def ends(self, *moments: Moment) -> Ended:
        return await self.ended(self.start(moments))

    async def ends_when(
        self, holds: Callable[[], object], *names: str, at_ready: Callable[[], object] | None = None
    ) -> Ended:
        """Signal it from outside, when something has come to be."""
        process = self.start()
        try:
            if at_ready is not None:
                await self._until(lambda: "answers messages" in self._log.read_text())
                at_ready()
            await self._until(holds)
        except TimeoutError:
            process.kill()
            process.wait()
            pytest.fail(f"it did not come so far: {self._log.read_text()[-2000:]}")
        for name in names:
            process.send_signal(signal.Signals[name])
        now = {"at": time.monotonic(), "held_up": held_up_s(process.pid), "is_caught": True}
        return await self.ended(process, now)

    async def _until(self, holds: Callable[[], object]) -> None:
        async with asyncio.timeout(HUNG_S):
            while not holds():
                await asyncio.sleep(0.02)


@asynccontextmanager
async def place(kind: str, folder: Path, redis: str | None = None) -> AsyncIterator[Place]:
    if kind == "local":
        yield Place(None, local_environment(folder), folder)
        return
    settings = Settings(rate_limits=False, shards=2, max_concurrency=2, identify_s=0.0)
    async with AsyncExitStack() as stack:
        stage = await stack.enter_async_context(Stage(world(), settings))
        model = await stack.enter_async_context(lined_model())
        chosen = {} if redis is None else {"shards": "auto", "redis_url": redis}
        environ = environment(folder, stage, model, "", **chosen)
        yield Place(stage, {**local_environment(folder), **environ}, folder)


def problems(found: dict[str, Ended], within_s: float = PROMISED_S) -> dict[str, str]:
    return {name: told for name, one in found.items() if (told := one.problem(within_s))}


def redis_for(kind: str) -> str | None:
    return redis_url() if kind == "leases" else None


KINDS = ("local", "discord", "leases")
IMPORTS = (60, 250, 500, 700, 900)
TURNS = (1, 60, 150, 250, 330, 374, 410, 440, 640, 1000)
"""Which part of the start these are differs from kind to kind, and from run to run."""


@pytest.mark.parametrize("kind", KINDS)
def test_while_it_starts(kind: str, tmp_path: Path) -> None:
    redis = redis_for(kind)

    async def main() -> dict[str, Ended]:
        found = {}
        async with place(kind, tmp_path, redis) as here:
            for number, count in enumerate(IMPORTS):
                name = (INT, TERM)[number % 2]
                found[f"{name} at import {count}"] = await here.ends((name, "import", count))
            for number, count in enumerate(TURNS):
                name = (INT, TERM)[number % 2]
                found[f"{name} at turn {count}"] = await here.ends((name, "turn", count))
        return found

    found = asyncio.run(main())
    assert problems(found) == {}
    assert sum(one.is_caught for one in found.values()) >= len(TURNS)


@pytest.mark.parametrize("kind", ["discord", "leases"])
def test_while_it_cannot_connect(kind: str, tmp_path: Path) -> None:
    redis = redis_for(kind)

    async def main() -> dict[str, Ended]:
        found = {}
        async with place(kind, tmp_path, redis) as here:
            assert here.stage is not None
            gateway = here.stage.gateway
            gateway.refuses = True
            for number, name in enumerate((INT, TERM, INT), 1):
                gateway.refused = 0
                found[f"{name} after attempt {number}"] = await here.ends_when(
                    partial(_has_refused, here, number), name
                )
        return found

    assert problems(asyncio.run(main())) == {}


@pytest.mark.parametrize("kind", KINDS)
def test_when_it_is_ready_and_while_it_ends(kind: str, tmp_path: Path) -> None:
    redis = redis_for(kind)

    async def main() -> dict[str, Ended]:
        found = {}
        async with place(kind, tmp_path, redis) as here:
            for name, turns in ((INT, 0), (TERM, 20)):
                found[f"{name} {turns} turns later"] = await here.ends((name, "ready", turns))
            for turns in (1, 2, 4, 12):
                moments = ((TERM, "ready", 1), (INT, "signal", turns))
                found[f"again after {turns} turns"] = await here.ends(*moments)
        return found

    assert problems(asyncio.run(main())) == {}


@pytest.mark.parametrize("kind", ["discord", "leases"])
def test_while_it_answers(kind: str, tmp_path: Path) -> None:
    """One signal: the answer has its grace. Two: it ends at once."""
    redis = redis_for(kind)

    async def main() -> tuple[dict[str, Ended], dict[str, Ended]]:
        once: dict[str, Ended] = {}
        twice: dict[str, Ended] = {}
        async with place(kind, tmp_path, redis) as here:
            for lines, names in ((0, [TERM]), (2, [INT]), (0, [INT, INT]), (2, [TERM, TERM])):
                wanted = len(_told(here)) + 1 + lines
                ended = await here.ends_when(
                    partial(_has_told, here, wanted), *names, at_ready=partial(_ask, here)
                )
                (twice if len(names) > 1 else once)[f"{names} after {lines} lines"] = ended
        return once, twice

    once, twice = asyncio.run(main())
    assert problems(once, PROMISED_S + GRACE_S + LAST_S) == {}
    assert problems(twice) == {}


def _ask(here: Place) -> None:
    assert here.stage is not None
    question = asked(f"question {STALLED}", bot_id=here.stage.world.bot.id)
    here.stage.people.post(CHANNEL, question, user=USER)


def _has_refused(here: Place, attempts: int) -> bool:
    assert here.stage is not None
    return here.stage.gateway.refused >= attempts


def _has_told(here: Place, messages: int) -> bool:
    return len(_told(here)) >= messages


def _told(here: Place) -> list[str]:
    assert here.stage is not None
    return [one.content for one in here.stage.world.history(CHANNEL)]
