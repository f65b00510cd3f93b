"""Runs anybody's unmodified bot on a stage: `python -m oshaberi.stage.bot_runner bot.py [args]`.

The stage's address comes from the environment, and the bot finds its token where it looks anyway.
"""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path

URL_VARIABLE = "OSHABERI_STAGE_URL"
TOKEN_VARIABLE = "DISCORD_TOKEN"


def environment(url: str, token: str) -> dict[str, str]:
    """What a bot's process needs to know, on top of ours."""
    return os.environ | {URL_VARIABLE: url, TOKEN_VARIABLE: token}


def main(arguments: list[str]) -> None:
    from oshaberi.stage.discord_patch import patch_discord

    script = Path(arguments[0])
    sys.argv = [str(script), *arguments[1:]]
    sys.path.insert(0, str(script.parent))
    with patch_discord(os.environ[URL_VARIABLE]):
        runpy.run_path(str(script), run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
