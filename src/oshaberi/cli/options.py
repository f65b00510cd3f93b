"""What several commands have in common: where the settings are, and reading them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from oshaberi.config import Settings

config_option = click.option(
    "--config",
    "config_file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Read settings from there, not from ./oshaberi.toml.",
)


def settings_of(config_file: Path | None) -> Settings:
    """The settings of this process, or a ConfigError of one line."""
    from oshaberi.config import load

    return load(config_file, os.environ)


def complete_file(
    _ctx: click.Context, _param: click.Parameter, incomplete: str
) -> list[CompletionItem[str]]:
    """The shell knows files best."""
    return [CompletionItem(incomplete, type="file")]
