"""Several processes of one bot that share its shards by leases, on a stage with many servers."""

from __future__ import annotations

import asyncio
import random
import re
import signal
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from discord_stage import Settings, Stage
from oshaberi.bot.recovery.crash_recovery import TITLE as INTERRUPTED
from tests.crash.bot_process import BotProcess
from tests.crash.crash_world import environment
from tests.crash.numbered_lines_model import (
    LINES,
    PERSONA,
    SHORT,
    asked,
    expected,
    instant_model,
    lined_model,
)

SHARDS = 8
ROOMS = 2
"""Channels of a server; each shard has one server."""
USERS = ("mika", "ren", "aya")
SOON_S = 120.0
MOST_OPEN = 24
POLL_S = 0.2
FIRST_MS = 360_000_000_000 // SHARDS * SHARDS
"""When the servers were founded: a millisecond after each other, so each has a shard of its own."""


def sharded_world() -> dict[str, object]:
    guilds = [
        {
            "id": (FIRST_MS + shard) << 22,
            "name": f"Server {shard}",
            "owner": "kei",
            "members": ["kei", *USERS],
            "channels": [room(shard, number) for number in range(ROOMS)],
        }
        for shard in range(SHARDS)
    ]
    return {"bot": {"name": PERSONA}, "guilds": guilds}


def room(shard: int, number: int = 0) -> str:
    return f"shard-{shard}-room-{number}"


@dataclass(frozen=True, slots=True)
class FleetQuestion:
    """A question that somebody asked."""

    number: int
    channel: str


