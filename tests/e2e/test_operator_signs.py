"""What an operator finds in the log when people get no answer: a warning, the ids, the words."""

from __future__ import annotations

import asyncio
import io
import json
import sqlite3
from contextlib import suppress
from typing import Any

from discord_stage import Fault
from discord_stage.model_servers.scripts import NoAnswer, Refuse, Say, Stall
from oshaberi.stream.reader import InactivityTimer
from tests.e2e.bot_harness import BotHarness, run_with_bot
from tests.e2e.operator_log import TOKEN, ids_of, status_of, warnings
from tests.free_ports import free_port

IDS = {"server", "channel", "user", "turn"}


def test_a_refused_key_is_a_warning_with_the_providers_words(logged: io.StringIO) -> None:
    async def scenario(here: BotHarness) -> None:
        here.ask("hello?")
        await here.wait_for(here.notices)
        await here.idle()
        [line] = warnings(logged, "auth: ")
        assert "this key is no good" in line["message"]
        assert line["message"].startswith("openai/model-0: ")
        assert {name: line[name] for name in ("server", "channel", "user")} == ids_of(here)
        assert line["turn"]
        [end] = warnings(logged, "ended without its text")
        assert end["turn"] == line["turn"]

    run_with_bot(scenario, Refuse("auth", "this key is no good"))


def test_every_line_of_a_turn_has_its_ids(logged: io.StringIO) -> None:
    async def scenario(here: BotHarness) -> None:
        here.ask("hello?")
        await here.says("Here.")
        await here.idle()
        lines = [json.loads(line) for line in logged.getvalue().splitlines()]
        of_stream = [one for one in lines if one["logger"] == "oshaberi.stream"]
        assert len(of_stream) > 2
        assert all(one.keys() >= IDS for one in of_stream)
        assert {one["turn"] for one in of_stream} == {one["stream"] for one in of_stream}
        assert {(one["server"], one["channel"], one["user"]) for one in of_stream} == {
            tuple(ids_of(here).values())
        }

    run_with_bot(scenario, "Here.")


def test_a_channel_without_send_messages_is_a_warning_once(logged: io.StringIO) -> None:
    async def scenario(here: BotHarness) -> None:
        for permission in ("send_messages", "manage_webhooks"):
            here.stage.deny("general", permission)
        for number in range(3):
            asked = here.ask(f"number {number}")
        here.ask("and here?", channel="logs")
        await here.says("Here.", channel="logs")
        assert "may not write" in await here.choose("Why this turn", asked)
        registry = here.bot.bot_metrics.registry
        unanswered = "oshaberi_questions_unanswered_total"
        assert registry.get_sample_value(unanswered, {"reason": "mute"}) == 3
        [line] = warnings(logged, "is not answered")
        assert "the bot may not write in this channel (Send Messages)" in line["message"]
        assert {name: line[name] for name in ("server", "channel", "user")} == ids_of(here)

    run_with_bot(scenario, "Here.")


def test_an_answer_leaves_its_times() -> None:
    async def scenario(here: BotHarness) -> None:
        value = here.bot.bot_metrics.registry.get_sample_value
        here.ask("hello?")
        await here.says("Here.")
        await here.idle()
        for name in ("first_token", "first_message"):
            assert value(f"oshaberi_{name}_seconds_count") == 1
        sends = {"kind": "send", "status": "200"}
        assert value("oshaberi_discord_request_seconds_count", sends) == 1
        assert (value("oshaberi_database_call_seconds_count", {"kind": "call"}) or 0) > 0
        assert (value("oshaberi_database_call_seconds_count", {"kind": "commit"}) or 0) > 0

    run_with_bot(scenario, "Here.")


def test_running_and_waiting_turns_are_counted() -> None:
    async def scenario(here: BotHarness) -> None:
        value = here.bot.bot_metrics.registry.get_sample_value
        here.ask("one")
        await here.asked_times(1)
        assert value("oshaberi_turns_running") == 1
        here.ask("two", channel="logs")
        await here.wait_for(lambda: value("oshaberi_turns_waiting") == 1)
        assert value("oshaberi_turns_running") == 1
        await here.run("stop")
        await here.says("Here.", channel="logs")
        await here.idle()
        assert (value("oshaberi_turns_running"), value("oshaberi_turns_waiting")) == (0, 0)

    run_with_bot(scenario, NoAnswer(), "Here.", max_simultaneous_turns=1)


def test_a_webhook_limit_is_a_warning_with_discords_words(logged: io.StringIO) -> None:
    async def scenario(here: BotHarness) -> None:
        await here.persona("Aki", triggers=("aki",))
        here.stage.fault(Fault(kind="code", code=30007, route="POST /channels/*/webhooks"))
        here.ask("aki?")
        await here.wait_for(here.said)
        await here.idle()
        line, *_ = warnings(logged, "no webhook")
        assert "Maximum number of webhooks reached" in line["message"]
        assert line.keys() >= IDS
        assert {name: line[name] for name in ("server", "channel", "user")} == ids_of(here)

    run_with_bot(scenario, "Here.")


