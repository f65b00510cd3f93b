"""Each alert of `deploy/alerts.yaml` fires when its fault is caused on a running bot: at the first
event, not before it, nothing else with it, and not for ever after it is mended.

To add an alert, add a `Cause` to `CAUSES`: it breaks something for real, and asks the bot's
`/metrics` for as long as the rule wants to see it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sqlite3
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any, ClassVar

import pytest

from discord_stage import Fault
from discord_stage.model_servers.scripts import NoAnswer, Refuse
from discord_stage.scaled_loop import run_scaled
from discord_stage.world.records import Webhook
from tests.crash.redis_proxy import RedisProxy, redis_proxy
from tests.e2e.alert_rules import ALERTS, Timeline, alert_names, program
from tests.e2e.bot_harness import Answer, BotHarness, bot_harness
from tests.free_ports import free_port
from tests.storage.database_servers import OwnRedis

SPEED = 60.0
WELL_MINUTES = 30
FORGOTTEN_MINUTES = 120
"""Longer than any rule looks back."""


@pytest.fixture(autouse=True)
def nothing_is_logged_as_an_error(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """But for what discord.py itself says about a gateway that does not take it back."""
    yield
    errors = [one for one in caplog.get_records("call") if one.levelno >= logging.ERROR]
    assert {one.name for one in errors if one.exc_info} <= {"discord.shard"}


class Cause:
    """What makes alerts fire: `fires` are all that one such fault should fire."""

    fires: ClassVar[frozenset[str]]
    answers: ClassVar[tuple[Answer, ...]] = ("Here.",) * 5
    spare: ClassVar[tuple[Answer, ...]] = ()
    """What a second model answers."""
    is_the_end: ClassVar[bool] = False
    """The process ends; nothing has to be done for it."""

    async def settings(self, _stack: AsyncExitStack) -> Mapping[str, Any]:
        """Open what the bot needs from its start on. Return its settings."""
        return {}

    async def play(self, here: BotHarness, seen: Timeline) -> None:
        """Cause the fault, and scrape."""
        raise NotImplementedError

    async def mend(self, here: BotHarness) -> None:
        """End the fault."""


class Down(Cause):
    fires = frozenset({"OshaberiDown"})
    is_the_end = True


class NotConnected(Cause):
    fires = frozenset({"OshaberiNotConnected"})

    async def play(self, here: BotHarness, seen: Timeline) -> None:
        here.stage.gateway.refuses = True
        here.stage.gateway.drop()
        await here.wait_for(lambda: metric(here, "shards_connected") == 0)
        await seen.scrape(4)

    async def mend(self, here: BotHarness) -> None:
        here.stage.gateway.refuses = False
        await here.wait_for(lambda: metric(here, "shards_connected") == 1)


class DiscordAway(Cause):
    """Its REST API answers nothing but errors; the gateway stays."""

    fires = frozenset({"OshaberiDiscordAway"})

    async def play(self, here: BotHarness, seen: Timeline) -> None:
        here.stage.fault(Fault(kind="status", status=503, route="*", times=None))
        here.ask("are you there?")
        await here.wait_for(lambda: metric(here, "discord_away") == 1)
        await seen.scrape(3)

    async def mend(self, here: BotHarness) -> None:
        here.stage.faults.clear()
        await here.says("Here.")
        assert metric(here, "discord_away") == 0


class DatabaseAway(Cause):
    """Another program holds the lock of the SQLite file."""

    fires = frozenset({"OshaberiDatabaseAway", "OshaberiDatabaseFaults"})

    async def play(self, here: BotHarness, seen: Timeline) -> None:
        self._other = sqlite3.connect(here.settings.data_dir / "oshaberi.db", timeout=0)
        while not self._other.in_transaction:
            with suppress(sqlite3.OperationalError):  # the bot itself is writing
                self._other.execute("BEGIN IMMEDIATE")
            await asyncio.sleep(0.1)
        here.ask("are you there?")
        await here.wait_for(lambda: metric(here, "database_away") == 1)
        await seen.scrape(3)

    async def mend(self, here: BotHarness) -> None:
        self._other.close()
        await here.wait_for(lambda: metric(here, "database_away") == 0)
        await here.idle()


class RedisAway(Cause):
    fires = frozenset({"OshaberiRedisAway"})
    _proxy: RedisProxy

    async def settings(self, stack: AsyncExitStack) -> Mapping[str, Any]:
        self._proxy = await stack.enter_async_context(redis_proxy(OwnRedis().url))
        return {"redis_url": self._proxy.url}

    async def play(self, here: BotHarness, seen: Timeline) -> None:
        await self._proxy.cut()
        await here.wait_for(lambda: metric(here, "redis_away") == 1)
        await seen.scrape(3)

    async def mend(self, here: BotHarness) -> None:
        await self._proxy.mend()
        await here.wait_for(lambda: metric(here, "redis_away") == 0)


class KeyRefused(Cause):
    fires = frozenset({"OshaberiKeyRefused"})
    answers = (Refuse("auth", "this key is no good"),)

    async def play(self, here: BotHarness, seen: Timeline) -> None:
        here.ask("are you there?")
        await here.wait_for(here.notices)
        await here.idle()
        await seen.scrape(5)


class ModelsFail(Cause):
    fires = frozenset({"OshaberiModelsFail"})
    answers = (Refuse("model_error", "broken"),) * 6

    async def play(self, here: BotHarness, seen: Timeline) -> None:
        for number in range(4):
            here.ask(f"are you there? {number}")
            await here.wait_for(lambda: len(here.notices()) > number)  # noqa: B023
            await here.idle()
            await seen.scrape(5)


class ModelHangs(Cause):
    fires = frozenset({"OshaberiModelHangs"})
    answers = (NoAnswer(),)

    async def play(self, here: BotHarness, seen: Timeline) -> None:
        here.ask("are you there?")
        await here.wait_for(lambda: metric(here, "streams_silent") == 1)
        await seen.scrape(3)

    async def mend(self, here: BotHarness) -> None:
        await here.run("stop")
        await here.idle()


class MayNotWrite(Cause):
    fires = frozenset({"OshaberiMayNotWrite"})

    async def play(self, here: BotHarness, seen: Timeline) -> None:
        for permission in ("send_messages", "manage_webhooks"):
            here.stage.deny("general", permission)
        here.ask("are you there?")
        reason = {"reason": "mute"}
        await here.wait_for(lambda: metric(here, "questions_unanswered_total", **reason))
        await seen.scrape(5)


class WebhookLimit(Cause):
    fires = frozenset({"OshaberiWebhookLimit"})

    async def play(self, here: BotHarness, seen: Timeline) -> None:
        await here.persona("Aki", triggers=("aki",))
        world, place = here.stage.world, here.stage.world.channel("general")
        for number in range(1, 16):
            world.webhooks[number] = Webhook(
                number, "t", place.id, here.server_id, "other", world.bot.id, None
            )
        here.ask("aki, are you there?")
        await here.wait_for(here.said)
        await here.idle()
        await seen.scrape(5)


class AnswersLate(Cause):
    fires = frozenset({"OshaberiAnswersLate"})
    answers = (NoAnswer(),) * 4
    spare = ("Here.",) * 4

    async def settings(self, _stack: AsyncExitStack) -> Mapping[str, Any]:
        return {"inactivity_timeout_ms": 40_000}

    async def play(self, here: BotHarness, seen: Timeline) -> None:
        """The first model is given up after 40 seconds, and another one answers."""
        for number in range(4):
            here.ask(f"are you there? {number}")
            await here.wait_for(lambda: len(here.said()) > number)  # noqa: B023
            await here.idle()
            await seen.scrape(5)


class Undelivered(Cause):
    fires = frozenset({"OshaberiUndelivered"})

    async def play(self, here: BotHarness, seen: Timeline) -> None:
        route = f"POST /channels/{here.id_of('general')}/messages"
        here.stage.fault(Fault(kind="code", code=50013, route=route, times=None))
        here.ask("are you there?")
        await here.asked_times(1)
        await here.idle()
        await seen.scrape(5)


class SlowedDown(Cause):
    """With a limit that a test can reach."""

    fires = frozenset({"OshaberiSlowedDown"})

    async def play(self, here: BotHarness, seen: Timeline) -> None:
        here.bot.client.guard._limit = 10
        here.stage.fault(Fault(kind="status", status=403, route="*", times=None))
        for number in range(4):
            with pytest.raises(Exception, match="403"):
                await here.bot.client.fetch_user(number + 1)
        await seen.scrape(2)

    async def mend(self, here: BotHarness) -> None:
        here.stage.faults.clear()
        here.bot.client.guard._limit = 10_000
        assert here.bot.client.guard.slowdown == 0


class LoopLags(Cause):
    fires = frozenset({"OshaberiLoopLags"})

    async def play(self, here: BotHarness, seen: Timeline) -> None:
        while (metric(here, "loop_lag_seconds") or 0) <= 0.25:
            time.sleep(0.5)
            await asyncio.sleep(0.1)
        seen.counts_lag = True
        await seen.scrape(7)
        seen.counts_lag = False

    async def mend(self, here: BotHarness) -> None:
        await here.wait_for(lambda: (metric(here, "loop_lag_seconds") or 0) <= 0.25)


CAUSES: tuple[type[Cause], ...] = (
    Down,
    NotConnected,
    DiscordAway,
    DatabaseAway,
    RedisAway,
    KeyRefused,
    ModelsFail,
    ModelHangs,
    MayNotWrite,
    WebhookLimit,
    AnswersLate,
    Undelivered,
    SlowedDown,
    LoopLags,
)


def metric(here: BotHarness, name: str, **labels: str) -> float | None:
    return here.bot.bot_metrics.registry.get_sample_value(f"oshaberi_{name}", labels)


def test_every_alert_has_its_cause() -> None:
    assert frozenset().union(*(cause.fires for cause in CAUSES)) == set(alert_names())


def test_promtool_finds_no_fault_in_the_rules() -> None:
    checked = [program("promtool"), "check", "rules", "--lint-fatal", str(ALERTS)]
    told = subprocess.run(checked, capture_output=True, text=True, timeout=60)
    assert told.returncode == 0, told.stdout + told.stderr


@pytest.mark.parametrize("kind", CAUSES)
def test_an_alert_fires_at_its_first_event(kind: type[Cause]) -> None:
    program("promtool")
    cause, port = kind(), free_port()
    seen = Timeline(f"http://127.0.0.1:{port}/metrics")

    async def main() -> None:
        async with AsyncExitStack() as stack:
            given: dict[str, Any] = {**await cause.settings(stack), "health_port": port}
            scripts = [cause.spare] if cause.spare else []
            opened = bot_harness(*cause.answers, scripts=scripts, **given)
            here = await stack.enter_async_context(opened)
            await seen.scrape(WELL_MINUTES)
            if not cause.is_the_end:
                await cause.play(here, seen)
                caused.append(seen.minutes)
                await cause.mend(here)
                await seen.scrape(FORGOTTEN_MINUTES)
        if cause.is_the_end:
            await seen.scrape(3)
            caused.append(seen.minutes)

    caused: list[int] = []
    run_scaled(main(), SPEED)
    seen.fires(
        [
            (WELL_MINUTES - 1, frozenset()),
            (caused[0] - 1, cause.fires),
            *([] if cause.is_the_end else [(seen.minutes - 1, frozenset[str]())]),
        ]
    )


@pytest.mark.slow
def test_a_real_prometheus_scrapes_the_bot_and_fires() -> None:
    """As docs/operations.md says, only with a shorter interval."""
    prometheus, port, own = program("prometheus"), free_port(), free_port()

    def asked(path: str) -> Any:
        with urllib.request.urlopen(f"http://127.0.0.1:{own}/api/v1/{path}", timeout=10) as got:
            return json.load(got)["data"]

    async def until(path: str, found: Callable[[Any], bool]) -> Any:
        async with asyncio.timeout(60):
            while True:
                with suppress(OSError):
                    if found(told := await asyncio.to_thread(asked, path)):
                        return told
                await asyncio.sleep(0.1)

    async def scenario(here: BotHarness) -> None:
        targets = await until("targets", lambda told: is_up(told["activeTargets"]))
        assert targets["activeTargets"][0]["labels"]["job"] == "oshaberi"
        here.ask("are you there?")
        fires = await until("alerts", lambda told: bool(firing(told)))
        assert firing(fires) == {"OshaberiKeyRefused": "openai refuses a key (auth)"}
        rules = await until("rules", lambda told: bool(told["groups"]))
        assert {one["health"] for one in rules["groups"][0]["rules"]} == {"ok"}

    async def main(folder: Path) -> None:
        config = {
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(ALERTS)],
            "scrape_configs": [
                {"job_name": "oshaberi", "static_configs": [{"targets": [f"127.0.0.1:{port}"]}]}
            ],
        }
        (folder / "prometheus.yml").write_text(json.dumps(config), encoding="utf-8")
        process = await asyncio.create_subprocess_exec(
            prometheus,
            f"--config.file={folder / 'prometheus.yml'}",
            f"--storage.tsdb.path={folder / 'data'}",
            f"--web.listen-address=127.0.0.1:{own}",
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            refusals = (Refuse("auth", "this key is no good"),)
            async with bot_harness(*refusals, health_port=port) as here:
                await scenario(here)
        finally:
            process.terminate()
            await process.wait()

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(main(Path(folder)))


def is_up(targets: list[dict[str, Any]]) -> bool:
    return bool(targets) and targets[0]["health"] == "up"


def firing(told: dict[str, Any]) -> dict[str, str]:
    """Return the summaries of the alerts that fire, by name."""
    return {
        one["labels"]["alertname"]: one["annotations"]["summary"]
        for one in told["alerts"]
        if one["state"] == "firing"
    }
