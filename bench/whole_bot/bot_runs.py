"""Runs one bot through all modes, on a stage of its own, and measures each."""

from __future__ import annotations

import gc
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.whole_bot.bench_stage import BenchStage, bench_world
from bench.whole_bot.bot_figures import BotFigures, faults_of, in_short, times_of, troubles_in
from bench.whole_bot.child_processes import BenchProcess
from bench.whole_bot.load_modes import AtOnce, LoadMode
from bench.whole_bot.process_probe import (
    KEEP_VARIABLE,
    MODEL_VARIABLE,
    TOKEN_VARIABLE,
    URL_VARIABLE,
    ProcessProbe,
)
from bench.whole_bot.stack_summary import stacks_of
from discord_stage import Settings, Stage

WARM_UP = AtOnce(questions=5, lines=3)
_WARM_GROUP = "warm"

Show = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class BenchedBot:
    """Which program, and with which database; None is the bare bot, which has none."""

    name: str
    module: str
    database_url: str | None = None


BARE = BenchedBot("bare", "bench.whole_bot.bare_bot")


def oshaberi_on(name: str, database_url: str) -> BenchedBot:
    return BenchedBot(name, "bench.whole_bot.probed_bot", database_url)


@dataclass(frozen=True, slots=True)
class BotOnStage:
    """Everything that runs while a bot is measured."""

    stage: BenchStage
    bot: BenchProcess
    model: BenchProcess
    probe: ProcessProbe

    async def measure(self, mode: LoadMode, group: str, name: str) -> BotFigures:
        await self.bot.quiet()
        requests, logged = self.stage.request_count, self._log_size()
        await self.bot.mark()
        await self.model.mark()
        self.probe.mark()
        self.stage.bot_cpu_s = self.bot.cpu_s
        cpu_before_s = self.bot.cpu_s()
        played = await mode.play(self.stage, group)
        stage = self.probe.report()
        await self.bot.quiet()
        return BotFigures(
            mode=mode.name,
            bot=name,
            turns=len(played.asked),
            chatter=played.chatter,
            messages=sum(one.messages for one in played.asked),
            times=times_of(played, cpu_before_s),
            faults=faults_of(played),
            troubles=troubles_in(self._log_from(logged)),
            requests=self.stage.requests_since(requests),
            process=await self.bot.report(),
            stage=stage,
            model=await self.model.report(),
        )

    def _log_size(self) -> int:
        return self.bot.log.stat().st_size

    def _log_from(self, size: int) -> str:
        with self.bot.log.open("rb") as log:
            log.seek(size)
            return log.read().decode(errors="replace")


@asynccontextmanager
async def bot_on_stage(
    benched: BenchedBot,
    groups: Mapping[str, int],
    folder: Path,
    *,
    keep_statements: bool = False,
    limits: bool = False,
) -> AsyncIterator[BotOnStage]:
    """The bot is warm: it has answered before, and need not load or connect anything.

    `limits`: Discord's rate limits are on, and the bot keeps them.
    """
    folder.mkdir(parents=True, exist_ok=True)
    world = bench_world({_WARM_GROUP: WARM_UP.channels, **groups})
    started = BenchProcess.started
    probe = ProcessProbe()
    async with (
        Stage(world, Settings(rate_limits=limits)) as server,
        started("bench.whole_bot.token_server", folder, {}) as model,
    ):
        environ = environment(benched, server, model.greeting, folder)
        if not limits:
            environ["OSHABERI_DISCORD_API_URL"] = server.url  # the limits are somebody else's
        if keep_statements:
            environ[KEEP_VARIABLE] = "1"
        async with started(benched.module, folder, environ) as bot:
            probe.start()
            stage = BenchStage(server)
            await WARM_UP.play(stage, _WARM_GROUP)
            gc.collect()
            gc.freeze()
            try:
                yield BotOnStage(stage, bot, model, probe)
            finally:
                gc.unfreeze()
                probe.stop()


async def run_bot(
    benched: BenchedBot, modes: Sequence[LoadMode], folder: Path, show: Show
) -> list[BotFigures]:
    groups = {f"group{at}": mode.channels for at, mode in enumerate(modes)}
    figures = []
    async with bot_on_stage(benched, groups, folder) as running:
        for group, mode in zip(groups, modes, strict=True):
            figures.append(await running.measure(mode, group, benched.name))
            show(in_short(figures[-1]))
    return figures


async def statements_of_one_turn(benched: BenchedBot, lines: int, folder: Path) -> list[str]:
    """What one question makes the bot say to its database, in order."""
    async with bot_on_stage(benched, {"one": 1}, folder, keep_statements=True) as running:
        await running.bot.quiet()
        await running.bot.mark()
        await AtOnce(1, lines).play(running.stage, "one")
        await running.bot.quiet()
        return await running.bot.statements()


async def profile(
    benched: BenchedBot, mode: AtOnce, folder: Path, program: str, file: Path
) -> None:
    """The bot's stacks while it answers, in py-spy's format."""
    async with bot_on_stage(benched, {"some": mode.channels}, folder) as running:
        await running.bot.quiet()
        async with stacks_of(running.bot.pid, program, file):
            await mode.play(running.stage, "some")


def environment(benched: BenchedBot, server: Stage, model_url: str, folder: Path) -> dict[str, str]:
    environ = {
        URL_VARIABLE: server.url,
        TOKEN_VARIABLE: server.token,
        MODEL_VARIABLE: model_url,
    }
    if benched.database_url is None:
        return environ
    model = {"provider": "openai", "model": "tokens", "base_url": model_url, "api_keys": ["none"]}
    settings = {
        "discord_token": server.token,
        "data_dir": str(folder),
        "database_url": benched.database_url,
        "models": json.dumps([model]),
        "humanizer_degree": "1",
        "burst_wait_ms": "0",  # a wait is not work
    }
    return environ | {f"OSHABERI_{key.upper()}": value for key, value in settings.items()}
