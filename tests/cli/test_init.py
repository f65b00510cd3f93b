"""`oshaberi init`: token and model are tried, and what works is written down."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from discord_stage import Stage
from discord_stage.model_servers import ModelServer, OpenAIWire
from discord_stage.model_servers.scripts import Finish, Say
from oshaberi import cli
from oshaberi.bot.config import load
from oshaberi.bot.config.secrets_file import with_secrets
from oshaberi.cli.command_group import app
from oshaberi.errors import ConfigError

KEY = "sk-0123456789-secret"
HELLO = (Say("Hello to you all."),)
CHEAP = ("--yes", "--provider", "openai", "--model", "m")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder and an environment that is restored."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "environ", {"HOME": str(tmp_path), "PATH": os.environ["PATH"]})
    return tmp_path


def initialised(
    *options: str,
    answers: str = "",
    token: str | None = None,
    script: tuple[object, ...] = HELLO,
    world: Mapping[str, object] | None = None,
) -> Result:
    """Run it in a thread, beside a stage that plays Discord, and a model."""

    async def main() -> Result:
        async with Stage(world) as stage, ModelServer(OpenAIWire(), script) as server:  # type: ignore[arg-type]
            os.environ["DISCORD_STAGE_URL"] = stage.url
            if "--yes" in options:
                os.environ["OSHABERI_DISCORD_TOKEN"] = token or stage.token
            given = answers.replace("TOKEN", token or stage.token).replace("URL", server.url)
            said = [one.replace("URL", server.url) for one in options]
            return await asyncio.to_thread(CliRunner().invoke, app, ["init", *said], given)

    return asyncio.run(main())


def test_a_server_without_permissions_is_named() -> None:
    guild = {
        "name": "Tea House",
        "members": ["mika"],
        "channels": [{"name": "general"}],
        "everyone": [],
    }
    bot = {"name": "Mochi", "permissions": ["view_channel", "read_message_history"]}
    world = {"bot": bot, "guilds": [guild]}
    done = initialised(*CHEAP, "--base-url", "URL", world=world)
    assert done.exit_code == 0, done.output
    assert "✗ Tea House: it cannot answer without Send Messages" in done.output
    assert "– Tea House: it works without " in done.output


def test_without_a_question(folder: Path) -> None:
    done = initialised(*CHEAP, "--base-url", "URL")
    assert done.exit_code == 0, done.output
    assert "Discord accepts the token: " in done.output
    assert "it answers after" in done.output
    assert "“Hello to you all.”" in done.output
    secrets = folder / "oshaberi.env"
    assert stat.S_IMODE(secrets.stat().st_mode) == 0o600
    assert "OSHABERI_DISCORD_TOKEN=" in secrets.read_text()
    token = os.environ["OSHABERI_DISCORD_TOKEN"]
    assert token not in done.output + (folder / "oshaberi.toml").read_text()
    settings = load(folder / "oshaberi.toml", with_secrets(folder / "oshaberi.toml", {}))
    assert settings.discord_token == token
    assert settings.models[0].model == "m"
    assert settings.persona is not None


def test_with_questions_and_hidden_secrets(folder: Path) -> None:
    """Token, provider, key, model, persona."""
    answers = f"TOKEN\nopenai-chat\n{KEY}\nm\nTaro\n"
    done = initialised("--base-url", "URL", answers=answers)
    assert done.exit_code == 0, done.output
    assert KEY not in done.output
    file = folder / "oshaberi.toml"
    assert KEY not in file.read_text()
    environ = with_secrets(file, {})
    settings = load(file, environ)
    assert settings.models[0].keys(environ) == (KEY,)
    assert settings.persona is not None
    assert settings.persona.name == "Taro"


def test_what_is_off_is_named_with_its_switch() -> None:
    guild = {"name": "Tea", "members": ["mika"], "channels": [{"name": "general"}]}
    world = {"bot": {"name": "Mochi", "intents": ["members"]}, "guilds": [guild]}
    done = initialised(*CHEAP, "--base-url", "URL", world=world)
    assert done.exit_code == 0, done.output
    assert "Message Content is off: switch it on at https://discord.com/developers" in done.output


def test_a_file_that_exists_keeps_what_it_has(folder: Path) -> None:
    file = folder / "oshaberi.toml"
    own = 'notify = "first"  # mine\n\n[[models]]\nprovider = "groq"\nmodel = "own"\n'
    file.write_text(own)
    (folder / "oshaberi.env").write_text("MINE=kept\n")
    (folder / "oshaberi.env").chmod(0o600)
    done = initialised(*CHEAP, "--base-url", "URL", "--persona", 'A "b" \\ c')
    assert done.exit_code == 0, done.output
    assert file.read_text().startswith(own)
    settings = load(file, with_secrets(file, {}))
    assert [one.model for one in settings.models] == ["own"]
    assert settings.persona is not None
    assert settings.persona.name == 'A "b" \\ c'
    assert "MINE=kept" in (folder / "oshaberi.env").read_text()


REFUSED: tuple[tuple[tuple[str, ...], dict[str, object], str], ...] = (
    (("--base-url", "URL"), {"token": "wrong-token-wrong"}, "Discord refuses this token"),
    (("--base-url", "URL"), {"token": "two words"}, "this is not a bot token"),
    (("--base-url", "URL"), {"script": (Finish("stop"),)}, "the model sent an empty answer"),
    (("--base-url", "http://127.0.0.1:9"), {}, "nothing listens there"),
    (("--base-url", "ftp://x"), {}, "is not an address like"),
    (("--provider", "opnai"), {}, "did you mean 'openai'"),
    (("--provider", "azure"), {}, "--base-url is needed with --yes"),
    (("--provider", "groq"), {}, "GROQ_API_KEY is missing"),
)


@pytest.mark.parametrize(("options", "more", "told"), REFUSED)
def test_what_fails_writes_nothing(
    options: tuple[str, ...],
    more: dict[str, object],
    told: str,
    folder: Path,
) -> None:
    done = initialised(*CHEAP, *options, **more)  # type: ignore[arg-type]
    assert told in str(done.exception), done.output
    assert list(folder.glob("oshaberi.*")) == []


def test_the_status_is_that_of_bad_input(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["init", "--yes"]) == 2
    assert capsys.readouterr().err == (
        "oshaberi: OSHABERI_DISCORD_TOKEN is missing: set it, or leave out --yes\n"
    )


SECRETS: tuple[tuple[str, int, dict[str, str], str], ...] = (
    ("A=1\n# note\n\nB_2= x y \n", 0o600, {"A": "1", "B_2": "x y"}, ""),
    ("A=1", 0o644, {}, "others can read it"),
    ("nonsense", 0o600, {}, "line 1: write NAME=value"),
    ("A=1\nb=2", 0o600, {}, "line 2: write NAME=value"),
    ("A=" + "x" * 70_000, 0o600, {}, "is larger than"),
)


@pytest.mark.parametrize(("content", "mode", "found", "refusal"), SECRETS)
def test_the_file_of_secrets(
    content: str, mode: int, found: dict[str, str], refusal: str, folder: Path
) -> None:
    file = folder / "oshaberi.env"
    file.write_text(content)
    file.chmod(mode)
    if refusal:
        with pytest.raises(ConfigError, match=refusal):
            with_secrets(folder / "oshaberi.toml", {})
    else:
        settings = folder / "oshaberi.toml"
        assert with_secrets(settings, {}) == found
        assert with_secrets(settings, {"A": "mine", "B_2": ""})["A"] == "mine"
        assert with_secrets(settings, {"B_2": ""})["B_2"] == "x y"
