"""The bot as a process of its own, on a stage that somebody else runs.

Says `READY` when it has taken up what an earlier process left behind.
"""

from __future__ import annotations

import asyncio
import os
import sys

from discord_stage.bot_runner import URL_VARIABLE
from discord_stage.discord_py_redirect import patch_discord
from oshaberi.bot.config import load
from oshaberi.bot.logs import setup
from oshaberi.bot.wiring.bot_wiring import run


def main() -> None:
    settings = load(None, os.environ)
    setup(settings.log_level, settings.log_format)

    def ready() -> None:
        sys.stdout.write("READY\n")
        sys.stdout.flush()

    with patch_discord(os.environ[URL_VARIABLE]):
        asyncio.run(run(settings, os.environ, on_ready=ready, guild_ready_timeout=0.1))


if __name__ == "__main__":
    main()
