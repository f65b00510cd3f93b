"""The whole bot, for so many seconds, while everything around it fails now and then.

`python -m tests.faults.bot_soak --seconds 1200`. The bot is a process of its own; Discord (the
stage, with its rate limits) and the model are in this one. In the end every question must be
answered whole and once, or its channel was told; and the bot's memory must not have grown.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import signal
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Coroutine
from contextlib import closing, suppress
from itertools import count
from pathlib import Path

from discord_stage import Fault, Settings, Stage
from discord_stage.errors import StageTimeoutError
from tests.crash.bot_process import BotProcess
from tests.crash.busy_channels import stored_questions
from tests.crash.crash_rounds import errors_in, unfinished
from tests.crash.crash_world import MODERATOR, OTHER, USER, environment, settle_in, world
from tests.crash.many_turns import rss_mb
from tests.crash.numbered_lines_model import UnreliableModel, asked, serving
from tests.faults.question_fates import Batch, MemorySample, Soaked, answered_in
from tests.faults.soak import arm

SERVERS = 3
CHANNELS = 30
USERS = (USER, OTHER, MODERATOR)
PAUSE_S = (0.1, 1.0)
"""Between an answer and the next question of its channel."""
TIME_SCALE = 4.0
"""Discord's limits pass faster: else all wait for the 30 webhook messages a minute of a channel."""
PHASE_S = 30.0
FAILING = 0.1
"""The share of requests to Discord, and of answers of the model, that fail in a bad phase."""
MODEL_FAILING = 0.3
SILENT_MS = "8000"
"""So long the bot waits for a silent model."""
QUIET_S = 300.0
"""So long after the last fault everything must be answered or told."""
KEPT_MESSAGES = 60
SAMPLE_S = 30.0
EXPECTED_ERROR = " outage="
"""In a line of the log: the database or Discord is away, as we wanted."""
ROW = "{:>6} {:>7} {:>6} {:>6} {:>6} {:>5} {:>4}  {}"
MOST_SHOWN = 20


