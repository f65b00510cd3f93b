"""How commands answer, and what becomes of errors; /status and /help."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from discord_stage import Settings, Stage
from discord_stage.world.records import InteractionReply
from oshaberi.bot.commands import help_command, status_command
from oshaberi.bot.commands.answers import (
    MESSAGE_LIMIT,
    MOST_CHOICES,
    OUTDATED,
    PATIENCE_S,
    UNEXPECTED,
    choices,
)
from oshaberi.bot.storage import StorageError
from oshaberi.bot.storage.records import KeyRecord, ModelRecord
from oshaberi.bot.turns.services.model_access import OperatorModel
from oshaberi.errors import ConfigError
from oshaberi.providers.capabilities import ModelPlace
from oshaberi.providers.capabilities.learned import Doubt, Lesson
from oshaberi.providers.presets import PRESETS
from tests.bot.client_harness import ADMIN, MEMBER, OWNER, ClientHarness, run_with_client

OPERATORS = OperatorModel(ModelRecord(0, "openai", "gpt-x"), ("sk-operators-own-key",))


def test_what_was_not_expected_is_told_privately_and_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(*_given: Any) -> str:
        raise ZeroDivisionError("with details that are nobody's business")

    monkeypatch.setattr(status_command, "status_of", broken)

    async def scenario(harness: ClientHarness) -> None:
        assert await harness.run("status", user=MEMBER) == UNEXPECTED

    run_with_client(scenario)
    (record,) = [one for one in caplog.records if one.name.startswith("oshaberi.bot")]
    assert record.getMessage().startswith("/status failed: ZeroDivisionError")
    assert record.exc_info


def test_a_broken_database_is_our_fault_and_tells_nothing_about_itself(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(*_given: Any) -> str:
        raise StorageError("the database /home/somebody/oshaberi.db failed")

    monkeypatch.setattr(status_command, "status_of", broken)

    async def scenario(harness: ClientHarness) -> None:
        assert await harness.run("status", user=MEMBER) == UNEXPECTED

    run_with_client(scenario)
    assert "/home/somebody" in caplog.text


def test_a_command_that_is_no_more_is_told(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(harness: ClientHarness) -> None:
        harness.client.tree.remove_command("help")
        assert await harness.run("help", user=MEMBER) == OUTDATED

    run_with_client(scenario)
    assert "failed" not in caplog.text


def test_a_refusal_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    async def refused(*_given: Any) -> str:
        raise ConfigError("one\n\ntwo " + "x" * 5000)

    monkeypatch.setattr(status_command, "status_of", refused)

    async def scenario(harness: ClientHarness) -> None:
        told = await harness.run("status", user=MEMBER)
        assert told.startswith("one two xxx")
        assert len(told) <= MESSAGE_LIMIT

    run_with_client(scenario)


def test_work_that_takes_long_is_deferred(monkeypatch: pytest.MonkeyPatch) -> None:
    go = asyncio.Event()

    async def slow(*_given: Any) -> str:
        await go.wait()
        return "at last"

    monkeypatch.setattr(help_command, "help_text", slow)

    async def scenario(harness: ClientHarness) -> None:
        asked = harness.stage.people.run("help", user=MEMBER)
        await harness.stage.wait_for(lambda: asked.reply)
        assert asked.reply is InteractionReply.DEFER
        go.set()
        assert await harness.private(asked) == "at last"

    assert Settings().interaction_s / 2 >= PATIENCE_S, "as Discord has it"
    run_with_client(scenario)


def test_an_answer_that_comes_too_late_is_a_line_in_the_log(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    done = asyncio.Event()

    async def quick(*_given: Any) -> str:
        done.set()
        return "nobody hears this"

    monkeypatch.setattr(help_command, "help_text", quick)

    async def scenario(harness: ClientHarness) -> None:
        harness.stage.people.run("help", user=MEMBER)
        await harness.stage.wait_for(lambda: "too late" in caplog.text)
        assert done.is_set()
        assert harness.stage.world.contents("general") == []

    run_with_client(scenario, settings=Settings(interaction_s=-1.0))
    (record,) = [one for one in caplog.records if one.name.startswith("oshaberi.bot")]
    assert record.levelno == logging.WARNING


def test_status_tells_latency_queue_health_and_usage() -> None:
    async def scenario(harness: ClientHarness) -> None:
        await harness.db.usage.add(harness.server_id, "openai", "gpt-x", 1200, 34)
        told = await harness.run("status", user=MEMBER)
        assert "0 answers under way, 0 messages waiting." in told
        assert "- openai/gpt-x: ready, 1 key" in told
        assert "- openai/gpt-x: 1 request, 1,200 tokens read, 34 written" in told
        server = harness.server_id
        await harness.db.models.set_chain(server, [ModelRecord(server, "groq", "fast")])
        assert "groq/fast: has no key" in await harness.run("status")
        key = await harness.db.keys.add(KeyRecord(server, "groq", "gsk-1"))
        until = harness.client.context.services.clock() + timedelta(minutes=5)
        await harness.db.keys.rest(key.id, until)
        told = await harness.run("status")
        assert f"groq/fast: all keys failed; paused until <t:{int(until.timestamp())}:t>" in told
        await harness.db.keys.add(replace(key, id=0, secret="gsk-2"))
        assert "ready, 2 keys, 1 of them paused" in await harness.run("status")
        await harness.db.models.set_chain(server, [ModelRecord(server, "ollama", "small")])
        assert "ollama/small: ready, needs no key" in await harness.run("status")

    run_with_client(scenario, models=[OPERATORS])


def test_status_tells_what_a_model_refused() -> None:
    async def scenario(harness: ClientHarness) -> None:
        learned = harness.client.context.services.models.adapters.learned
        place = ModelPlace("openai", PRESETS["openai"].base_url, "gpt-x")
        learned.learn(place, Lesson("it takes no images; a note stands for each"))
        learned.learn(place._replace(model="other"), Lesson("it takes no tools"))
        told = await harness.run("status", user=MEMBER)
        assert "gpt-x: ready, 1 key; it takes no images; a note stands for each\n" in f"{told}\n"

    run_with_client(scenario, models=[OPERATORS])


def test_a_tool_that_is_left_out_is_named_until_it_is_relearned() -> None:
    async def scenario(harness: ClientHarness) -> None:
        learned = harness.client.context.services.models.adapters.learned
        place = ModelPlace("openai", PRESETS["openai"].base_url, "gpt-x")
        learned.doubt(place, (Doubt(frozenset({"tool look"}), "bad schema", "HTTP 400"),))
        told = await harness.run("status", user=MEMBER)
        assert "gpt-x: ready, 1 key; it is not sent tool look (HTTP 400)" in told
        assert "tool look (bad schema)" in await harness.run("status", user=OWNER)
        assert "Manage Server" in await harness.run("model relearn", user=MEMBER)
        told = await harness.run("model relearn", user=ADMIN)
        assert told.startswith("I have forgotten what openai/gpt-x refused.")
        assert "tool look" not in await harness.run("status", user=OWNER)
        assert "Nothing was learned" in await harness.run("model relearn", user=ADMIN)

    run_with_client(scenario, models=[OPERATORS])


def test_help_says_what_to_do_first() -> None:
    async def scenario(harness: ClientHarness) -> None:
        assert (await harness.run("help", user=OWNER)).startswith("**First** give me a key")
        told = await harness.run("help", user=MEMBER)
        assert "Ask somebody with Manage Server" in told
        assert "- `/status`: Show latency" in told
        await harness.db.models.set_chain(
            harness.server_id, [ModelRecord(harness.server_id, "ollama", "m")]
        )
        assert (await harness.run("help", user=MEMBER)).startswith("**Mention me, or reply")
        harness.stage.people.dm("hi", user=MEMBER)
        person = harness.stage.world.user(MEMBER).id
        await harness.db.models.set_chain(0, [ModelRecord(0, "ollama", "m")], person)
        told = await harness.run("help", user=MEMBER, channel=f"@{MEMBER}")
        assert told.startswith("**Just write to me.**")

    run_with_client(scenario)


def test_choices_are_those_that_fit_and_not_too_many() -> None:
    known = [(f"name {number}", str(number)) for number in range(40)] + [("other", "x" * 101)]
    assert len(choices("", known)) == MOST_CHOICES
    assert [choice.value for choice in choices("39", known)] == ["39"]
    assert choices("other", known) == []
    begins_first = choices("b", [("ab", "1"), ("Ba", "2")])
    assert [choice.value for choice in begins_first] == ["2", "1"]


def test_commands_are_registered_once_with_who_may_see_them() -> None:
    async def scenario(harness: ClientHarness) -> None:
        payloads = {c.payload["name"]: c.payload for c in harness.stage.world.commands.values()}
        hidden = {
            name for name, one in payloads.items() if one.get("default_member_permissions") == 32
        }
        assert hidden == {"channel", "config", "lore", "model", "persona", "sprite", "tools"}
        assert {"stop", "continue", "regenerate", "memory", "status", "help"} <= set(payloads)
        assert len(_registrations(harness.stage)) == 1

    run_with_client(scenario)


def _registrations(stage: Stage) -> list[object]:
    return [*stage.calls("PUT /applications/*/commands")]
