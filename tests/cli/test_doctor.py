"""`oshaberi doctor`: everything in order, and each thing that can be wrong, on real servers."""

from __future__ import annotations

import asyncio
import importlib
import json
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from aiohttp import web

from discord_stage import Fault, Stage
from discord_stage.model_servers import ModelServer, OpenAIWire
from discord_stage.model_servers.scripts import Finish, Say
from discord_stage.world.records import Webhook
from oshaberi import cli
from oshaberi.bot.config import load
from oshaberi.bot.config.going_live import ADMINISTRATOR
from oshaberi.bot.storage import Database, SecretVault
from oshaberi.bot.storage.records import KeyRecord, ModelRecord
from oshaberi.cli.doctor_checks import Finding, examine
from oshaberi.cli.doctor_checks.channel_checks import EVERYTHING, ChannelOverwrites
from oshaberi.cli.doctor_checks.machine_checks import machine
from oshaberi.cli.engine_build import build_name
from tests.storage.database_servers import redis_url

KEY = "a-very-secret-key"


async def findings(**variables: str) -> dict[str, Finding]:
    """By name, from settings made of these variables alone."""
    environ = {"HOME": "/nowhere", **variables}
    found = [one async for one in examine(load(None, environ), environ)]
    return {one.name: one for one in found}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    return str(tmp_path / "data")


# -- Discord -------------------------------------------------------------------------------------


def on_stage(world: Mapping[str, object] | None, folder: str, token: str | None = None) -> Any:
    async def main() -> dict[str, Finding]:
        async with Stage(world) as stage:
            found = await findings(
                OSHABERI_DATA_DIR=folder,
                DISCORD_STAGE_URL=stage.url,
                OSHABERI_DISCORD_TOKEN=token or stage.token,
            )
            stage.check()
            return found

    return asyncio.run(main())


def test_a_bot_that_may_do_everything(folder: str) -> None:
    found = on_stage(None, folder)
    assert {name: found[name].state for name in ("token", "intents", "permissions")} == {
        "token": "good",
        "intents": "good",
        "permissions": "good",
    }
    assert found["permissions"].text == "complete in 1 server"


def test_a_token_that_discord_does_not_know(folder: str) -> None:
    found = on_stage(None, folder, token="wrong-token-wrong-token")
    assert found["token"].state == "bad"
    assert "Reset Token" in found["token"].advice
    assert "intents" not in found
    assert "wrong-token" not in str(found)


def test_without_message_content(folder: str) -> None:
    world = {"bot": {"name": "Mochi", "intents": ["members"]}, "guilds": [GUILD]}
    found = on_stage(world, folder)
    assert found["intents"].state == "bad"
    assert "Message Content is off" in found["intents"].text


GUILD = {"name": "Tea House", "members": ["mika"], "channels": [{"name": "general"}]}


@pytest.mark.parametrize(
    ("granted", "state", "missing"),
    [
        (["view_channel", "read_message_history"], "bad", "Send Messages"),
        (["view_channel", "send_messages", "read_message_history"], "note", "Manage Webhooks"),
        (["administrator"], "good", ""),
    ],
)
def test_permissions_that_are_missing(
    folder: str, granted: Sequence[str], state: str, missing: str
) -> None:
    bot = {"name": "Mochi", "permissions": list(granted)}
    found = on_stage({"bot": bot, "guilds": [GUILD | {"everyone": []}]}, folder)
    assert found["permissions"].state == state
    assert missing in found["permissions"].text
    assert ("Tea House" in found["permissions"].text) == bool(missing)


ALL = ["view_channel", "send_messages", "read_message_history", "send_messages_in_threads"]
ALL += ["manage_webhooks", "embed_links", "attach_files", "add_reactions", "use_external_emojis"]


