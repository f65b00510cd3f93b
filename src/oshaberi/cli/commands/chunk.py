"""`oshaberi chunk`: text in, messages out (steps 05-07a). Starts fast: the text engine alone."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import Any

import click

from oshaberi import Details, Event, Message, SpeakerStop, Table, TextEngine, Thought, Withheld
from oshaberi.cli.options import STDIN, complete_file, pieces_of, set_option, text_config, whisper

SEPARATOR = "---8<---"
KINDS = {
    Message: "message",
    Table: "table",
    Thought: "thought",
    Details: "details",
    SpeakerStop: "speaker_stop",
    Withheld: "withheld",
}


@click.command(short_help="Cut text into Discord messages.")
@click.argument("file", default=STDIN, shell_complete=complete_file)
@click.option(
    "--degree", type=click.IntRange(0, 3), help="0 one answer, 1-2 by line, 3 by sentence."
)
@click.option("--json", "as_json", is_flag=True, help="One event per line, with all its fields.")
@set_option
def command(file: str, degree: int | None, as_json: bool, settings: tuple[str, ...]) -> None:
    """Cut text into Discord messages: from FILE, a pipe or the keyboard.

    Each message appears as soon as it is complete. A line `---8<---` separates two
    messages (on a terminal, a numbered rule). --json also shows what was taken out.

    \b
    Examples:
      oshaberi chunk answer.md
      my-model | oshaberi chunk --degree 3 --json
      oshaberi chunk --set hold_limit=200 --set paragraph_mode=lines answer.md
    """
    engine = TextEngine(text_config(settings, degree))
    show = _show_json if as_json else _Plain(sys.stdout.isatty()).show
    for piece in pieces_of(file):
        _show_all(engine.feed(piece), show)
    _show_all(engine.finish(), show)


def _show_all(events: Iterable[Event], show: Callable[[Event], None]) -> None:
    for event in events:
        show(event)
    sys.stdout.flush()


def as_record(event: Event) -> dict[str, Any]:
    """Return an event as a line of `--json`."""
    return {"kind": KINDS[type(event)], **asdict(event)}


def _show_json(event: Event) -> None:
    sys.stdout.write(json.dumps(as_record(event), ensure_ascii=False) + "\n")


class _Plain:
    """Prints messages and tables for a reader. What was removed is only in the JSON."""

    def __init__(self, terminal: bool) -> None:
        self._terminal = terminal
        self._count = 0

    def show(self, event: Event) -> None:
        if isinstance(event, SpeakerStop):
            whisper(f"stopped: the text goes on as somebody else, {event.label!r}")
        elif isinstance(event, Message | Table):
            self._separate(event)
            text = event.source if isinstance(event, Table) else event.text
            sys.stdout.write(self._safe(text) + "\n")

    def _safe(self, text: str) -> str:
        if not self._terminal:
            return text
        from oshaberi.terminal_output import harmless

        return harmless(text)

    def _rule(self, text: str) -> str:
        from oshaberi.terminal_output import TerminalPalette

        return TerminalPalette.of(sys.stdout).paint(text, "dim")

    def _separate(self, event: Message | Table) -> None:
        self._count += 1
        if self._terminal:
            name = f" {event.identity.username}" if event.identity else ""
            sys.stdout.write(self._rule(f"── {self._count}{self._safe(name)} ──") + "\n")
        elif self._count > 1:
            sys.stdout.write(SEPARATOR + "\n")