class BotSoak:
    """People who ask, and the faults around the bot."""

    def __init__(
        self, stage: Stage, model: UnreliableModel, database: Path, seconds: float, seed: int
    ) -> None:
        self._stage = stage
        self._model = model
        self._database = database
        self._seconds = seconds
        self._chance = random.Random(seed)
        self._numbers = count(1)
        self._began = time.monotonic()
        self._phases: list[str] = []
        """Those that began since the last line was printed."""
        self._closed: Counter[int] = Counter()
        """How many lines a question had when it was over."""
        self._said: Counter[int] = Counter()
        """How many lines a question has in messages that the stage has forgotten."""
        self.open: dict[str, Batch] = {}
        self.result = Soaked()

    @property
    def now_s(self) -> float:
        return time.monotonic() - self._began

    # -- people ------------------------------------------------------------------------------------

    async def ask_on(self, channel: str) -> None:
        """Ask in this channel until the time is over, and wait for what was asked last."""
        while True:
            await asyncio.sleep(self._chance.uniform(*PAUSE_S))
            if self.now_s >= self._seconds:
                return
            batch = self._ask(channel, self._chance.choice((1, 1, 1, 2, 3)))
            await self._over(batch)
            self.result.close(batch)
            self._closed.update({fate.number: len(fate.lines) for fate in batch.fates})
            del self.open[channel]
            self._forget(channel)

    def _ask(self, channel: str, questions: int) -> Batch:
        asking = {}
        for user in self._chance.sample(USERS, questions):
            number = next(self._numbers)
            alter = self._chance.random() < 0.3
            text = asked(f"question {number}", alter=alter, bot_id=self._stage.world.bot.id)
            asking[number] = self._stage.people.post(channel, text, user=user)
        self.result.asked += questions
        self.open[channel] = batch = Batch(channel, asking, self.now_s)
        return batch

    async def _over(self, batch: Batch) -> None:
        """Wait until its questions are answered or told, at most until `QUIET_S` after the end."""
        until = self._seconds + QUIET_S
        while not batch.is_over and self.now_s < until:
            await asyncio.sleep(0.25)
            batch.look(self._stage)
        # Whoever was answered whole may still be told something, or hear a line twice.
        await asyncio.sleep(1.0)
        batch.look(self._stage)

    def _forget(self, channel: str) -> None:
        """What is long over: the stage would keep it for ever."""
        log = self._stage.state.request_log
        if len(log.records) > 5000:
            self._count_faults()
            log.records.clear()
            log._attempts.clear()
        there = self._stage.world.messages[self._stage.world.channel(channel).id]
        for old in sorted(there)[:-KEPT_MESSAGES]:
            self._said.update(answered_in(there.pop(old)))

    def too_late(self) -> list[str]:
        """Return what was said about a question after it was over."""
        said = self._said.copy()
        for there in self._stage.world.messages.values():
            for message in there.values():
                said.update(answered_in(message))
        return [
            f"question {number} had {lines} lines when it was over, and has {said[number]}"
            for number, lines in self._closed.items()
            if said[number] != lines
        ]

    def _count_faults(self) -> None:
        for record in self._stage.requests:
            self.result.faults.update(f"Discord: {kind}" for kind in record.faults)

    # -- faults ------------------------------------------------------------------------------------

    async def fail_on(self) -> None:
        """One phase after another, each kind equally often; once, Discord's REST is away."""
        length_s = min(PHASE_S, self._seconds / 10)
        outage_at_s = 0.45 * self._seconds
        phases: list[Callable[[float], Coroutine[None, None, None]]] = []
        while self.now_s < self._seconds:
            if self.now_s >= outage_at_s:
                outage_at_s = float("inf")
                self._phases.append("REST away")
                await self._rest_away(self._seconds / 10)
                continue
            if not phases:
                phases = [self._calm, self._discord, self._gateway, self._bad_model]
                phases += [self._locked, self._everything]
                self._chance.shuffle(phases)
            phase = phases.pop()
            self._phases.append(phase.__name__.strip("_").replace("_", " "))
            await phase(min(length_s, self._seconds - self.now_s))
            self._stage.faults.clear()
            self._model.failing = 0.0
        self._count_faults()

    async def _calm(self, for_s: float) -> None:
        await asyncio.sleep(for_s)

    async def _discord(self, for_s: float) -> None:
        arm(self._stage, FAILING)
        await asyncio.sleep(for_s)

    async def _bad_model(self, for_s: float) -> None:
        self._model.failing = MODEL_FAILING
        await asyncio.sleep(for_s)

    async def _rest_away(self, for_s: float) -> None:
        self._stage.faults.clear()
        self._stage.fault(Fault(kind="status", status=503, route="*", times=None))
        self.result.faults["REST wholly away"] += 1
        await asyncio.sleep(for_s)
        self._stage.faults.clear()

    async def _gateway(self, for_s: float) -> None:
        gateway = self._stage.gateway
        breaks: dict[str, Callable[[], None]] = {
            "cut": gateway.drop,
            "closed": lambda: gateway.drop(4000),
            "reconnect": gateway.ask_to_reconnect,
            "session invalid": gateway.invalidate,
        }
        until = self.now_s + for_s
        while self.now_s < until:
            name = self._chance.choice(list(breaks))
            breaks[name]()
            self.result.faults[f"gateway: {name}"] += 1
            await asyncio.sleep(min(for_s, self._chance.uniform(5.0, 15.0)))

    async def _locked(self, for_s: float) -> None:
        """Somebody else writes to the database, for seconds each time."""
        until = self.now_s + for_s
        while self.now_s < until:
            with suppress(sqlite3.OperationalError), closing(self._connected()) as other:
                other.execute("BEGIN IMMEDIATE")  # refused if the bot is writing: next time
                self.result.faults["database locked"] += 1
                await asyncio.sleep(min(for_s, self._chance.uniform(1.0, 8.0)))
                other.execute("ROLLBACK")
            await asyncio.sleep(self._chance.uniform(0.1, 3.0))

    def _connected(self) -> sqlite3.Connection:
        return sqlite3.connect(self._database, timeout=0, isolation_level=None)

    async def _everything(self, for_s: float) -> None:
        arm(self._stage, FAILING / 2)
        self._model.failing = MODEL_FAILING / 2
        await asyncio.gather(self._gateway(for_s), self._locked(for_s))

    # -- memory ------------------------------------------------------------------------------------

    async def sample_on(self, pid: int) -> None:
        """Measure the bot's memory, and print a line a minute."""
        every_s = min(SAMPLE_S, self._seconds / 20)
        _say(ROW.format("minute", "RSS MB", "CPU %", "asked", "whole", "told", "open", "phases"))
        row: list[MemorySample] = [_sample(pid, 0.0)]
        while self.now_s < self._seconds:
            await asyncio.sleep(every_s)
            sample = _sample(pid, self.now_s)
            self.result.samples.append(sample)
            row.append(sample)
            if len(row) > 2:
                self._say_row(row)
                row = row[-1:]

    def _say_row(self, row: list[MemorySample]) -> None:
        mean = sum(one.rss_mb for one in row[1:]) / len(row[1:])
        cpu = (row[-1].cpu_s - row[0].cpu_s) / (row[-1].at_s - row[0].at_s)
        found = self.result
        waiting = sum(len(one.questions) for one in self.open.values())
        figures = f"{row[-1].at_s / 60:.1f}", f"{mean:.1f}", f"{cpu:.0%}", found.asked, found.whole
        _say(ROW.format(*figures, found.told.total(), waiting, ", ".join(self._phases)))
        self._phases.clear()


