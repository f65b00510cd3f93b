"""A stored model never makes the bot call its own network, and errors show no server's answer."""

from __future__ import annotations

import json
import logging

import pytest

from discord_stage.model_servers import AnthropicWire, OpenAIWire
from discord_stage.model_servers.google_wire import GoogleWire
from discord_stage.model_servers.novelai_wire import NovelAIWire
from discord_stage.model_servers.scripts import Status
from discord_stage.model_servers.wire_format import WireFormat
from oshaberi.bot.storage.records import ModelRecord
from tests.bot.client_harness import OWNER
from tests.e2e.bot_harness import BotHarness, run_with_bot

SECRET = "admin-panel-of-the-intranet"


def texts(here: BotHarness) -> str:
    return json.dumps([[m.content, m.embeds] for m in here.ours()])


async def with_stored_model(here: BotHarness, base_url: str) -> None:
    record = ModelRecord(here.server_id, "openai", "x", base_url)
    await here.db.models.set_chain(here.server_id, [record])


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_stored_address_inside_is_not_called(host: str) -> None:
    """Stored before this was refused, or under a name that leads elsewhere now."""

    async def scenario(here: BotHarness) -> None:
        url = here.models[1].url.replace("127.0.0.1", host)
        await with_stored_model(here, url)
        here.ask("hi")
        await here.wait_for(lambda: here.notices() == ["This model cannot be used"])
        await here.idle()
        assert "allow_local_models" in texts(here)
        assert here.models[1].requests == []
        here.stage.people.dm("hi", user=OWNER)
        await here.wait_for(lambda: here.said(f"@{OWNER}") == ["From the settings."])

    run_with_bot(scenario, "From the settings.", scripts=[["Never."]], chain=1)


def test_the_operator_may_allow_it() -> None:
    async def scenario(here: BotHarness) -> None:
        await with_stored_model(here, here.models[1].url)
        here.ask("hi")
        await here.says("From inside.")

    run_with_bot(scenario, scripts=[["From inside."]], chain=1, allow_local_models=True)


WIRES = [OpenAIWire(), AnthropicWire(), GoogleWire(), NovelAIWire()]


@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name)
@pytest.mark.parametrize(
    ("status", "body"),
    [
        (403, json.dumps({"error": {"message": SECRET, "code": 403, "status": "DENIED"}})),
        (500, json.dumps({"message": SECRET})),
        (200, SECRET),
    ],
    ids=["error", "message", "text"],
)
def test_no_answer_of_an_unknown_server_is_shown(
    wire: WireFormat, status: int, body: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "oshaberi")

    async def scenario(here: BotHarness) -> None:
        here.ask("hi")
        await here.wait_for(lambda: len(here.notices()) == 1)
        await here.idle()
        assert SECRET not in texts(here)
        assert SECRET in caplog.text, "whoever runs the bot reads it in the log"

    run_with_bot(scenario, Status(status, body), wires=[wire])


@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name)
def test_a_model_server_does_not_send_us_elsewhere(wire: WireFormat) -> None:
    """A redirect is an answer of the server, and may lead inside."""

    async def scenario(here: BotHarness) -> None:
        target, path = here.models[1], here.models[0].wire.base_path
        assert path == target.wire.base_path
        here.model.play(Status(307, "", {"location": f"{target.url}/anything"}))
        here.ask("hi")
        await here.wait_for(lambda: len(here.notices()) == 1)
        await here.idle()
        assert target.requests == []

    run_with_bot(scenario, wires=[wire, type(wire)()], scripts=[["Never."]], chain=1)
