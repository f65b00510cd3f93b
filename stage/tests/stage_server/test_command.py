"""`discord-stage`: somebody's script in a process of its own, on a stage."""

from __future__ import annotations

import os
import pty
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from discord_stage.__main__ import main

COMMAND = [sys.executable, "-m", "discord_stage"]
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


@pytest.fixture
def bot(tmp_path: Path) -> str:
    path = tmp_path / "bot.py"
    path.write_text(BOT)
    return str(path)


def test_a_bot_runs_with_its_arguments_and_ends_with_its_status(bot: str) -> None:
    done = subprocess.run(
        [*COMMAND, bot, "--verbose", "x"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout == "here I am --verbose x\n"
    assert done.returncode == 3
    assert done.stderr.startswith("The stage is at http://127.0.0.1:")
    assert "/?token=" in done.stderr.splitlines()[0]


@contextmanager
def staying(bot: str, *before: str) -> Iterator[subprocess.Popen[str]]:
    """From the moment the bot is there. The pipe is closed when the last of both is gone."""
    with subprocess.Popen(
        [*before, *COMMAND, bot, "--stay"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "here I am --stay\n"
        yield process
        assert process.stdout.read() == ""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 3), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_signal_ends_both_with_the_status_of_the_bot(bot: str, number: int, status: int) -> None:
    with staying(bot) as process:
        process.send_signal(number)
        assert process.wait(60) == status


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
def test_nohup_keeps_the_signal_from_the_bot_too(bot: str) -> None:
    with staying(bot, "nohup") as process:
        (ignored,) = re.findall(r"SigIgn:\s*(\w+)", Path(f"/proc/{process.pid}/status").read_text())
        assert int(ignored, 16) & 1 << signal.SIGHUP - 1
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 143


def test_ctrl_c_on_a_terminal_reaches_the_bot_once(bot: str) -> None:
    """It is told by the terminal already."""
    ours, theirs = pty.openpty()
    in_front = "import os; os.setsid(); import fcntl, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0)"
    code = f"{in_front}; import sys; os.execv(sys.executable, sys.argv[1:])"
    with subprocess.Popen(
        [sys.executable, "-c", code, *COMMAND, bot, "--stay"],
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "here I am --stay\n"
        os.write(ours, b"\x03")
        assert process.stdout.read() == ""
        assert len(process.stderr.read().splitlines()) == 1
        assert process.wait(60) == 3
    os.close(theirs)
    os.close(ours)


def test_a_script_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["none.py"]) == 2
    err = capsys.readouterr().err
    assert "'none.py' does not exist" in err
    assert err.count("\n") == 1


@pytest.mark.slow
def test_what_the_stage_does_not_have_is_told(tmp_path: Path) -> None:
    path = tmp_path / "bot.py"
    asking = "await client.fetch_premium_sticker_packs()"
    lines = f"    for _ in range(2):\n        try: {asking}\n"
    lines += "        except discord.HTTPException: pass\n"
    path.write_text(BOT.replace("    channel =", f"{lines}    channel ="))
    done = subprocess.run([*COMMAND, str(path)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 3
    (told,) = done.stderr.splitlines()[1:]
    assert told == "The stage: missing route: GET /sticker-packs"


def test_without_discord_py_it_says_what_to_install(
    bot: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("discord_stage.bot_process.find_spec", lambda _name: None)
    assert main([bot]) == 2
    assert capsys.readouterr().err == (
        'discord-stage: discord.py is not installed: pip install "discord-stage[discord]"\n'
    )


def test_a_port_in_use(bot: str, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert main(["--port", str(port), bot]) == 2
    told = f"discord-stage: --port: {port} is in use; 0 takes any free port\n"
    assert capsys.readouterr().err == told


WORLD = """{"bot": {"name": "Helper"}, "guilds": [{"id": "100000000000000001", "name": "Mine",
"members": ["mika"], "channels": [{"name": "general", "id": "100000000000000002"}]}]}"""
TELLS = """
import os, warnings
warnings.simplefilter("ignore")
import discord
client = discord.Client(intents=discord.Intents.default(), guild_ready_timeout=0.1)
@client.event
async def on_ready():
    [guild] = client.guilds
    granted = guild.me.guild_permissions
    print(guild.id, guild.name, guild.channels[0].id, granted.kick_members, client.user.id)
    print(os.environ["DISCORD_TOKEN"], repr(__package__), flush=True)
    await client.close()
client.run(os.environ["DISCORD_TOKEN"], log_handler=None)
"""


def told(folder: Path, *arguments: str) -> list[str]:
    done = subprocess.run(
        [*COMMAND, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_a_world_permissions_and_a_token_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "world.json").write_text(WORLD)
    (tmp_path / "tells.py").write_text(TELLS)
    options = ("--world", "world.json", "--permissions", "kick_members", "--token", "secret")
    number, name, channel, kicks, bot_id, token, package = told(tmp_path, *options, "tells.py")
    assert (number, name, channel) == ("100000000000000001", "Mine", "100000000000000002")
    assert (kicks, token, package) == ("True", "secret", "''")
    # The ids that are not fixed are the same at every start, and a module runs like a script.
    (tmp_path / "my_bot").mkdir()
    (tmp_path / "my_bot" / "__main__.py").write_text(TELLS)
    again = told(tmp_path, "--world", "world.json", "-m", "my_bot")
    assert (again[4], again[3], again[6]) == (bot_id, "False", "'my_bot'")


@pytest.mark.parametrize(
    ("options", "world", "error"),
    [
        ((), "{", "--world: world.json cannot be read"),
        ((), "[]", "--world: world.json must hold an object"),
        ((), "{}", "world: describes no guild"),
        (("--permissions", "fly"), WORLD, "world: bot.permissions[0]: 'fly'"),
        ((), WORLD.replace('"100000000000000002"', '"x"'), "channels[0].id: 'x' is not an id"),
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
    status = main(["--world", "world.json", *options, "bot.py"])
    assert status == 2
    assert error in capsys.readouterr().err
