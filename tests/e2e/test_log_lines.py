"""The log of a whole bot: one line an answer, two an outage, and every line is JSON."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from discord_stage.model_servers.scripts import Count, Refuse, Say
from discord_stage.scaled_loop import run_scaled
from tests.crash.redis_proxy import redis_proxy
from tests.e2e.bot_harness import BotHarness, bot_harness, run_with_bot
from tests.e2e.operator_log import ids_of
from tests.storage.database_servers import OwnRedis

SPEED = 40.0
QUESTIONS = 6


@pytest.fixture(autouse=True)
def nothing_is_logged_as_an_error(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """But for what discord.py itself says about a gateway that does not take it back."""
    yield
    errors = [one for one in caplog.get_records("call") if one.levelno >= logging.ERROR]
    assert {one.name for one in errors if one.exc_info} <= {"discord.shard"}


def lines_of(logged: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in logged.getvalue().splitlines()]


def loud(logged: io.StringIO, name: str) -> list[str]:
    """What an operator sees of an outage: its own lines, and all warnings."""
    return [
        one["message"]
        for one in lines_of(logged)
        if one.get("outage") == name or one["level"] in ("warning", "error")
    ]


def outage_lines(logged: io.StringIO, name: str) -> list[dict[str, Any]]:
    return [one for one in lines_of(logged) if one.get("outage") == name]


async def until_counted(here: BotHarness, logged: io.StringIO, name: str) -> None:
    await here.wait_for(lambda: any("failures" in one for one in outage_lines(logged, name)))


def assert_one_outage(logged: io.StringIO, name: str, begins: str, ends: str) -> None:
    """Two lines, one for each minute between, and no other warning."""
    first, *counts, last = loud(logged, name)
    assert begins in first
    assert ends in last
    minutes = [one for one in outage_lines(logged, name) if "still" in one["message"]]
    assert counts == [one["message"] for one in minutes]
    for number, one in enumerate(minutes, 1):
        assert one["seconds"] == pytest.approx(60 * number, abs=15)
        assert isinstance(one["failures"], int)


def test_one_structured_line_an_answer(logged: io.StringIO) -> None:
    async def scenario(here: BotHarness) -> None:
        here.ask("hello?")
        await here.says("One.", "Two.")
        [line] = [one for one in lines_of(logged) if one["logger"] == "oshaberi.answers"]
        assert {name: line[name] for name in ("server", "channel", "user")} == ids_of(here)
        assert len(line["turn"]) == 12
        assert 0 < line.pop("first_token_s") <= line.pop("first_message_s") <= line.pop("total_s")
        for name in ("at", "server", "channel", "user", "turn"):
            line.pop(name)
        assert line == {
            "level": "info",
            "logger": "oshaberi.answers",
            "message": "answered by openai/model-0",
            "status": "completed",
            "asked": "mention",
            "provider": "openai",
            "model": "model-0",
            "tokens_in": 120,
            "tokens_out": 34,
            "tokens_cached": 100,
            "messages": 2,
            "requests": 1,
        }

    run_with_bot(scenario, (Say("One.\nTwo."), Count(120, 34, 100)))


def test_an_answer_that_fails_is_one_line_with_its_reason(logged: io.StringIO) -> None:
    async def scenario(here: BotHarness) -> None:
        here.ask("hello?")
        await here.wait_for(here.notices)
        await here.idle()
        [line] = [one for one in lines_of(logged) if one["logger"] == "oshaberi.answers"]
        assert (line["level"], line["status"], line["messages"]) == ("warning", "error", 0)
        assert line["why"] == "error: broken (model_error)"

    run_with_bot(scenario, Refuse("model_error", "broken"))


def test_a_database_that_is_away_is_two_lines(logged: io.StringIO) -> None:
    async def scenario(here: BotHarness) -> None:
        other = sqlite3.connect(here.settings.data_dir / "oshaberi.db", timeout=0)
        while not other.in_transaction:
            with suppress(sqlite3.OperationalError):  # the bot itself is writing
                other.execute("BEGIN IMMEDIATE")
            await asyncio.sleep(0.1)
        for number in range(QUESTIONS):
            here.ask(f"hello? {number}")
            await here.says(*["Here."] * (number + 1))
        await until_counted(here, logged, "database")
        other.close()
        await here.wait_for(lambda: here.db.problem() is None)
        assert_one_outage(logged, "database", "is away", "answers again")

    run_with_bot(scenario, *["Here."] * QUESTIONS, speed=SPEED)


def test_a_redis_that_is_away_is_two_lines(logged: io.StringIO) -> None:
    async def main() -> None:
        async with (
            redis_proxy(OwnRedis().url) as proxy,
            bot_harness(*["Here."] * QUESTIONS, redis_url=proxy.url) as here,
        ):
            await proxy.cut()
            for number in range(QUESTIONS):
                here.ask(f"hello? {number}")
                await here.says(*["Here."] * (number + 1))
            await until_counted(here, logged, "redis")
            await proxy.mend()
            await here.wait_for(lambda: here.bot.shared.problem is None)
            assert_one_outage(logged, "redis", "Redis is away", "answers again")

    run_scaled(main(), SPEED)


def test_a_model_that_fails_is_two_lines(logged: io.StringIO) -> None:
    async def scenario(here: BotHarness) -> None:
        for number in range(QUESTIONS):
            here.ask(f"hello? {number}")
            await here.wait_for(lambda: len(here.notices()) > number)  # noqa: B023
            await here.idle()
        await until_counted(here, logged, "model")
        here.ask("and now?")
        await here.says(*[""] * QUESTIONS, "Here.")
        begins, ended, *counts, ends = loud(logged, "model")
        assert begins == "openai/model-0: model_error: broken"
        assert ended == "an answer ended without its text: error: broken (model_error)"
        assert set(counts) == {"openai/model-0 still fails"}
        assert ends == "openai/model-0 answers again"
        assert outage_lines(logged, "model")[-1]["failures"] == QUESTIONS

    answers = [Refuse("model_error", "broken")] * QUESTIONS
    run_with_bot(scenario, *answers, "Here.", speed=SPEED)


def test_a_gateway_that_is_lost_is_a_line(logged: io.StringIO) -> None:
    async def scenario(here: BotHarness) -> None:
        gateway = here.stage.gateway
        gateway.refuses = True
        gateway.drop()
        await here.wait_for(lambda: gateway.refused > 3)
        await until_counted(here, logged, "gateway")
        gateway.refuses = False
        here.ask("hello?")
        await here.says("Here.")
        assert_one_outage(logged, "gateway", "gateway is lost (shard 0)", "gateway is back")

    run_with_bot(scenario, "Here.", speed=SPEED)


# -- the process ---------------------------------------------------------------------------------


def started(folder: Path, *more: str, **environ: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-W", "always", "-m", "oshaberi", "run", "--no-browser", *more]
    given = {"OSHABERI_DATA_DIR": str(folder), "OSHABERI_LOG_FORMAT": "json", **environ}
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, **given},
    )


def test_everything_that_a_process_writes_is_json(tmp_path: Path) -> None:
    """Start-up, a warning of Python, a failed thread, an uncaught error, the end."""
    plug = tmp_path / "sitecustomize.py"
    plug.write_text(
        "import threading, warnings, oshaberi.bot.logs as logs\n"
        "first = logs.setup\n"
        "def setup(*given, **more):\n"
        "    first(*given, **more)\n"
        "    warnings.warn('a warning of a library')\n"
        "    failing = threading.Thread(target=lambda: 1 / 0)\n"
        "    failing.start(); failing.join()\n"
        "logs.setup = setup\n",
        encoding="utf-8",
    )
    process = started(tmp_path / "data", "--port", "0", PYTHONPATH=str(tmp_path))
    lines: list[dict[str, Any]] = []
    with process:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(json.loads(line))
            if "runs on the local stage" in lines[-1]["message"]:
                process.send_signal(signal.SIGTERM)
    assert process.returncode == 0
    messages = [one["message"] for one in lines]
    assert any("a warning of a library" in one for one in messages)
    assert any(one.startswith("a thread failed: division by zero") for one in messages)
    assert any("runs on the local stage" in one for one in messages)


@pytest.mark.parametrize("wrong", [{"OSHABERI_WAITING_LIMIT": "many"}, {"OSHABERI_DATA_DIR": ""}])
def test_a_start_that_fails_is_a_line_of_json(tmp_path: Path, wrong: dict[str, str]) -> None:
    given = wrong | ({"OSHABERI_DATA_DIR": "/proc/none"} if "OSHABERI_DATA_DIR" in wrong else {})
    process = started(tmp_path, **given)
    out, _ = process.communicate(timeout=60)
    [line] = [json.loads(one) for one in out.splitlines()]
    assert line["level"] == "critical"
    assert process.returncode != 0