def _sample(pid: int, at_s: float) -> MemorySample:
    stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return MemorySample(
        at_s, rss_mb(pid), (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")
    )


async def soak_bot(folder: Path, seconds: float, seed: int = 0, channels: int = CHANNELS) -> Soaked:
    """Run the bot for so many seconds. Return what became of the questions."""
    names = [f"c{number}" for number in range(channels)]
    path = folder / "bot.db"
    database = f"sqlite:///{path}"
    model = UnreliableModel(random.Random(seed))
    settings = Settings(seed=seed, time_scale=TIME_SCALE)
    async with (
        Stage(world(*names, servers=SERVERS), settings) as stage,
        serving(model.complete) as model_url,
    ):
        await settle_in(stage, database, folder)
        chosen = {"follow_up_policy": "queue", "inactivity_timeout_ms": SILENT_MS}
        environ = environment(folder, stage, model_url, database, **chosen)
        bot = await BotProcess.started(environ, folder / "bot.log")
        try:
            soak = BotSoak(stage, model, path, seconds, seed)
            await asyncio.gather(
                soak.fail_on(), soak.sample_on(bot.pid), *(soak.ask_on(name) for name in names)
            )
            with suppress(StageTimeoutError):
                await stage.settled(QUIET_S)
            result = soak.result
            result.problems += soak.too_late()
            bot.send(signal.SIGTERM)
            if status := await bot.ended():
                result.problems.append(f"the bot ended with status {status}")
        finally:
            await bot.kill()
    if left := await stored_questions(database, folder) + await unfinished(database, folder):
        result.problems.append(f"{left} questions or answers are left in the database")
    result.problems += stage.problems
    result.faults += model.struck
    errors = [line for line in errors_in(folder / "bot.log") if EXPECTED_ERROR not in line]
    result.problems += [f"in the log: {line}" for line in errors]
    return result


def _say(*lines: str) -> None:
    sys.stdout.writelines(f"{line}\n" for line in lines)
    sys.stdout.flush()


def _report(found: Soaked, seconds: float) -> bool:
    """Print the figures. Return whether all is well."""
    before, after = found.memory(seconds)
    is_flat = found.is_flat(seconds)
    _say(
        f"{found.asked} questions, {found.whole} answered whole and once; "
        f"{len(found.problems)} problems",
        f"told: {dict(found.told.most_common())}, {found.spare} of them beside a whole answer",
        f"faults: {dict(found.faults.most_common())}",
        f"memory: {before:.1f} MB in the second quarter of the time, {after:.1f} MB in the last: "
        + ("flat" if is_flat else "it grows"),
        *(f"  {problem}" for problem in found.problems[:MOST_SHOWN]),
    )
    return is_flat and not found.problems


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults.bot_soak", description=__doc__)
    parser.add_argument("--seconds", type=float, default=1200.0)
    parser.add_argument("--channels", type=int, default=CHANNELS)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--folder", type=Path, help="a folder that keeps the log and the database")
    options = parser.parse_args()
    _say(f"seed {options.seed}")
    with tempfile.TemporaryDirectory() as made:
        folder = options.folder or Path(made)
        soaking = soak_bot(folder, options.seconds, options.seed, options.channels)
        found = asyncio.run(soaking)
    return 0 if _report(found, options.seconds) else 1


if __name__ == "__main__":
    sys.exit(main())
