"""What an operator finds in the log when people get no answer: a warning, the ids, the words."""

from __future__ import annotations

import io
import json

from oshaberi.stage import Fault
from oshaberi.stage.model_servers.model_script import NoAnswer, Refuse
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