def in_channels(folder: str, *taken: tuple[str, str], webhooks: int = 0) -> dict[str, Finding]:
    """What is found in two channels, where permissions are taken from the bot and others have
    webhooks."""
    guild = GUILD | {"channels": [{"name": "general"}, {"name": "art"}, {"name": "staff"}]}

    async def main() -> dict[str, Finding]:
        bot = {"name": "Mochi", "permissions": ALL}
        async with Stage({"bot": bot, "guilds": [guild]}) as stage:
            for channel, permission in taken:
                stage.deny(channel, permission)
            place = stage.world.channel("art")
            for number in range(webhooks):
                stage.world.webhooks[number] = Webhook(
                    number, "t", place.id, place.guild_id or 0, "other", stage.world.bot.id, None
                )
            found = await findings(
                OSHABERI_DATA_DIR=folder,
                DISCORD_STAGE_URL=stage.url,
                OSHABERI_DISCORD_TOKEN=stage.token,
            )
            stage.check()
            return found

    return asyncio.run(main())


def test_what_overwrites_take_from_the_bot_is_told_by_server_and_channel(folder: str) -> None:
    found = in_channels(
        folder, ("general", "send_messages"), ("art", "send_messages"), ("art", "attach_files")
    )["channels"]
    assert found.state == "note"
    assert found.text == (
        "missing in Tea House #general: Send Messages; Tea House #art: Send Messages, Attach Files"
    )
    assert "Permissions in the settings of these channels" in found.advice


def test_a_hidden_channel_is_only_counted(folder: str) -> None:
    found = in_channels(folder, ("staff", "view_channel"))["channels"]
    assert found.state == "good"
    assert found.text == "nothing is taken from the bot in 2 channels; hidden from it: 1"


def test_a_server_where_the_bot_can_write_nowhere_is_a_problem(folder: str) -> None:
    names = ("general", "art", "staff")
    found = in_channels(folder, *((name, "send_messages") for name in names))["channels"]
    assert found.state == "bad"
    assert "can write nowhere in Tea House" in found.text


def test_a_channel_full_of_webhooks_is_named(folder: str) -> None:
    assert "webhooks" not in in_channels(folder, webhooks=14)
    found = in_channels(folder, webhooks=15)["webhooks"]
    assert found.state == "note"
    assert "no room for one in #art in Tea House: 15 are there" in found.text


EVERYONE, ROLE, ME = "1", "2", "3"


@pytest.mark.parametrize(
    ("overwrites", "allowed"),
    [
        ({}, 0b1111),
        ({EVERYONE: (0b0011, 0)}, 0b1100),
        ({EVERYONE: (0b0011, 0), ROLE: (0b0100, 0b0001)}, 0b1001),
        ({ROLE: (0b0001, 0), ME: (0b1000, 0b0001)}, 0b0111),
        ({"another role": (0b1111, 0)}, 0b1111),
    ],
)
def test_overwrites_apply_in_discords_order(
    overwrites: Mapping[str, tuple[int, int]], allowed: int
) -> None:
    listed = [
        {"id": k, "deny": str(d << 10), "allow": str(a << 10)} for k, (d, a) in overwrites.items()
    ]
    applied = ChannelOverwrites.of(listed).applied
    roles = frozenset({ROLE})
    assert applied(0b1111 << 10, EVERYONE, roles, ME, is_owner=False) == allowed << 10
    assert applied(ADMINISTRATOR, EVERYONE, frozenset(), ME, is_owner=False) == EVERYTHING


def test_discord_that_does_not_answer(folder: str) -> None:
    async def main() -> dict[str, Finding]:
        nobody = "http://127.0.0.1:1"
        return await findings(
            OSHABERI_DATA_DIR=folder, DISCORD_STAGE_URL=nobody, OSHABERI_DISCORD_TOKEN=KEY
        )

    found = asyncio.run(main())
    assert found["token"].state == "bad"
    assert "could not be checked" in found["token"].text


