"""*Put it on Discord*: a second stage plays Discord, while the bot's own stage stays."""

from __future__ import annotations

import asyncio
import stat
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from discord_stage import Stage
from discord_stage.discord_py_redirect import patch_discord
from discord_stage.errors import RefusedFieldError, StageError
from discord_stage.model_servers import ModelServer, OpenAIWire
from discord_stage.model_servers.scripts import Say
from oshaberi.bot.config import load
from oshaberi.bot.config.going_live import NEEDED, LiveModel, joined_server, write_settings
from oshaberi.bot.local_run import live_bot
from oshaberi.bot.local_run.live_bot import LiveBot, code_of

KEY = "sk-live-0123456789"
Scenario = Callable[[LiveBot, Stage, Path], Awaitable[None]]


def beside_a_stage(folder: Path, scenario: Scenario, *, has_model: bool = True) -> None:
    """Run it with discord.py pointed at one stage, and another stage as Discord."""

    async def main() -> None:
        async with (
            Stage() as here,
            Stage() as discord,
            ModelServer(OpenAIWire(), (Say("Hello from Discord."),)) as server,
        ):
            environ = {
                "HOME": str(folder),
                "OSHABERI_DATA_DIR": str(folder / "data"),
                "OSHABERI_BURST_WAIT_MS": "0",
                "DISCORD_STAGE_URL": discord.url,
            }
            settings = load(None, environ)
            model = LiveModel("openai", "m", server.url, KEY) if has_model else None
            live = LiveBot(settings, environ, lambda: model)
            with patch_discord(here):
                try:
                    await scenario(live, discord, folder)
                finally:
                    await live.close()
            assert here.requests == [], "nothing of it went to the bot's own stage"

    asyncio.run(main())


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_from_a_token_to_an_answer(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(live: LiveBot, discord: Stage, folder: Path) -> None:
        checked = await live.act({"token": discord.token})
        account = checked["account"]
        assert account["intents_link"] == ""
        assert "client_id=" in account["invitation"]
        assert account["code"]["width"] > 20
        assert not (folder / "oshaberi.env").exists(), "a look writes nothing"
        state = await live.act({"token": discord.token, "start": True})
        assert state["state"] == "running", state
        bot = discord.world.bot
        discord.people.post("general", f"<@{bot.id}> hi")
        await discord.wait_for(lambda: "Hello from Discord." in str(discord.world.messages))
        with pytest.raises(StageError, match="on Discord already"):
            await live.act({"token": discord.token})
        written = (folder / "oshaberi.toml").read_text()
        assert 'model = "m"' in written
        secrets = folder / "oshaberi.env"
        assert stat.S_IMODE(secrets.stat().st_mode) == 0o600
        for secret in (discord.token, KEY):
            assert secret in secrets.read_text()
            assert secret not in written + str(checked) + str(state) + str(live.read({}))
            assert secret not in caplog.text

    beside_a_stage(tmp_path, scenario)


def test_of_two_clicks_one_starts_a_bot(tmp_path: Path) -> None:
    async def scenario(live: LiveBot, discord: Stage, _folder: Path) -> None:
        start = {"token": discord.token, "start": True}
        told = await asyncio.gather(live.act(start), live.act(start), return_exceptions=True)
        [refused] = [one for one in told if isinstance(one, Exception)]
        assert "on Discord already" in str(refused)

    beside_a_stage(tmp_path, scenario)


@pytest.mark.parametrize("moment", ["before it is ready", "while it runs"])
def test_a_fault_is_not_a_start_that_never_ends(
    moment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    fall = asyncio.Event()

    @asynccontextmanager
    async def falling(
        _settings: object, _environ: object, on_ready: Callable[[], None]
    ) -> AsyncIterator[asyncio.Task[None]]:
        if moment == "while it runs":
            on_ready()
            yield asyncio.create_task(fall.wait())  # type: ignore[arg-type]
        raise RuntimeError("a mistake of ours")

    monkeypatch.setattr(live_bot, "running_bot", falling)

    async def scenario(live: LiveBot, discord: Stage, _folder: Path) -> None:
        start = {"token": discord.token, "start": True}
        state = await live.act(start)
        fall.set()
        while state["state"] == "running":
            await asyncio.sleep(0)
            state = live.read({})
        assert (state["state"], "the log says more" in state["why"]) == ("failed", True)
        await asyncio.sleep(0)
        assert "RuntimeError: a mistake of ours" in caplog.text
        again = await live.act(start)
        assert again["state"] in ("running", "failed"), "it can be started again"

    beside_a_stage(tmp_path, scenario)


def test_missing_permissions_are_named_by_server(tmp_path: Path) -> None:
    async def scenario(live: LiveBot, discord: Stage, _folder: Path) -> None:
        account = (await live.act({"token": discord.token}))["account"]
        assert (account["servers"], account["ailing"]) == (1, [])
        (guild,) = discord.world.guilds.values()
        for role in guild.roles.values():
            role.permissions = NEEDED["View Channels"]
        account = (await live.act({"token": discord.token}))["account"]
        (ailing,) = account["ailing"]
        assert ailing["name"] == guild.name
        assert ailing["needed"] == ("Send Messages", "Read Message History")
        assert "Manage Webhooks" in ailing["wanted"]

    beside_a_stage(tmp_path, scenario)


@pytest.mark.parametrize(
    ("permissions", "lacks"),
    [(None, False), ("x", False), ("9" * 40, False), ("8", False), (1024, False), ("0", True)],
)
def test_what_a_server_says_of_permissions_is_not_trusted(permissions: object, lacks: bool) -> None:
    found = joined_server({"name": "Home", "permissions": permissions})
    assert bool(found.needed) is lacks


def test_a_link_to_a_settings_file_stays_a_link(tmp_path: Path) -> None:
    real = tmp_path / "elsewhere" / "settings.toml"
    link = tmp_path / "oshaberi.toml"
    link.symlink_to(real)
    for name in ("m", "n"):
        write_settings(link, "a-token", LiveModel("openai", name, None, "key"))
    assert link.is_symlink()
    assert 'model = "m"' in real.read_text()
    assert [one.name for one in real.parent.iterdir()] == ["settings.toml"]


def test_a_settings_file_stays_as_private_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "oshaberi.toml"
    file.write_text("")
    file.chmod(0o600)
    write_settings(file, "a-token", LiveModel("openai", "m", None, "key"))
    assert "[[models]]" in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_what_is_wrong_is_said_at_its_field(tmp_path: Path) -> None:
    async def scenario(live: LiveBot, discord: Stage, folder: Path) -> None:
        for token, told in (
            ("", "the token is missing"),
            ("two words", "this is not a bot token"),
            ("wrong-token-wrong", "Discord refuses this token"),
        ):
            with pytest.raises(RefusedFieldError, match=told) as refused:
                await live.act({"token": token, "start": True})
            assert refused.value.field == "token"
        with pytest.raises(RefusedFieldError, match="connect a model first"):
            await live.act({"token": discord.token, "start": True})
        assert live.read({})["state"] == "off"
        assert list(folder.glob("oshaberi.*")) == []

    beside_a_stage(tmp_path, scenario, has_model=False)


def test_the_code_has_a_quiet_border_and_corners() -> None:
    drawn = code_of("https://discord.com/oauth2/authorize?client_id=1")
    assert drawn is not None
    assert "M4 4h1v1h-1z" in drawn["path"]
    assert f"M{drawn['width'] - 5} 4h1v1h-1z" in drawn["path"]
    assert "M3 " not in drawn["path"]
