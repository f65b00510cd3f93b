"""`oshaberi stage exec`: somebody's script in a process of its own, on a stage."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from oshaberi import cli

OSHABERI = [sys.executable, "-m", "oshaberi"]
BOT = """
import os, sys, warnings
warnings.simplefilter("ignore")
import discord
client = discord.Client(intents=discord.Intents.default(), guild_ready_timeout=0.1)
@client.event
async def on_ready():
    channel = discord.utils.get(client.get_all_channels(), name="general")
    message = await channel.send("here I am")
    print(message.content, *sys.argv[1:], flush=True)
    if "--stay" not in sys.argv:
        await client.close()
client.run(os.environ["DISCORD_TOKEN"], log_handler=None)
sys.exit(3)
"""
WORLD = """{"guilds": [{"name": "Mine", "members": ["mika"], "channels": ["general"]}]}"""


@pytest.fixture
def bot(tmp_path: Path) -> str:
    path = tmp_path / "bot.py"
    path.write_text(BOT)
    return str(path)


def test_a_bot_runs_with_its_arguments_and_ends_with_its_status(bot: str) -> None:
    done = subprocess.run(
        [*OSHABERI, "stage", "exec", bot, "--verbose", "x"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout == "here I am --verbose x\n"
    assert done.returncode == 3
    assert done.stderr.startswith("The stage is at http://127.0.0.1:")
    assert "/?token=" in done.stderr.splitlines()[0]


def test_a_script_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["stage", "exec", "none.py"]) == 2
    err = capsys.readouterr().err
    assert "'none.py' does not exist" in err
    assert err.count("\n") == 1


def test_a_port_in_use(bot: str, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert cli.main(["stage", "exec", "--port", str(port), bot]) == 2
    assert capsys.readouterr().err == f"oshaberi: --port: {port} is in use; 0 takes any free port\n"


def test_options_are_passed_on(bot: str, tmp_path: Path) -> None:
    (tmp_path / "world.json").write_text(WORLD)
    told = Path(bot).read_text().replace('"here I am"', 'os.environ["DISCORD_TOKEN"]')
    (tmp_path / "module_bot.py").write_text(told)
    options = ["--world", "world.json", "--token", "secret", "-m", "module_bot"]
    done = subprocess.run(
        [*OSHABERI, "stage", "exec", *options],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=tmp_path,
    )
    assert done.stdout == "secret\n", done.stderr


@pytest.mark.parametrize(
    ("options", "world", "error"),
    [
        ((), "{", "--world: world.json cannot be read"),
        ((), "[]", "--world: world.json must hold an object"),
        ((), "{}", "world: describes no guild"),
        (("--permissions", "fly"), WORLD, "world: bot.permissions[0]: 'fly'"),
    ],
)
def test_a_world_that_cannot_be_used(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    options: tuple[str, ...],
    world: str,
    error: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("world.json").write_text(world)
    Path("bot.py").write_text("")
    status = cli.main(["stage", "exec", "--world", "world.json", *options, "bot.py"])
    assert status == 2
    assert error in capsys.readouterr().err


def test_without_the_stage_it_says_what_to_install(
    bot: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "discord_stage", None)
    assert cli.main(["stage", "exec", bot]) == 2
    assert capsys.readouterr().err == (
        'oshaberi: the stage is not installed: pip install "oshaberi[local]" '
        "(in a checkout: pip install ./stage)\n"
    )
