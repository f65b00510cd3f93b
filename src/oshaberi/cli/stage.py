"""`oshaberi stage`: anybody's unmodified discord.py bot on a local Discord."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from oshaberi.stage import Stage

SCRIPT = click.Path(exists=True, dir_okay=False, path_type=Path)
PATIENCE_S = 5.0


@click.group(short_help="Run anybody's bot on a local Discord.")
def command() -> None:
    """A Discord on this machine, without an account: see docs/stage.md.

    \b
    Example:
      oshaberi stage exec my_bot.py
    """


@command.command(
    name="exec",
    short_help="Start a bot there.",
    context_settings={
        "ignore_unknown_options": True,
        "allow_interspersed_args": False,
    },
)
@click.option("--port", type=click.IntRange(0, 65_535), default=0, help="0 is any free port.")
@click.argument("bot", type=SCRIPT)
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def execute(bot: Path, args: tuple[str, ...], port: int) -> int:
    """Start BOT (a Python script, with its ARGS) on a stage of its own, until it ends.

    The script stays as it is: discord.py is pointed at the stage, and DISCORD_TOKEN
    holds a token that the stage knows. Ctrl-C ends both.

    \b
    Examples:
      oshaberi stage exec my_bot.py
      oshaberi stage exec --port 8420 my_bot.py --verbose
    """
    try:
        from oshaberi.stage import Stage
    except ImportError as missing:
        what = f'the stage needs {missing.name}: pip install "oshaberi[discord]"'
        raise click.ClickException(what) from None
    return asyncio.run(_execute(Stage(port=port), [str(bot), *args]))


async def _execute(stage: Stage, arguments: list[str]) -> int:
    from oshaberi.stage.runner import environment

    async with stage:
        click.echo(f"The stage is at {stage.page_url}", err=True)
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "oshaberi.stage.runner", *arguments),
            env=environment(stage.url, stage.token),
        )
        try:
            return await process.wait()
        finally:
            await _end(process)


async def _end(process: asyncio.subprocess.Process) -> None:
    """Ours is over; the bot gets a moment to say good-bye."""
    if process.returncode is not None:
        return
    process.terminate()
    try:
        await asyncio.wait_for(process.wait(), PATIENCE_S)
    except TimeoutError:
        process.kill()
        await process.wait()
