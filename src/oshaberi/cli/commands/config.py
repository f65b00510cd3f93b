"""`oshaberi config`: shows the settings in force, and where each of them comes from."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from oshaberi.cli.options import config_option, settings_of

if TYPE_CHECKING:
    from oshaberi.bot.config import LoadedSettings
    from oshaberi.terminal_output import TerminalPalette

LONGEST = 60


@click.group(short_help="Show the settings, and where each comes from.")
def command() -> None:
    """Look at the settings. The environment overrides oshaberi.toml, which overrides defaults.

    \b
    Example:
      oshaberi config show
    """


@command.command(short_help="Show every setting, its value and its origin.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@config_option
def show(as_json: bool, config_file: Path | None) -> None:
    """Print every setting with its current value and where it comes from. Secrets are masked.

    \b
    Examples:
      oshaberi config show
      OSHABERI_HUMANIZER_DEGREE=3 oshaberi config show | grep -v default
      oshaberi config show --json --config other.toml
    """
    from oshaberi.terminal_output import TerminalPalette

    settings = settings_of(config_file)
    if as_json:
        click.echo(json.dumps(settings.display_all(os.environ), ensure_ascii=False, indent=1))
    else:
        for line in _table(settings, TerminalPalette.of(sys.stdout)):
            click.echo(line)


def _table(settings: LoadedSettings, palette: TerminalPalette) -> list[str]:
    from oshaberi.bot.config.loaded import DEFAULT
    from oshaberi.terminal_output import harmless

    document = settings.display_all(os.environ)
    rows = [(key, _brief(one["value"]), str(one["from"])) for key, one in document.items()]
    keys, values = (max(len(row[at]) for row in rows) for at in (0, 1))
    lines = []
    for key, value, origin in rows:
        line = harmless(f"{key:<{keys}}  {value:<{values}}  {origin}")
        lines.append(palette.paint(line, "dim" if origin == DEFAULT else "bold"))
    return lines


def _brief(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = " ".join(text.split())
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
