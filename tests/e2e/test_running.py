"""A bot in operation: settings that change while it runs, its end, what it tells who watches it."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import aiohttp

from discord_stage import Stage
from discord_stage.model_servers import ModelServer, OpenAIWire
from discord_stage.model_servers.scripts import Count, Refuse, Say, Stall
from discord_stage.testing import staged
from oshaberi.bot.config import load
from oshaberi.bot.turns.context.dialogue import GO_ON
from oshaberi.bot.turns.notices import RESTARTED
from oshaberi.bot.wiring.bot_wiring import Bot, run
from tests.bot.client_harness import world
from tests.e2e.bot_harness import (
    FAST,
    KEY,
    QUICK,
    BotHarness,
    links,
    run_with_bot,
    serving,
    settings_of,
)
from tests.free_ports import free_port

TOML = """
humanizer_degree = {degree}
burst_wait_ms = 0
base_type_speed_ms_per_char = 0
min_visible_typing_duration_ms = {typing_ms}
min_random_pause_ms = 0
max_random_pause_ms = 0
[persona]
name = "Oshaberi"
prompt = "{prompt}"
[[models]]
provider = "openai"
model = "model-0"
base_url = "{url}"
api_keys = ["{key}"]
"""


def test_config_set_holds_from_the_next_answer_on() -> None:
    async def scenario(here: BotHarness) -> None:
        here.ask("hello")
        await here.says("One.", "Two.")
        refused = await here.run("config set", {"key": "humanizer_degree", "value": "7"})
        assert "0 to 3" in refused
        told = await here.run("config set", {"key": "humanizer_degree", "value": "0"})
        assert told == "`humanizer_degree` is now `0`."
        here.ask("again")
        await here.says("One.", "Two.", "One.\n\nTwo.")
        assert "Manage Server" in await here.run(
            "config set", {"key": "humanizer_degree", "value": "1"}, user="ren"
        )
        await here.run("config reset", {"key": "all"})
        here.ask("and again")
        await here.says("One.", "Two.", "One.\n\nTwo.", "One.", "Two.")

    run_with_bot(scenario, "One.\nTwo.", "One.\nTwo.", "One.\nTwo.")


def test_a_changed_file_is_taken_up_and_a_signal_lets_the_answer_end(tmp_path: Path) -> None:
    file = tmp_path / "oshaberi.toml"

    async def main() -> None:
        answers = [(Say("Tea."),), (Say("\n".join(f"{n} cups." for n in range(2, 8))),)]
        async with ModelServer(OpenAIWire(), *answers) as server, staged(world(), FAST) as stage:
            given = {"url": server.url, "key": KEY}
            file.write_text(TOML.format(degree=1, typing_ms=0, prompt="You like tea.", **given))
            environ = {
                "HOME": str(tmp_path),
                "OSHABERI_DATA_DIR": str(tmp_path),
                "OSHABERI_DISCORD_TOKEN": stage.token,
            }
            settings = load(file, environ)
            opened: list[Bot] = []
            ready = asyncio.Event()
            running = asyncio.create_task(
                run(
                    settings,
                    environ,
                    on_open=opened.append,
                    on_ready=ready.set,
                    guild_ready_timeout=0.1,
                )
            )
            await ready.wait()
            here = BotHarness(stage, opened[0], [server], settings)
            here.ask("what do you like?")
            await here.says("Tea.")
            assert "You like tea." in here.asked().system
            file.write_text(TOML.format(degree=2, typing_ms=150, prompt="You hate it.", **given))
            await here.wait_for(lambda: here.bot.reloader.current.value("humanizer_degree") == 2)
            here.ask("how much?")
            await here.wait_for(lambda: "2 cups." in here.said())
            os.kill(os.getpid(), signal.SIGTERM)
            await running
            assert "You hate it." in here.asked().system
            assert here.said() == ["Tea.", *(f"{n} cups." for n in range(2, 8))]
            assert not stage.gateway.connected()

    asyncio.run(main())


def test_what_waits_at_the_end_is_answered_after_the_next_start(tmp_path: Path) -> None:
    async def main() -> None:
        said = [(Say(f"{word}."),) for word in ("Two", "Three", "Four")]
        answers = [(Say("One.\nTw"), Stall()), *said]
        async with ModelServer(OpenAIWire(), *answers) as server, staged(world(), FAST) as stage:
            given = {**QUICK, "models": links([server]), "follow_up_policy": "queue"}
            settings = settings_of(tmp_path, {}, **given)
            async with serving(settings, stage) as bot:
                here = BotHarness(stage, bot, [server], settings)
                here.ask("count")
                await here.wait_for(lambda: here.said() == ["One."])
                here.ask("go on")
                here.ask("and you?", user="mika")
                await here.wait_for(lambda: bot.channel_turns.waiting() == 2)
            async with serving(settings, stage) as bot:
                here = BotHarness(stage, bot, [server], settings)
                await here.says("One.", "", "Two.", "Three.", "Four.")
                assert here.notices() == [RESTARTED]
                assert [here.asked(n).question for n in (1, 2, 3)] == [
                    GO_ON,
                    "Renny: @Oshaberi go on",
                    "mika: @Oshaberi and you?",
                ]

    asyncio.run(main())


def test_health_and_metrics() -> None:
    port = free_port()

    async def scenario(here: BotHarness) -> None:
        here.ask("hello")
        await here.says("One.", "Two.")
        here.ask("again")
        await here.wait_for(here.notices)
        await here.idle()
        async with aiohttp.ClientSession(f"http://127.0.0.1:{port}") as session:
            async with session.get("/health") as health:
                told = await health.json()
                assert (health.status, told["ok"]) == (200, True)
                assert told["problem"] == "models: openai model-0: auth", "the last answer failed"
            async with session.get("/metrics") as metrics:
                lines = (await metrics.text()).splitlines()
            await here.bot.client.close()
            async with session.get("/health") as health:
                assert (health.status, (await health.json())["ok"]) == (503, False)
        for line in (
            'oshaberi_streams_total{status="completed"} 1.0',
            'oshaberi_streams_total{status="error"} 1.0',
            "oshaberi_streams_running 0.0",
            "oshaberi_messages_sent_total 2.0",
            "oshaberi_undelivered_characters_total 0.0",
            'oshaberi_provider_errors_total{provider="openai",type="auth"} 1.0',
            'oshaberi_tokens_total{model="model-0",provider="openai",way="in"} 30.0',
            'oshaberi_tokens_total{model="model-0",provider="openai",way="out"} 5.0',
            "oshaberi_first_message_seconds_count 1.0",
        ):
            assert line in lines

    run_with_bot(scenario, (Say("One.\nTwo."), Count(30, 5)), Refuse("auth"), health_port=port)


def test_a_connection_that_comes_back_answers_once() -> None:
    async def scenario(here: BotHarness) -> None:
        here.stage.gateway.drop()
        missed = here.ask("are you there?")
        await here.says("Yes.")
        here.stage.gateway.invalidate(resumable=False)
        await here.wait_for(lambda: _sessions(here.stage) >= 2)
        here.ask("still?")
        await here.says("Yes.", "Still.")
        assert [m.reference is not None for m in here.ours()] == [True, True]
        assert int((here.ours()[0].reference or {})["message_id"]) == missed

    run_with_bot(scenario, "Yes.", "Still.", speed=20.0)


def _sessions(stage: Stage) -> int:
    return len(stage.calls("GET /gateway*")) + 1
