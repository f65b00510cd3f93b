"""The options that several commands share: where the settings file is, and reading it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from oshaberi.config import LoadedSettings

config_option = click.option(
    "--config",
    "config_file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Read the settings from this file instead of ./oshaberi.toml.",
)


def settings_of(config_file: Path | None) -> LoadedSettings:
    """Load the settings of this process. Raises a one-line ConfigError."""
    from oshaberi.config import load

    return load(config_file, os.environ)


def whisper(line: str) -> None:
    """Write a line that is not the command's result: on stderr, dim on a terminal."""
    from oshaberi.terminal_output import TerminalPalette

    click.echo(TerminalPalette.of(sys.stderr).paint(line, "dim"), err=True)


def complete_file(
    _ctx: click.Context, _param: click.Parameter, incomplete: str
) -> list[CompletionItem[str]]:
    """Leave the completion of file names to the shell."""
    return [CompletionItem(incomplete, type="file")]
