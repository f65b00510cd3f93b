"""Runs any unmodified bot on a stage: `python -m discord_stage.bot_runner bot.py [args]`.

With `-m` the bot is a module: `python -m discord_stage.bot_runner -m my_bot [args]`.

The stage's address comes from the environment, and so does the bot's token (`DISCORD_TOKEN`, which
most bots read).
"""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path

URL_VARIABLE = "DISCORD_STAGE_URL"
TOKEN_VARIABLE = "DISCORD_TOKEN"


def environment(url: str, token: str) -> dict[str, str]:
    """Return the environment of the bot's process: ours, with the stage's URL and token."""
    return os.environ | {URL_VARIABLE: url, TOKEN_VARIABLE: token}


def main(arguments: list[str]) -> None:
    from discord_stage.discord_py_redirect import patch_discord

    with patch_discord(os.environ[URL_VARIABLE]):
        if arguments[0] == "-m":
            _run_module(arguments[1], arguments[2:])
        else:
            _run_script(Path(arguments[0]), arguments[1:])


def _run_script(script: Path, arguments: list[str]) -> None:
    sys.argv = [str(script), *arguments]
    sys.path.insert(0, str(script.parent))
    runpy.run_path(str(script), run_name="__main__")


def _run_module(name: str, arguments: list[str]) -> None:
    """Run a module as `python -m` does: from the working directory, with its file in `sys.argv`."""
    sys.argv = [name, *arguments]
    sys.path.insert(0, str(Path.cwd()))
    runpy.run_module(name, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(sys.argv[1:])
