"""The command `discord-stage`: runs any unmodified discord.py bot on a stage of its own."""

from __future__ import annotations

import argparse
import asyncio
import errno
import sys
from collections.abc import Sequence
from pathlib import Path

from discord_stage.bot_process import described_world, execute
from discord_stage.errors import StageError
from discord_stage.server import Stage

WRONG_USAGE = 2
LAST_PORT = 65_535


def main(given: Sequence[str] | None = None) -> int:
    """Run the command, and return the bot's exit status; 2 if it could not be started."""
    options = _parser().parse_args(given)
    if not options.is_module and not Path(options.bot).is_file():
        return _refused(f"{options.bot!r} does not exist")
    arguments = [*(["-m"] if options.is_module else []), options.bot, *options.args]
    try:
        world = described_world(options.world, options.permissions, options.token)
        return asyncio.run(execute(Stage(world, port=options.port), arguments, _tell))
    except StageError as error:
        return _refused(str(error))
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        return _refused(f"--port: {options.port} is in use; 0 takes any free port")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="discord-stage",
        description="Run a discord.py bot on a Discord of its own, on this machine, until it ends. "
        "You need not change the bot: DISCORD_TOKEN holds a token that the stage accepts.",
    )
    parser.add_argument("--port", type=_port, default=0, help="port of the stage; 0 takes any free")
    parser.add_argument("--world", type=Path, help="JSON file: guilds, channels and people")
    parser.add_argument("--permissions", help="what the bot may do, with commas between")
    parser.add_argument("--token", help="the token that the stage accepts; otherwise a new one")
    parser.add_argument("-m", dest="is_module", action="store_true", help="BOT is a module")
    parser.add_argument("bot", metavar="BOT", help="a Python script")
    parser.add_argument("args", metavar="ARGS", nargs=argparse.REMAINDER, help="for the script")
    return parser


def _port(text: str) -> int:
    number = int(text)
    if not 0 <= number <= LAST_PORT:
        raise argparse.ArgumentTypeError(f"{number} is not from 0 to {LAST_PORT}")
    return number


def _refused(why: str) -> int:
    _tell(f"discord-stage: {why}")
    return WRONG_USAGE


def _tell(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