def test_a_refused_message_is_a_log_line_with_discords_words(logged: io.StringIO) -> None:
    async def scenario(here: BotHarness) -> None:
        route = f"POST /channels/{here.id_of('general')}/messages"
        here.stage.fault(Fault(kind="code", code=50013, route=route, times=None))
        here.ask("hello?")
        await here.asked_times(1)
        await here.idle()
        [line] = warnings(logged, "ended without its text")
        assert line.keys() >= IDS
        assert "Missing Permissions" in logged.getvalue()

    run_with_bot(scenario, "Here.")


def test_a_model_that_hangs_is_seen_before_it_is_given_up() -> None:
    async def scenario(here: BotHarness) -> None:
        value = here.bot.bot_metrics.registry.get_sample_value
        here.ask("hello?")
        await here.wait_for(lambda: here.said() == ["One."])
        [early] = (await status_of(here))["turns"]["busy"]
        assert early["stream"]["hangs"] is False
        assert value("oshaberi_streams_silent") == 0
        await here.wait_for(lambda: value("oshaberi_streams_silent") == 1)
        report = await status_of(here)
        assert "openai model-0: silent for 3" in report["health"]["parts"]["models"]
        [late] = report["turns"]["busy"]
        stream = late["stream"]
        assert (stream["model"], stream["messages"], stream["hangs"]) == ("model-0", 1, True)
        assert 30 <= stream["silent_s"] <= stream["seconds"] <= late["seconds"]
        await here.run("stop")
        await here.idle()
        assert value("oshaberi_streams_silent") == 0
        assert (await status_of(here))["health"]["parts"]["models"] == "ok"

    answer = (Say("One.\nTw"), Stall())
    options: dict[str, Any] = {"health_port": free_port(), "status_token": TOKEN}
    run_with_bot(scenario, answer, speed=30.0, **options)


def test_a_queue_that_is_full_is_no_silence_of_the_model() -> None:
    """Nothing is read from a model that is far ahead: what it sends is not awaited."""
    timer_now_s = 0.0

    async def main() -> None:
        timer = InactivityTimer(60_000, 3_600_000, lambda: 0.0, lambda: None, lambda: timer_now_s)
        timer.start()
        set_now(40.0)
        assert timer.silent_s() == 40
        timer.extend()
        assert timer.silent_s() == 40, "a sent message is no sign of the model"
        timer.touch()
        assert timer.silent_s() == 0
        timer.stop()
        set_now(90.0)
        assert timer.silent_s() == 0

    def set_now(now_s: float) -> None:
        nonlocal timer_now_s
        timer_now_s = now_s

    asyncio.run(main())


def test_where_histories_come_from_is_counted() -> None:
    async def scenario(here: BotHarness) -> None:
        def reads(source: str) -> float | None:
            value = here.bot.bot_metrics.registry.get_sample_value
            return value("oshaberi_history_reads_total", {"source": source})

        here.ask("hello?")
        await here.says("One.")
        assert (reads("discord"), reads("memory"), reads("received")) == (1, 0, 0)
        here.ask("and again?")
        await here.says("One.", "Two.")
        assert (reads("discord"), reads("memory"), reads("received")) == (1, 1, 0)
        here.stage.fault(Fault(kind="hang", route="GET /channels/*/messages", times=None))
        here.ask("and here?", channel="logs")
        await here.says("Three.", channel="logs")
        assert (reads("discord"), reads("memory"), reads("received")) == (1, 1, 1)

    run_with_bot(scenario, "One.", "Two.", "Three.", speed=30.0)


def test_entries_that_wait_for_the_database_are_counted() -> None:
    async def scenario(here: BotHarness) -> None:
        value = here.bot.bot_metrics.registry.get_sample_value
        other = sqlite3.connect(here.settings.data_dir / "oshaberi.db", timeout=0)
        while not other.in_transaction:
            with suppress(sqlite3.OperationalError):  # the bot itself is writing
                other.execute("BEGIN IMMEDIATE")
            await asyncio.sleep(0.1)
        here.ask("hello?")
        await here.says("One.")
        kept = value("oshaberi_database_entries_kept") or 0
        assert kept > 0
        assert (await status_of(here))["process"]["kept_entries"] >= kept
        other.close()
        await here.wait_for(lambda: value("oshaberi_database_entries_kept") == 0)

    options: dict[str, Any] = {"health_port": free_port(), "status_token": TOKEN}
    run_with_bot(scenario, "One.", speed=20.0, **options)


async def paused(here: BotHarness) -> list[object]:
    """The pauses of the operator's keys, as the status page shows them."""
    report = await status_of(here)
    return [key["paused_until"] for key in report["models"][0]["keys"]]


def test_a_key_that_answers_is_not_paused() -> None:
    """While all keys pause, the one with the shortest pause is asked all the same."""

    async def scenario(here: BotHarness) -> None:
        here.ask("hello?")
        await here.wait_for(here.notices)
        await here.idle()
        assert None not in await paused(here)
        here.ask("and now?")
        await here.says("", "Here.")
        assert await paused(here) == [None]

    answers = (Refuse("auth", "this key is no good"), "Here.")
    run_with_bot(scenario, *answers, health_port=free_port(), status_token=TOKEN)
