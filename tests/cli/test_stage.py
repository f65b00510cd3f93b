"""`oshaberi stage exec`: somebody's script in a process of its own, on a stage."""

from __future__ import annotations

import signal
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


def test_ctrl_c_ends_both(bot: str) -> None:
    with subprocess.Popen(
        [*OSHABERI, "stage", "exec", bot, "--stay"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "here I am --stay\n"
        process.send_signal(signal.SIGINT)
        # The pipe is closed when the last of them is gone.
        assert process.stdout.read() == ""
        assert process.wait(60) == 130


def test_a_script_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["stage", "exec", "none.py"]) == 2
    err = capsys.readouterr().err
    assert "'none.py' does not exist" in err
    assert err.count("\n") == 1
