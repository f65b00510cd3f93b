"""`oshaberi explain`: why a scene became these messages, decision by decision."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from oshaberi.chunks import Chunk
from oshaberi.cli.commands.replay import keep_quiet
from oshaberi.cli.options import complete_file
from oshaberi.cli.replay_output import Transcript
from oshaberi.delivery.ledger import DELIVERED
from oshaberi.inspector.decisions import (
    DEGREES,
    STATUS,
    STOPS,
    describe_fate,
    numbered,
    quoted,
    tell,
)
from oshaberi.inspector.engine_recorder import EngineRecorder
from oshaberi.scenes import Scene, load_scene
from oshaberi.scenes.playback import PlayedScene, perform
from oshaberi.stream.result import StreamResult
from oshaberi.terminal_output import TerminalPalette, counted
from oshaberi.text.config import TextConfig

_LONGEST_LINE = 240


@click.command(short_help="Explain why a scene became these messages.")
@click.argument("scene", shell_complete=complete_file)
def command(scene: str) -> None:
    """Show every decision about SCENE (a file, or -) in order, and what was sent when.

    \b
    Example:
      oshaberi explain tests/scenes/hold-paren-over-newline.json
    """
    keep_quiet()
    for line in explained(load_scene(scene), TerminalPalette.of(sys.stdout)):
        click.echo(line.rstrip())


def explained(scene: Scene, palette: TerminalPalette) -> Iterator[str]:
    """Yield the explanation, line by line."""
    observers: list[EngineRecorder] = []

    def observed(config: TextConfig, carried: Any) -> EngineRecorder:
        observers.append(EngineRecorder(config, carried))
        return observers[-1]

    played = perform(scene, make_engine=observed)
    yield palette.paint(scene.name, "bold")
    yield _opening(scene)
    yield ""
    yield palette.paint("What the text engine decided", "bold")
    yield from _decisions(observers)
    yield ""
    yield palette.paint("What happened in the channel", "bold")
    yield from _channel(played, palette)
    yield ""
    yield palette.paint("How it ended", "bold")
    yield from (f"  {line}" for line in _ending(played.result))


def _opening(scene: Scene) -> str:
    pieces = sum(isinstance(step, Chunk) and bool(step.content) for step in scene.steps)
    degree = scene.config.text.humanizer_degree
    cut = "one piece" if pieces == 1 else counted(pieces, "piece")
    return f"{counted(len(scene.text), 'character')} in {cut}; degree {degree}: {DEGREES[degree]}."


def _decisions(observers: Sequence[EngineRecorder]) -> Iterator[str]:
    steps = [step for observer in observers for step in tell(observer.entries)]
    yield from numbered(steps) if steps else ["  Nothing: the model sent no text."]


def _channel(played: PlayedScene, palette: TerminalPalette) -> Iterator[str]:
    transcript = Transcript(palette)
    if not played.records:
        yield "  Nothing."
    for record in played.records:
        for line in transcript.lines(record):
            yield line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]} …"


def _ending(result: StreamResult) -> Iterator[str]:
    because = f" {STOPS[result.stop_reason]}" if result.stop_reason else ""
    yield STATUS[result.status] + because
    for entry in result.ledger.entries:
        if entry.expected and entry.fate != DELIVERED:
            yield f"{quoted(entry.text)} was not delivered: {describe_fate(entry.fate)}."
    yield _books(result.ledger.sums())


def _books(sums: Mapping[str, int]) -> str:
    """Say what happened to every character."""
    if not sums:
        return "There was no visible text to account for."
    kept = [f"{count} ({describe_fate(fate)})" for fate, count in sums.items() if fate != DELIVERED]
    delivered = counted(sums.get(DELIVERED, 0), "character")
    rest = f"Kept back: {', '.join(kept)}." if kept else "Nothing was kept back."
    return f"{delivered} delivered. {rest}"
