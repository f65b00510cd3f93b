"""`oshaberi doctor`: checks everything a bot needs, and says what to do about what is missing."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from oshaberi.cli.options import config_option, settings_of
from oshaberi.errors import ConfigError

if TYPE_CHECKING:
    from oshaberi.bot.config import LoadedSettings
    from oshaberi.cli.doctor_checks import Finding
    from oshaberi.terminal_output import TerminalPalette

SOMETHING_FAILS = 1
MARKS = {"good": ("✓", "name"), "note": ("–", "dim"), "bad": ("✗", "warn")}


@click.command(short_help="Check what the bot needs, and say what to do.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
@click.option("--offline", is_flag=True, help="Ask neither Discord nor the models.")
@config_option
def command(as_json: bool, offline: bool, config_file: Path | None) -> int:
    """Check everything that the bot needs, and say what to do about each problem.

    That is: Python, extras, fonts, settings, data folder, disk, database, Redis, token, intents,
    permissions in servers and channels, webhooks, the models and their keys, tool modules and MCP
    servers. The command asks Discord, makes one tiny call to every model, imports the modules and
    starts the MCP servers. It changes nothing.

    The status is 1 if something fails that the bot needs.

    \b
    Examples:
      oshaberi doctor
      oshaberi doctor --offline
      OSHABERI_DISCORD_TOKEN=… oshaberi doctor --json
    """
    return asyncio.run(_examine(as_json, offline, config_file))


async def _examine(as_json: bool, offline: bool, config_file: Path | None) -> int:
    from oshaberi.terminal_output import TerminalPalette

    palette = TerminalPalette.of(sys.stdout)
    logging.getLogger().addHandler(logging.NullHandler())  # what matters is a finding
    fails = 0
    async for finding in _findings(config_file, offline):
        fails += finding.state == "bad"
        if as_json:
            click.echo(json.dumps(finding.as_record(), ensure_ascii=False))
        else:
            for line in _lines(finding, palette):
                click.echo(line)
    if not as_json:
        click.echo(_sum(fails))
    return SOMETHING_FAILS if fails else 0


def _sum(fails: int) -> str:
    return f"{fails} problem{'s' if fails > 1 else ''}" if fails else "no problems"


async def _findings(config_file: Path | None, offline: bool) -> AsyncIterator[Finding]:
    """Yield the findings. With unusable settings, only this machine is checked."""
    from oshaberi.cli.doctor_checks import examine
    from oshaberi.cli.doctor_checks.finding import good, note

    settings: LoadedSettings | None = None
    try:
        settings = settings_of(config_file)
    except ConfigError as error:
        for finding in _mistakes(error):
            yield finding
    else:
        places = sorted(set(settings.origins.values()))
        yield good("settings", f"from {', '.join(places)}" if places else "all at their defaults")
        if settings.service_links:
            ignored = ", ".join(settings.service_links)
            text = f"ignored, because they describe a service: {ignored}"
            yield note("settings", text, "on Kubernetes set enableServiceLinks: false")
    async for finding in examine(settings, os.environ, offline=offline):
        yield finding


def _mistakes(error: ConfigError) -> list[Finding]:
    """Return a finding for each mistake. The last one has the advice, which is for all."""
    from oshaberi.bot.config.schema import SettingMistakesError
    from oshaberi.cli.doctor_checks.finding import bad

    *before, last = error.lines if isinstance(error, SettingMistakesError) else (str(error),)
    advice = "correct it: `oshaberi settings KEY` says what is allowed"
    return [*(bad("settings", line, "") for line in before), bad("settings", last, advice)]


def _lines(finding: Finding, palette: TerminalPalette) -> list[str]:
    from oshaberi.terminal_output import harmless

    mark, style = MARKS[finding.state]
    text = harmless(f"{finding.name}: {finding.text}")
    lines = [f"{palette.paint(mark, style)} {text}"]
    if finding.advice:
        lines.append(palette.paint(harmless(f"    → {finding.advice}"), "dim"))
    return lines