@pytest.mark.parametrize(
    ("rest", "gateway", "told"),
    [
        (False, False, "REST and gateway answer"),
        (True, False, "REST: HTTP 503; gateway: answers"),
        (False, True, "REST: answers; gateway: HTTP 503"),
        (True, True, "REST: HTTP 503; gateway: HTTP 503"),
    ],
)
def test_which_side_of_discord_is_away(folder: str, rest: bool, gateway: bool, told: str) -> None:
    async def main() -> dict[str, Finding]:
        async with Stage(None) as stage:
            stage.gateway.refuses = gateway
            if rest:
                stage.fault(Fault(kind="status", status=503, route="*", times=None))
            return await findings(
                OSHABERI_DATA_DIR=folder,
                DISCORD_STAGE_URL=stage.url,
                OSHABERI_DISCORD_TOKEN=stage.token,
            )

    found = asyncio.run(main())["discord"]
    assert (found.state, found.text) == ("bad" if rest or gateway else "good", told)


# -- models --------------------------------------------------------------------------------------


@asynccontextmanager
async def provider(status: int, body: Any) -> AsyncIterator[tuple[str, list[web.Request]]]:
    """Answers every question like this."""
    asked: list[web.Request] = []

    async def answer(request: web.Request) -> web.Response:
        asked.append(request)
        return web.json_response(body, status=status)

    application = web.Application()
    application.router.add_get("/{path:.*}", answer)
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    try:
        yield f"http://127.0.0.1:{port}", asked
    finally:
        await runner.cleanup()


def ask_model(
    folder: str, status: int, body: Any, **entry: Any
) -> tuple[Finding, list[tuple[str, dict[str, str]]]]:
    async def main() -> tuple[Finding, list[tuple[str, dict[str, str]]]]:
        async with provider(status, body) as (url, asked):
            model = {"provider": "openai", "model": "m", "api_keys": [KEY], "base_url": url}
            models = json.dumps([model | entry])
            found = await findings(OSHABERI_DATA_DIR=folder, OSHABERI_MODELS=models)
            requests = [(one.path, dict(one.headers)) for one in asked]
        finding = next(one for name, one in found.items() if name.startswith("model "))
        assert KEY not in str(found)
        return finding, requests

    return asyncio.run(main())


def test_a_model_without_the_address_that_it_needs(tmp_path: Path) -> None:
    finding, requests = ask_model(str(tmp_path), 200, {}, provider="azure", base_url=None)
    assert "needs a base_url" in finding.text
    assert requests == []


@pytest.mark.parametrize(
    ("family", "path", "header", "value"),
    [
        ("openai", "/v1/models", "Authorization", f"Bearer {KEY}"),
        ("azure", "/openai/v1/models", "Authorization", f"Bearer {KEY}"),
        ("anthropic", "/v1/models", "x-api-key", KEY),
        ("google", "/v1beta/models", "x-goog-api-key", KEY),
    ],
)
def test_a_key_is_tried(folder: str, family: str, path: str, header: str, value: str) -> None:
    finding, [(asked, headers)] = ask_model(folder, 200, {"data": [{"id": "m"}]}, provider=family)
    assert finding.state == "good"
    assert (asked, headers[header]) == (path, value)


@pytest.mark.parametrize(
    ("status", "body", "state", "text"),
    [
        (401, {}, "bad", "refuses the key"),
        (403, {}, "bad", "refuses the key"),
        (400, {"error": {"details": [{"reason": "API_KEY_INVALID"}]}}, "bad", "refuses the key"),
        (500, {}, "bad", "could not be checked: HTTP 500"),
        (404, {}, "note", "does not list models"),
        (429, {}, "note", "rate limited"),
        (200, {"data": [{"id": "other"}]}, "note", "does not list 'm'"),
        (200, {"models": [{"name": "models/m"}]}, "good", "accepts the key"),
        (200, {"data": [{"id": "other"}], "has_more": True}, "good", "accepts the key"),
        (200, [], "good", "accepts the key"),
    ],
)
def test_what_a_provider_may_answer(
    folder: str, status: int, body: Any, state: str, text: str
) -> None:
    finding, _asked = ask_model(folder, status, body)
    assert finding.state == state
    assert text in finding.text


