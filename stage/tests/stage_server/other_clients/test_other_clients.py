"""The stage serves other libraries too: login, a message, a slash command, a button.

Each library is installed into an environment of its own; where that cannot be done, the test is
skipped and says why.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from discord_stage import Stage
from discord_stage.bot_runner import environment

HERE = Path(__file__).parent
INSTALL_S = 240
READY_S = 60.0
pytestmark = pytest.mark.slow


def _installed(*command: str, folder: Path) -> None:
    """Or skip, with the last line that the installer said."""
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=INSTALL_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        pytest.skip(f"{command[0]}: {error}")
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines() or ["it said nothing"]
        pytest.skip(f"{' '.join(command[-2:])} cannot be installed: {said[-1]}")


def python_bot(package: str, script: str) -> Callable[[Path], tuple[str, ...]]:
    def command(folder: Path) -> tuple[str, ...]:
        _installed(sys.executable, "-m", "venv", "env", folder=folder)
        python = folder / "env" / "bin" / "python"
        _installed(str(python), "-m", "pip", "install", "--quiet", package, folder=folder)
        return str(python), "-W", "ignore", str(HERE / script)

    return command


def node_bot(folder: Path) -> tuple[str, ...]:
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        pytest.skip("node and npm are not here")
    script = shutil.copy(HERE / "discordjs_bot.cjs", folder)
    (folder / "package.json").write_text("{}")
    _installed(npm, "install", "--no-audit", "--no-fund", "discord.js@14", folder=folder)
    return node, str(script)


BOTS = {
    "py-cord": python_bot("py-cord", "pycord_bot.py"),
    "disnake": python_bot("disnake", "disnake_bot.py"),
    "hikari": python_bot("hikari", "hikari_bot.py"),
    "discord.js": node_bot,
}


@asynccontextmanager
async def running(stage: Stage, command: tuple[str, ...], folder: Path) -> AsyncIterator[None]:
    """The bot in its process, without our own packages in its path."""
    clean = environment(stage.url, stage.token)
    clean.pop("PYTHONPATH", None)
    with (folder / "bot.txt").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            *command, cwd=folder, env=clean, stdout=log, stderr=log
        )
        try:
            yield
        finally:
            if process.returncode is None:
                process.terminate()
            await process.wait()


@pytest.mark.parametrize("library", BOTS)
def test_a_bot_of_another_library(library: str, tmp_path: Path) -> None:
    command = BOTS[library](tmp_path)

    async def play(stage: Stage) -> None:
        world, people = stage.world, stage.people

        async def says(text: str) -> None:
            await stage.wait_for(lambda: text in world.contents("general"), READY_S)

        await says("ready")
        asked = people.post("general", "!ping", user="mika")
        await says("pong")
        answer = world.history("general")[-1]
        assert answer.reference is not None
        assert answer.reference["message_id"] == str(asked.id)
        await stage.wait_for(lambda: world.commands, READY_S)
        people.run("add", {"first": 19, "second": 23}, channel="general", user="mika")
        await says("sum 42")
        people.post("general", "!button", user="mika")
        await says("press it")
        people.press(world.history("general")[-1], "Press", user="mika")
        await says("pressed")
        stage.check()

    async def main() -> None:
        async with Stage() as stage, running(stage, command, tmp_path):
            try:
                await play(stage)
            except Exception as error:
                log = (tmp_path / "bot.txt").read_text(errors="replace")[-4000:]
                raise AssertionError(f"{library}: {error}\n{log}{os.linesep}") from error

    asyncio.run(main())
