"""`oshaberi stage`: runs any unmodified discord.py bot on a local Discord."""

from __future__ import annotations

import asyncio
import errno
from pathlib import Path

import click

SCRIPT = click.Path(exists=True, dir_okay=False, path_type=Path)
INSTALL = 'pip install "oshaberi[local]" (in a checkout: pip install ./stage)'


@click.group(short_help="Run any discord.py bot on a local Discord.")
def command() -> None:
    """Use a Discord on this machine, without an account: see docs/stage.md.

    \b
    Example:
      oshaberi stage exec my_bot.py
    """


@command.command(
    name="exec",
    short_help="Start a bot on a stage.",
    context_settings={
        "ignore_unknown_options": True,
        "allow_interspersed_args": False,
    },
)
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=0,
    help="Port of the stage; 0 takes any free one.",
)
@click.option(
    "--world",
    "world_file",
    type=SCRIPT,
    help="JSON file that describes guilds, channels and people.",
)
@click.option(
    "--permissions",
    help='What the bot may do: names with commas between, such as "administrator".',
)
@click.option("--token", help="The token that the stage accepts; otherwise a new one.")
@click.option("-m", "is_module", is_flag=True, help="BOT is a module, as with python -m.")
@click.argument("bot")
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def run_bot(
    bot: str,
    args: tuple[str, ...],
    port: int,
    world_file: Path | None,
    permissions: str | None,
    token: str | None,
    is_module: bool,
) -> int:
    """Start BOT (a Python script, with its ARGS) on a stage of its own, until it ends.

    You need not change the script: discord.py connects to the stage, and DISCORD_TOKEN
    holds a token that the stage accepts. Signals are passed on to the bot, and its exit
    status is the status of this command.

    \b
    Examples:
      oshaberi stage exec my_bot.py
      oshaberi stage exec --port 8420 my_bot.py --verbose
      oshaberi stage exec --world world.json --permissions administrator -m my_bot
    """
    if not is_module and not Path(bot).is_file():
        raise click.BadParameter(f"File {bot!r} does not exist.", param_hint="'BOT'")
    try:
        from discord_stage import Stage, StageError
        from discord_stage.bot_process import described_world, execute
    except ImportError:
        raise click.ClickException(f"the stage is not installed: {INSTALL}") from None
    arguments = [*(["-m"] if is_module else []), bot, *args]
    try:
        world = described_world(world_file, permissions, token)
        return asyncio.run(execute(Stage(world, port=port), arguments, _tell))
    except StageError as error:
        raise click.UsageError(str(error)) from None
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        raise click.ClickException(f"--port: {port} is in use; 0 takes any free port") from None


def _tell(line: str) -> None:
    click.echo(line, err=True)