NO_KEY: dict[str, Any] = {"api_keys": []}


@pytest.mark.parametrize(
    ("status", "state", "text", "advice"),
    [
        (401, "bad", "the server wants a key, and none was sent", "set api_keys of this model"),
        (200, "good", "the server answers; no key was sent, and it wants none", ""),
        (404, "note", "no key was sent", ""),
        (429, "note", "no key was sent", ""),
    ],
)
def test_a_server_to_which_no_key_is_sent(
    folder: str, status: int, state: str, text: str, advice: str
) -> None:
    finding, [(_path, headers)] = ask_model(folder, status, {}, **NO_KEY)
    assert (finding.state, "Authorization" in headers) == (state, False)
    assert text in finding.text
    assert advice in finding.advice
    assert "None" not in f"{finding.text} {finding.advice}"


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ({}, "put a valid one into api_keys of this model"),
        ({"api_keys": [], "api_key_env": "MY_KEY"}, "put a valid one into MY_KEY"),
    ],
)
def test_where_a_valid_key_belongs(folder: str, given: dict[str, Any], place: str) -> None:
    async def main() -> Finding:
        async with provider(401, {}) as (url, _asked):
            model = {"provider": "openai", "model": "m", "api_keys": [KEY], "base_url": url}
            found = await findings(
                OSHABERI_DATA_DIR=folder, OSHABERI_MODELS=json.dumps([model | given]), MY_KEY=KEY
            )
        return found["model openai m"]

    assert place in asyncio.run(main()).advice


def test_an_answer_without_a_word_is_no_answer(folder: str) -> None:
    async def main(*script: Any) -> Finding:
        async with ModelServer(OpenAIWire()) as server:
            server.play(*script)
            model = {"provider": "openai", "model": "m", "base_url": server.url}
            models = json.dumps([model])
            found = await findings(OSHABERI_DATA_DIR=folder, OSHABERI_MODELS=models)
        return found["model openai m, a call"]

    empty = asyncio.run(main(Finish("stop")))
    assert (empty.state, "an empty answer" in empty.text) == ("bad", True)
    answered = asyncio.run(main(Say("Hello there!")))
    assert (answered.state, answered.text[:10]) == ("good", "it answers")


def test_a_token_without_a_model(folder: str) -> None:
    """The bot would be on Discord, and could answer nobody."""

    async def main() -> tuple[Finding, Finding]:
        variables = {"OSHABERI_DATA_DIR": folder, "OSHABERI_DISCORD_TOKEN": "a.b.c"}
        environ = {"HOME": "/nowhere", **variables}

        async def model() -> Finding:
            settings = load(None, environ)
            found = [one async for one in examine(settings, environ, offline=True)]
            return next(one for one in found if one.name == "model")

        before = await model()
        file = f"sqlite:///{folder}/oshaberi.db"
        Path(folder).mkdir(exist_ok=True)
        async with Database.open(file, SecretVault([SecretVault.new_key()])) as db:
            await db.models.set_chain(7, [ModelRecord(7, "openai", "m")])
            await db.models.set_chain(8, [ModelRecord(8, "openai", "m")], channel_id=5)
            await db.models.set_chain(8, [ModelRecord(8, "openai", "m")])
        return before, await model()

    before, after = asyncio.run(main())
    assert (before.state, "the bot cannot answer" in before.text) == ("bad", True)
    assert after.state == "note"
    assert "2 servers chose their own" in after.text


