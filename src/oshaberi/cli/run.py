"""`oshaberi run`: until there is a Discord side, a built-in answer in the terminal."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import click

from oshaberi import demo
from oshaberi.stream.context import StreamContext
from oshaberi.stream.orchestrator import stream_to_sink
from oshaberi.stream.provider import Provider, ScriptedProvider
from oshaberi.stream.result import StreamResult
from oshaberi.terminal import Palette, TerminalSink

TOKEN = "OSHABERI_DISCORD_TOKEN"
SPEED = click.FloatRange(0.1, 100)
FOLDER = click.Path(file_okay=False, path_type=Path)


@click.command(short_help="Watch the bot speak.")
@click.option("--speed", type=SPEED, default=1.0, show_default=True, help="2 is twice as fast.")
@click.option("--record", type=FOLDER, metavar="DIR", help="Save the stream there, as a scene.")
def command(speed: float, record: Path | None) -> None:
    """Watch one answer arrive, typed as a person would.

    The Discord side and the stage in the browser come later: this plays a built-in
    text through the text engine, the orchestrator and the delivery, in this terminal.

    \b
    Examples:
      oshaberi run
      oshaberi run --speed 4
      oshaberi run --record scenes
    """
    palette = Palette.of(sys.stdout)
    if os.environ.get(TOKEN):
        click.echo(f"oshaberi: {TOKEN} is set, but Discord is not built yet", err=True)
    click.echo(palette.paint("you", "bold"))
    click.echo(f"  {demo.QUESTION}\n")
    result = asyncio.run(_perform(speed, record))
    click.echo()
    for line in _summary(result):
        click.echo(palette.paint(line, "dim"))


async def _perform(speed: float, record: Path | None) -> StreamResult:
    sink = TerminalSink(sys.stdout, demo.MOCHI.name)
    config = demo.config(speed)
    provider: Provider = ScriptedProvider(demo.crumbs(speed))
    if record:
        from oshaberi.recording import record_into

        provider = record_into(record, provider, channel="terminal", config=config)
    try:
        return await stream_to_sink(provider, None, config, StreamContext(), sink)
    finally:
        sink.clear()


def _summary(result: StreamResult) -> list[str]:
    numbers = result.metrics
    seconds = f"{numbers.duration_ms / 1000:.0f} s"
    thoughts = len(result.thought_log.texts)
    return [
        f"{numbers.messages} messages from {numbers.chunks} pieces in {seconds}; "
        f"thoughts kept back: {thoughts}; text lost: {len(result.undelivered)} characters.",
        "Discord and the browser stage come later. This is the engine and the delivery at work.",
    ]