class BotFleet:
    """The processes by name, and what was asked and answered."""

    def __init__(self, stage: Stage, stack: AsyncExitStack, environ: dict[str, str], folder: Path):
        self.stage = stage
        self.processes: dict[str, BotProcess] = {}
        self.asked: list[FleetQuestion] = []
        self.lines_of_an_answer = SHORT
        self._stack = stack
        self._environ = environ
        self._folder = folder
        self._read_from: dict[str, int] = {}
        """Where the log of a process begins that had the same name before."""
        self._told_before: dict[str, int] = {}
        self._numbers = iter(range(1, 10**6))

    async def start(self, *names: str) -> None:
        """Start processes, and wait until they are ready to take shards."""
        for name in names:
            environ = {**self._environ, "OSHABERI_INSTANCE": name}
            log = self.log_of(name)
            self._read_from[name] = log.stat().st_size if log.exists() else 0
            process = await BotProcess.launched(environ, log)
            self._stack.push_async_callback(process.kill)
            self.processes[name] = process
        for name in names:
            await self.processes[name].ready()

    async def kill(self, name: str) -> None:
        await self.processes.pop(name).kill()

    async def end(self, name: str) -> int:
        process = self.processes.pop(name)
        process.send(signal.SIGTERM)
        return await process.ended()

    def log_of(self, name: str) -> Path:
        return self._folder / f"{name}.log"

    def connected(self) -> list[int]:
        return sorted(session.shard[0] for session in self.stage.gateway.connected())

    async def all_connected(self, within_s: float = SOON_S) -> None:
        everything = list(range(SHARDS))
        await self.stage.wait_for(lambda: self.connected() == everything, within_s)

    async def balanced(self, within_s: float = SOON_S) -> None:
        """Wait until no shard has moved for a while, and all are served."""
        async with asyncio.timeout(within_s):
            while len(set(shares := self.shares())) > 1 or sum(shares) != SHARDS:
                await asyncio.sleep(0.2)

    def shares(self) -> list[int]:
        return [len(self.shards_of(name)) for name in self.processes]

    def shards_of(self, name: str) -> frozenset[int]:
        """The shards that a process serves by its own log."""
        shards: set[int] = set()
        text = self.log_of(name).read_bytes()[self._read_from[name] :].decode()
        for line in text.splitlines():
            if found := re.search(r"shard (\d+) of \d+ is (served here|given)", line):
                (shards.add if found[2] == "served here" else shards.discard)(int(found[1]))
        return frozenset(shards)

    def ask(self, shard: int, number: int = 0, *, question: int = 0) -> FleetQuestion:
        question = question or next(self._numbers)
        asking = FleetQuestion(question, room(shard, number))
        self.asked.append(asking)
        text = asked(f"question {question}", bot_id=self.stage.world.bot.id)
        self.stage.people.post(asking.channel, text, user=random.choice(USERS))
        return asking

    def ask_everywhere(self) -> list[FleetQuestion]:
        return [self.ask(shard) for shard in range(SHARDS)]

    @asynccontextmanager
    async def under_load(self, pause_s: float = 0.25) -> AsyncIterator[None]:
        """Somebody asks something again and again, but not faster than the machine can answer."""

        async def ask_on() -> None:
            for at in range(10**6):
                while len(self.unanswered()) > MOST_OPEN:
                    await asyncio.sleep(POLL_S)
                self.ask(at % SHARDS, random.randrange(ROOMS))
                await asyncio.sleep(pause_s)

        asking = asyncio.create_task(ask_on())
        try:
            yield
        finally:
            asking.cancel()
            await asyncio.wait({asking})

    def said(self, asking: FleetQuestion) -> list[str]:
        """The lines of its answer, as they stand in the channel."""
        return self._said().get(asking.number, [])

    def messages(self, asking: FleetQuestion) -> list[str]:
        """The messages of its answer; one may have several lines."""
        prefix = f"question {asking.number} line "
        return [one for one in self.stage.world.contents(asking.channel) if one.startswith(prefix)]

    def _said(self) -> dict[int, list[str]]:
        """By question."""
        found: dict[int, list[str]] = {}
        for messages in self.stage.world.messages.values():
            for line in "\n".join(one.content for one in messages.values()).split("\n"):
                if said := re.match(r"question (\d+) line \d+$", line):
                    found.setdefault(int(said[1]), []).append(line)
        return found

    def _wanted(self, asking: FleetQuestion) -> list[str]:
        return expected(f"question {asking.number}")[: self.lines_of_an_answer]

    def notices(self, channel: str) -> int:
        """How often the channel was told that an answer is interrupted."""
        history = self.stage.world.history(channel)
        told = [embed.get("title") for one in history for embed in one.embeds]
        return told.count(INTERRUPTED) - self._told_before.get(channel, 0)

    def begin_anew(self) -> None:
        """Forget what was asked and told so far."""
        self.asked.clear()
        self._told_before.clear()
        self._told_before = {channel: self.notices(channel) for channel in self._channels()}

    def _channels(self) -> list[str]:
        return [room(shard, number) for shard in range(SHARDS) for number in range(ROOMS)]

    def unanswered(self) -> list[FleetQuestion]:
        """Those without a whole answer, but for as many as their channel was told of."""
        said = self._said()
        open_ones = [
            one for one in self.asked if len(said.get(one.number, [])) < len(self._wanted(one))
        ]
        for channel in {one.channel for one in open_ones}:
            told = self.notices(channel)
            here = [one for one in open_ones if one.channel == channel]
            # Whose answer has begun was told of first.
            here.sort(key=lambda one: -len(said.get(one.number, [])))
            open_ones = [one for one in open_ones if one not in here[:told]]
        return open_ones

    async def answered(self, within_s: float = SOON_S) -> None:
        """Wait until all questions are answered."""
        until = time.monotonic() + within_s
        while open_ones := self.unanswered():
            assert time.monotonic() < until, f"not answered within {within_s:g} s: {open_ones}"
            await asyncio.sleep(POLL_S)
        await self.stage.settled(within_s)

    def problems(self, *, may_be_cut: bool = False) -> list[str]:
        """Every question must be answered once: no line is missing, none is there twice.

        An answer that a kill cut off may lack its end, if its channel was told.
        """
        said, missing = self._said(), set(self.unanswered())
        cut = [] if may_be_cut else [one for one in self._channels() if self.notices(one)]
        found = [f"not answered: {one}, {said.get(one.number)}" for one in missing]
        found += [f"told that an answer is cut: {channel}" for channel in cut]
        for asking in self.asked:
            lines, wanted = said.get(asking.number, []), self._wanted(asking)
            if lines != wanted[: len(lines)]:
                found.append(f"answered otherwise: {asking}: {lines}")
        return found


@asynccontextmanager
async def bot_fleet(
    folder: Path,
    database: str,
    redis: str,
    *names: str,
    max_concurrency: int = SHARDS,
    is_slow: bool = False,
) -> AsyncIterator[BotFleet]:
    """Run processes with these names. Nobody tells them which shards they have."""
    settings = Settings(
        rate_limits=False, shards=SHARDS, max_concurrency=max_concurrency, identify_s=5.0
    )
    async with AsyncExitStack() as stack:
        stage = await stack.enter_async_context(Stage(sharded_world(), settings))
        model = await stack.enter_async_context(lined_model() if is_slow else instant_model())
        chosen = {"shards": "auto", "redis_url": redis, "log_level": "info"}
        chosen |= {"follow_up_policy": "queue", "waiting_limit": "100"}
        environ = dict(environment(folder, stage, model, database, **chosen))
        fleet = BotFleet(stage, stack, environ, folder)
        if is_slow:
            fleet.lines_of_an_answer = LINES
        await fleet.start(*names)
        await fleet.all_connected()
        await fleet.balanced()
        yield fleet
        stage.check()
    assert stage.gateway.too_early == 0