def test_a_token_in_an_offline_check(
    folder: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OSHABERI_DATA_DIR", folder)
    assert cli.main(["doctor", "--offline"]) == 0
    assert "– token: none; the bot runs on the local stage" in capsys.readouterr().out
    monkeypatch.setenv("OSHABERI_DISCORD_TOKEN", "first.second.third")
    assert cli.main(["doctor", "--offline"]) == 1, "there is no model"
    out = capsys.readouterr().out
    assert "token: is set (from OSHABERI_DISCORD_TOKEN); Discord was not asked" in out
    assert "first.second" not in out


def test_a_key_that_is_missing(folder: str) -> None:
    models = json.dumps([{"provider": "groq", "model": "m"}])
    found = asyncio.run(findings(OSHABERI_DATA_DIR=folder, OSHABERI_MODELS=models))
    assert found["model groq m"].state == "bad"
    assert "GROQ_API_KEY" in found["model groq m"].advice


def test_a_server_that_is_not_there(folder: str) -> None:
    finding, _asked = ask_model(folder, 200, {}, base_url="http://127.0.0.1:1/v1")
    assert finding.state == "bad"
    assert "could not be checked: 127.0.0.1:1: nothing listens there" in finding.text


def test_a_provider_that_can_only_be_asked_for_answers(folder: str) -> None:
    finding, asked = ask_model(folder, 200, {}, provider="novelai")
    assert (finding.state, asked) == ("note", [])


# -- tools ---------------------------------------------------------------------------------------

TOOL = """from oshaberi.bot.tools import tool
print("a module may print")
@tool()
def {name}() -> str:
    \"\"\"Does it.\"\"\"
    return ""
"""
EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def own_modules(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Whatever is imported meanwhile is forgotten."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    modules = set(sys.modules)
    yield
    for name in set(sys.modules) - modules:
        del sys.modules[name]


@pytest.mark.usefixtures("own_modules")
def test_modules_with_tools(
    folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "doctor_good.py").write_text(TOOL.format(name="brew"))
    (tmp_path / "doctor_again.py").write_text(TOOL.format(name="brew"))
    (tmp_path / "doctor_none.py").write_text("")
    (tmp_path / "doctor_broken.py").write_text("1/0")
    importlib.invalidate_caches()
    modules = "doctor_good,doctor_again,doctor_none,doctor_broken,doctor_missing"
    found = asyncio.run(findings(OSHABERI_DATA_DIR=folder, OSHABERI_TOOLS=modules))
    told = {name: (one.state, one.text) for name, one in found.items() if "tools" in name}
    assert told["tools doctor_good"] == ("good", "1 tool: brew")
    assert [told[f"tools doctor_{name}"][0] for name in ("none", "broken", "missing")] == [
        "bad"
    ] * 3
    assert "ZeroDivisionError" in told["tools doctor_broken"][1]
    assert "no function with @tool" in told["tools doctor_none"][1]
    assert told["tools"][0] == "bad"
    assert "'brew' is there twice" in told["tools"][1]
    assert capsys.readouterr().out == ""


@pytest.mark.slow
def test_mcp_servers(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "oshaberi.cli.doctor_checks.tool_checks.PATIENCE_S", 120.0
    )  # this machine may be busy
    servers = {
        "tea": {"command": sys.executable, "args": [str(EXAMPLES / "mcp_server.py")]},
        "lost": {"command": "no-such-command", "env": {"API_TOKEN": KEY}},
        "mute": {"command": sys.executable, "args": ["-c", "import sys; sys.exit('no key')"]},
        "far": {"url": f"http://127.0.0.1:1/mcp?key={KEY}"},
    }
    found = asyncio.run(
        findings(OSHABERI_DATA_DIR=folder, OSHABERI_MCP_SERVERS=json.dumps(servers))
    )
    tea = found["mcp server tea"]
    assert (tea.state, tea.text) == ("good", "1 tool: brewing_temperature")
    assert [found[f"mcp server {name}"].state for name in ("lost", "mute", "far")] == ["bad"] * 3
    assert "'no-such-command'" in found["mcp server lost"].text
    assert "no key" in found["mcp server mute"].text
    assert "mcp_servers.far.url" in found["mcp server far"].advice
    assert KEY not in str(found)


def test_an_mcp_server_that_says_nothing(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oshaberi.cli.doctor_checks.tool_checks.PATIENCE_S", 0.1)
    servers = json.dumps(
        {"mute": {"command": sys.executable, "args": ["-c", "while True: input()"]}}
    )
    found = asyncio.run(findings(OSHABERI_DATA_DIR=folder, OSHABERI_MCP_SERVERS=servers))
    assert "no answer within 0.1 s" in found["mcp server mute"].text


# -- places --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("free", "state"), [(5 * 10**9, "good"), (5 * 10**8, "note"), (10**7, "bad"), (0, "bad")]
)
def test_free_space(
    free: int, state: str, folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Path] = []

    def usage(place: Path) -> SimpleNamespace:
        asked.append(place)
        return SimpleNamespace(free=free)

    monkeypatch.setattr("shutil.disk_usage", usage)
    found = asyncio.run(findings(OSHABERI_DATA_DIR=folder))["disk"]
    assert (found.state, asked) == (state, [tmp_path])
    assert f"{free / 10**9:.1f} GB free at {tmp_path}" in found.text


def test_the_disk_of_a_database_that_is_elsewhere(folder: str, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    url = f"sqlite:///{elsewhere / 'oshaberi.db'}"
    found = asyncio.run(findings(OSHABERI_DATA_DIR=folder, OSHABERI_DATABASE_URL=url))
    assert str(elsewhere) in found["disk of the database"].text


def test_database_secret_key_and_redis(folder: str, tmp_path: Path) -> None:
    found = asyncio.run(findings(OSHABERI_DATA_DIR=folder))
    assert found["database"].state == "note"
    assert found["secret key"].text.endswith("secret.key will be created")
    assert not Path(folder).exists(), "nothing is made"
    file = tmp_path / "bad.db"
    file.write_bytes(b"this is no database" * 100)
    broken = asyncio.run(
        findings(
            OSHABERI_DATA_DIR=folder,
            OSHABERI_DATABASE_URL=f"sqlite:///{file}",
            OSHABERI_REDIS_URL="redis://:pass-word@127.0.0.1:1/0",
            OSHABERI_SECRET_KEY="no key",
        )
    )
    assert [broken[name].state for name in ("database", "redis", "secret key")] == ["bad"] * 3
    assert "pass-word" not in str(broken)


def test_a_database_that_is_up_to_date(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OSHABERI_DATA_DIR", folder)
    assert cli.main(["db", "upgrade"]) == 0
    found = asyncio.run(findings(OSHABERI_DATA_DIR=folder))
    assert found["database"].state == "good"


def test_variables_of_a_service_are_worth_a_note(
    folder: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OSHABERI_DATA_DIR", folder)
    monkeypatch.setenv("OSHABERI_REDIS_PORT", "tcp://10.96.0.7:6379")
    cli.main(["doctor", "--offline"])
    told = capsys.readouterr().out
    assert "– settings: ignored, because they describe a service: OSHABERI_REDIS_PORT" in told


def test_redis_that_answers(folder: str) -> None:
    found = asyncio.run(findings(OSHABERI_DATA_DIR=folder, OSHABERI_REDIS_URL=redis_url()))
    assert found["redis"].state == "good"


def test_a_key_that_does_not_open_what_is_stored(folder: str) -> None:
    old, new = SecretVault.new_key(), SecretVault.new_key()

    async def keep() -> None:
        Path(folder).mkdir()
        async with Database.open(f"sqlite:///{folder}/oshaberi.db", SecretVault([old])) as db:
            await db.keys.add(KeyRecord(1, "openai", "sk-something"))

    asyncio.run(keep())
    states = {
        key: asyncio.run(findings(OSHABERI_DATA_DIR=folder, OSHABERI_SECRET_KEY=key))["secret key"]
        for key in (old, f"{new},{old}", new, "")
    }
    assert [one.state for one in states.values()] == ["good", "good", "bad", "bad"]
    assert "encrypted with another key than OSHABERI_SECRET_KEY has" in states[new].text
    assert "secret.key" in states[""].text
    assert not (Path(folder) / "secret.key").exists()


def test_a_folder_that_cannot_be_written_to() -> None:
    found = asyncio.run(findings(OSHABERI_DATA_DIR="/proc/nowhere"))
    assert found["data folder"].state == "bad"
    assert "/proc cannot be written to" in found["data folder"].text
    assert found["database"].state == found["secret key"].state == "bad"
    assert "/proc cannot be written to" in found["secret key"].text


def test_extras_that_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    from oshaberi.cli.doctor_checks import machine_checks

    monkeypatch.setitem(machine_checks.EXTRAS, "bot", ("no_such_module",))
    monkeypatch.setitem(machine_checks.EXTRAS, "tables", ("no_such_font",))
    found = {one.name: one for one in machine()}
    assert (found["bot"].state, found["tables"].state) == ("bad", "note")
    assert 'pip install "oshaberi[tables]"' in found["tables"].advice


def test_the_text_engine_that_runs_is_named() -> None:
    found = {one.name: one for one in machine()}
    assert (found["text engine"].state, found["text engine"].text) == ("good", build_name())


def test_a_display_mode_that_is_not_installed(folder: str) -> None:
    for mode, state in (("persona", None), ("hologram", "bad")):
        found = asyncio.run(findings(OSHABERI_DATA_DIR=folder, OSHABERI_DISPLAY_MODE=mode))
        told = found.get("display mode")
        assert (told and told.state) == state
    assert told is not None
    assert told.text == (
        "display_mode: 'hologram' is not installed; installed: persona (from OSHABERI_DISPLAY_MODE)"
    )


def test_a_status_page_without_a_port_is_told(folder: str) -> None:
    token = {"OSHABERI_DATA_DIR": folder, "OSHABERI_STATUS_TOKEN": "long enough a token"}
    assert asyncio.run(findings(**token))["status page"].state == "note"
    assert "status page" not in asyncio.run(findings(**token, OSHABERI_HEALTH_PORT="8080"))


# -- the command ---------------------------------------------------------------------------------


def test_the_command(
    folder: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OSHABERI_DATA_DIR", folder)
    assert cli.main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert "✓ settings: from OSHABERI_DATA_DIR\n" in out
    assert "✓ python: 3." in out
    assert "– token: none; the bot runs on the local stage\n    → set OSHABERI_DIS" in out
    assert out.endswith("no problems\n")


@pytest.mark.usefixtures("folder")
def test_the_command_with_broken_settings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "oshaberi.toml").write_text("hold_limit = 1")
    assert cli.main(["doctor", "--json"]) == 1
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert list(records[0]) == ["name", "state", "text", "advice"]
    assert records[0]["state"] == "bad"
    assert "hold_limit: 1 is not" in records[0]["text"]
    assert {"python", "bot", "fonts"} <= {record["name"] for record in records}
    assert cli.main(["doctor"]) == 1
    assert "✗ settings: hold_limit" in capsys.readouterr().out


@pytest.mark.usefixtures("folder")
def test_every_mistake_of_the_settings_has_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mistakes = ("hold_limit = 1", "notify = 1", "stage_port = 'x'", "qqq = 1")
    (tmp_path / "oshaberi.toml").write_text("\n".join(mistakes))
    assert cli.main(["doctor"]) == 1
    out = capsys.readouterr().out
    told = [line for line in out.splitlines() if line.startswith("✗ settings: ")]
    assert sorted(line.split()[2] for line in told) == [
        "hold_limit:",
        "notify:",
        "qqq:",
        "stage_port:",
    ]
    assert "more" not in "".join(told)
    assert all(line.endswith("(from oshaberi.toml)") for line in told)
    assert out.count("`oshaberi settings KEY` says what is allowed") == 1
    assert out.endswith("4 problems\n")
