"""Outages, each played once: an operator finds it in the log, in a metric, by an alert, at the
health port and with `doctor`, and whoever asked was told. That the alert fires is in `test_alerts`.
"""

from __future__ import annotations

import asyncio
import errno
import io
import json
import os
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from discord_stage import Fault
from discord_stage.model_servers.scripts import NoAnswer, Refuse
from discord_stage.scaled_loop import run_scaled
from discord_stage.world.records import Webhook
from oshaberi.bot.commands.answers import AWAY
from oshaberi.bot.turns.notices import MUTE
from oshaberi.cli.doctor_checks import Finding, examine
from tests.crash.redis_proxy import RedisProxy, redis_proxy
from tests.e2e.alert_rules import alert_names
from tests.e2e.bot_harness import Answer, BotHarness, bot_harness, run_with_bot
from tests.e2e.operator_log import TOKEN, ids_of, status_of
from tests.free_ports import free_port
from tests.storage.database_servers import OwnRedis

MOST_WEBHOOKS = 15

Step = Callable[[BotHarness, pytest.MonkeyPatch], Awaitable[None]]
Told = Callable[[BotHarness], Awaitable[str]]


async def nothing(_here: BotHarness, _monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the model fails."""


async def take_permissions(here: BotHarness, _monkeypatch: pytest.MonkeyPatch) -> None:
    for permission in ("send_messages", "manage_webhooks"):
        here.stage.deny("general", permission)


async def refuse_messages(here: BotHarness, _monkeypatch: pytest.MonkeyPatch) -> None:
    """Discord refuses what the bot believes it may do."""
    here.stage.deny("logs", "send_messages")  # for doctor, which asks Discord
    route = f"POST /channels/{here.id_of('general')}/messages"
    here.stage.fault(Fault(kind="code", code=50013, route=route, times=None))


async def fill_with_webhooks(here: BotHarness, _monkeypatch: pytest.MonkeyPatch) -> None:
    await here.persona("Aki", triggers=("aki",))
    world, place = here.stage.world, here.stage.world.channel("general")
    for number in range(1, MOST_WEBHOOKS + 1):
        world.webhooks[number] = Webhook(
            number, "t", place.id, here.server_id, "other", world.bot.id, None
        )


async def make_read_only(here: BotHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite refuses every change, and the system every new file."""

    def no_file(**_options: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    for engine in engines(here):
        event.listen(engine, "checkout", refuse_changes)
    monkeypatch.setattr("oshaberi.cli.doctor_checks.machine_checks.TemporaryFile", no_file)


async def make_writable(here: BotHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was kept meanwhile is stored then: the harness looks."""
    monkeypatch.undo()
    for engine in engines(here):
        event.remove(engine, "checkout", refuse_changes)
        event.listen(engine, "checkout", allow_changes)
    await here.wait_for(lambda: here.db.problem() is None)


def engines(here: BotHarness) -> tuple[Any, Any]:
    store: Any = here.db._store
    return store.engine.sync_engine, store._thread_engine


def refuse_changes(connection: Any, *_more: object) -> None:
    set_read_only(connection, 1)


def allow_changes(connection: Any, *_more: object) -> None:
    set_read_only(connection, 0)


def set_read_only(connection: Any, value: int) -> None:
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA query_only = {value}")
    cursor.close()


async def notice(here: BotHarness) -> str:
    await here.wait_for(here.notices)
    return "\n".join(here.notices())


async def reaction(here: BotHarness) -> str:
    asked = max(here.stage.world.messages[here.id_of("general")])
    await here.wait_for(lambda: here.reactions(asked))
    return f"{here.reactions(asked)} {await here.choose('Why this turn', asked)}"


async def answer(here: BotHarness) -> str:
    await here.wait_for(here.said)
    return "\n".join(here.said())


async def answer_and_command(here: BotHarness) -> str:
    values = {"key": "humanizer_degree", "value": "2"}
    return f"{await answer(here)} {await here.run('config set', values)}"


async def lock_database(here: BotHarness, _monkeypatch: pytest.MonkeyPatch) -> None:
    """Another program holds the lock of the file."""
    other = sqlite3.connect(here.settings.data_dir / "oshaberi.db", timeout=0)
    while not other.in_transaction:
        with suppress(sqlite3.OperationalError):  # the bot itself is writing
            other.execute("BEGIN IMMEDIATE")
        await asyncio.sleep(0.1)
    HELD.append(other)


async def unlock_database(here: BotHarness, _monkeypatch: pytest.MonkeyPatch) -> None:
    HELD.pop().close()
    await here.wait_for(lambda: here.db.problem() is None)


async def cut_redis(here: BotHarness, _monkeypatch: pytest.MonkeyPatch) -> None:
    await PROXIES[-1].cut()
    await here.wait_for(lambda: here.bot.shared.problem is not None)


async def wait_for_silence(here: BotHarness) -> str:
    """Whoever asked sees that the bot writes, until it is given up."""
    value = here.bot.bot_metrics.registry.get_sample_value
    await here.wait_for(lambda: value("oshaberi_streams_silent"))
    return "it types"


async def stop(here: BotHarness, _monkeypatch: pytest.MonkeyPatch) -> None:
    await here.run("stop")
    await here.idle()


HELD: list[sqlite3.Connection] = []
PROXIES: list[RedisProxy] = []


@dataclass(frozen=True, slots=True)
class Outage:
    """One outage, and what each place says of it."""

    begins: Step
    alert: str
    log: str
    metric: str
    labels: dict[str, str]
    page: str
    """In a part of `/health`, or in a line of the last failures."""
    finding: str
    doctor: str
    tells: Told
    told: str
    answers: tuple[Answer, ...] = ("Here.",)
    has_turn: bool = True
    of_process: bool = False
    """It concerns everybody, so its line has no ids."""
    needs_redis: bool = False
    is_idle: bool = True
    """The turn ends by itself."""
    ends: Step = nothing


OVERLOADED = Refuse("provider_overloaded", "come back later")
OUTAGES = {
    "bad key": Outage(
        nothing,
        alert="OshaberiKeyRefused",
        log="openai/model-0: auth: this key is no good",
        metric="oshaberi_provider_errors_total",
        labels={"provider": "openai", "type": "auth"},
        page="openai model-0: auth",
        finding="model openai model-0, a call",
        doctor="this key is no good",
        tells=notice,
        told="key",
        answers=(Refuse("auth", "this key is no good"),) * 3,
    ),
    "overloaded model": Outage(
        nothing,
        alert="OshaberiModelsFail",
        log="come back later (provider_overloaded)",
        metric="oshaberi_provider_errors_total",
        labels={"provider": "openai", "type": "provider_overloaded"},
        page="openai model-0: provider_overloaded",
        finding="model openai model-0, a call",
        doctor="come back later",
        tells=notice,
        told="overloaded",
        answers=(OVERLOADED,) * 20,
    ),
    "no permission in a channel": Outage(
        take_permissions,
        alert="OshaberiMayNotWrite",
        log="is not answered: the bot may not write in this channel (Send Messages)",
        metric="oshaberi_questions_unanswered_total",
        labels={"reason": "mute"},
        page="the bot may not write in this channel",
        finding="channels",
        doctor="#general: Send Messages, Manage Webhooks",
        tells=reaction,
        told=MUTE,
        has_turn=False,
    ),
    "a permission that is lost in the middle": Outage(
        refuse_messages,
        alert="OshaberiUndelivered",
        log="an answer ended without its text",
        metric="oshaberi_discord_request_seconds_count",
        labels={"kind": "send", "status": "403"},
        page="an answer ended without its text",
        finding="channels",
        doctor="#logs: Send Messages",
        tells=reaction,
        told=MUTE,
    ),
    "webhook limit": Outage(
        fill_with_webhooks,
        alert="OshaberiWebhookLimit",
        log="no webhook, speaking as the bot: 30007: Maximum number of webhooks reached",
        metric="oshaberi_webhook_refusals_total",
        labels={"code": "30007"},
        page="Maximum number of webhooks reached",
        finding="webhooks",
        doctor="no room for one in #general in",
        tells=answer,
        told="**Aki",
    ),
    "read-only disk": Outage(
        make_read_only,
        alert="OshaberiDatabaseAway",
        log="attempt to write a readonly database): answers go on with what is known",
        of_process=True,
        metric="oshaberi_database_faults_total",
        labels={"kind": "away"},
        page="attempt to write a readonly database",
        finding="data folder",
        doctor="cannot be written to: Read-only file system",
        tells=answer_and_command,
        told=f"Here. {AWAY}",
        ends=make_writable,
    ),
    "database away": Outage(
        lock_database,
        alert="OshaberiDatabaseAway",
        log="is away (no answer within 1.5 s): answers go on with what is known",
        of_process=True,
        metric="oshaberi_database_away",
        labels={},
        page="is away: no answer within 1.5 s",
        finding="database",
        doctor="cannot be changed: database is locked",
        tells=answer_and_command,
        told=f"Here. {AWAY}",
        ends=unlock_database,
    ),
    "Redis away": Outage(
        cut_redis,
        alert="OshaberiRedisAway",
        log="Redis is away (",
        of_process=True,
        metric="oshaberi_redis_away",
        labels={},
        page="away: Error",
        finding="redis",
        doctor="ConnectionError",
        tells=answer,
        told="Here.",
        needs_redis=True,
    ),
    "hanging model": Outage(
        nothing,
        alert="OshaberiModelHangs",
        log="openai/model-0: nothing came for 30 s",
        metric="oshaberi_streams_silent",
        labels={},
        page="openai model-0: silent for",
        finding="model openai model-0, a call",
        doctor="no answer",
        tells=wait_for_silence,
        told="it types",
        answers=(NoAnswer(),) * 3,
        is_idle=False,
        ends=stop,
    ),
}


async def on_the_page(here: BotHarness) -> str:
    report = await status_of(here)
    return json.dumps([report["health"], report["warnings"]], ensure_ascii=False)


async def doctor(here: BotHarness) -> dict[str, Finding]:
    settings = replace(here.settings, discord_token=here.stage.token)
    environ = {"DISCORD_STAGE_URL": here.stage.url}
    return {one.name: one async for one in examine(settings, environ)}


@pytest.mark.parametrize("name", OUTAGES)
def test_an_outage_is_seen_everywhere(
    name: str, logged: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    outage = OUTAGES[name]

    async def scenario(here: BotHarness) -> None:
        await outage.begins(here, monkeypatch)
        here.ask("aki, are you there?")
        assert outage.told in await outage.tells(here)
        if outage.is_idle:
            await here.idle()
        assert outage.alert in alert_names()
        line = loud(logged, outage.log)[0]
        ids = {} if outage.of_process else ids_of(here)
        assert {key: line[key] for key in ids} == ids
        assert outage.of_process or ("turn" in line) is outage.has_turn
        counted = here.bot.bot_metrics.registry.get_sample_value(outage.metric, outage.labels)
        assert counted is not None
        assert counted > 0
        assert outage.page in await on_the_page(here)
        finding = (await doctor(here))[outage.finding]
        assert finding.state in ("note", "bad")
        assert outage.doctor in finding.text
        assert finding.advice
        await outage.ends(here, monkeypatch)

    async def main() -> None:
        async with AsyncExitStack() as stack:
            options: dict[str, Any] = {"health_port": free_port(), "status_token": TOKEN}
            if outage.needs_redis:
                PROXIES.append(await stack.enter_async_context(redis_proxy(OwnRedis().url)))
                options["redis_url"] = PROXIES[-1].url
            opened = bot_harness(*outage.answers, **options)
            await scenario(await stack.enter_async_context(opened))

    run_scaled(main(), 20.0)


def loud(logged: io.StringIO, words: str) -> list[dict[str, Any]]:
    """Return the warnings and errors with these words."""
    lines = [json.loads(line) for line in logged.getvalue().splitlines()]
    levels = ("warning", "error")
    return [one for one in lines if one["level"] in levels and words in one["message"]]


def test_the_table_of_the_documents_has_every_outage() -> None:
    """One row each, with its alert and its metric."""
    text = (Path(__file__).parents[2] / "docs" / "operations.md").read_text(encoding="utf-8")
    table = text.partition("### Outages, and where")[2].partition("### Traces")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ")][1:]
    assert len(rows) == len(OUTAGES) + 1  # that of Discord has a test of its own, below
    for outage in OUTAGES.values():
        named = (f"`{outage.metric.removesuffix('_count')}`", "the same, `type")
        found = [row for row in rows if f"`{outage.alert}`" in row]
        assert any(name in row for row in found for name in named), outage.alert


def test_an_outage_of_discord_is_seen_everywhere(logged: io.StringIO) -> None:
    """Who asked sees nothing of it but that the answer comes later."""

    async def scenario(here: BotHarness) -> None:
        here.stage.fault(Fault(kind="status", status=503, route="*", times=None))
        here.ask("are you there?")
        value = here.bot.bot_metrics.registry.get_sample_value
        await here.wait_for(lambda: value("oshaberi_discord_away") == 1)
        [line] = loud(logged, "Discord is away: HTTP 503; answers and questions are kept")
        assert "turn" not in line
        report = await status_of(here)
        assert report["health"]["parts"]["discord"].startswith("REST: no answers for ")
        assert report["health"]["parts"]["gateway"] == "ok"
        assert report["health"]["ready"].startswith("Discord's REST API: no answers for ")
        finding = (await doctor(here))["discord"]
        assert (finding.state, finding.text) == ("bad", "REST: HTTP 503; gateway: answers")
        here.stage.faults.clear()
        await here.says("Here.")
        assert value("oshaberi_discord_away") == 0
        assert (await status_of(here))["health"]["parts"]["discord"] == "ok"

    options: dict[str, Any] = {"health_port": free_port(), "status_token": TOKEN}
    run_with_bot(scenario, "Here.", speed=20.0, **options)
