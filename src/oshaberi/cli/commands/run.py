"""`oshaberi run`: runs the bot, on Discord with a token, else on the local stage."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import sys
import webbrowser
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from oshaberi.bot.wiring.shutdown_signals import HardEnd, ShutdownSignals
from oshaberi.cli.options import config_option, take_secrets
from oshaberi.errors import ConfigError
from oshaberi.terminal_output import TerminalPalette

if TYPE_CHECKING:
    from oshaberi.bot.config import LoadedSettings
    from oshaberi.stream.observers import StreamObserver

log = logging.getLogger(__name__)

TOKEN = "OSHABERI_DISCORD_TOKEN"
OTHER_NAMES = ("DISCORD_TOKEN", "DISCORD_BOT_TOKEN", "BOT_TOKEN")
"""What other bots call it."""
SPEED = click.FloatRange(0.1, 100)
PORT = click.IntRange(0, 65_535)
FOLDER = click.Path(file_okay=False, path_type=Path)
GARBAGE_THRESHOLDS = (50_000, 10, 10)
"""Every running stream always has a few new objects, so a collection that comes more often is not
much shorter: with 2500 streams one took 57 ms after 10 000 new objects, 94 ms after 50 000."""


@click.command(short_help="Run the bot, on Discord or on the local stage.")
@config_option
@click.option(
    "--discord", "only_discord", is_flag=True, help="Never the stage: without a token, end with 78."
)
@click.option("--port", type=PORT, help="Port of the local stage; 0 takes any free one.")
@click.option(
    "--speed", type=SPEED, default=1.0, show_default=True, help="Speed of the demo model."
)
@click.option("--fresh", is_flag=True, help="Forget what was written on the local stage before.")
@click.option(
    "--record", type=FOLDER, metavar="DIR", help="Save every stream in this folder, as a scene."
)
@click.option(
    "--browser/--no-browser", default=None, help="Open the page. Default: if there is a desktop."
)
def command(
    config_file: Path | None,
    only_discord: bool,
    port: int | None,
    speed: float,
    fresh: bool,
    record: Path | None,
    browser: bool | None,
) -> None:
    """Run the bot until Ctrl-C.

    With a Discord token (`discord_token` in oshaberi.toml, or OSHABERI_DISCORD_TOKEN) it runs on
    Discord. Without one it starts the local stage: a Discord on this machine, with a page to chat
    in and a demo model. You need no account and no keys. A service that must be on Discord has
    --discord: it does not start without a token.

    \b
    Examples:
      oshaberi run
      oshaberi run --port 0 --speed 4 --no-browser
      OSHABERI_DISCORD_TOKEN=... oshaberi run --discord --record scenes
    """
    with ShutdownSignals(HardEnd()) as signals:
        settings = _settings(config_file, port)
        if only_discord:
            _need_token(settings)
        observers = _observers(record, settings)
        if fresh and settings.discord_token is not None:
            raise click.UsageError("--fresh is for the local stage, but there is a Discord token")
        if settings.discord_token is not None:
            work = _on_discord(settings, observers, signals)
        else:
            work = _on_stage(settings, observers, signals, speed, browser, fresh)
        asyncio.run(signals.over(work))


def _on_discord(
    settings: LoadedSettings, observers: Sequence[StreamObserver], signals: ShutdownSignals
) -> Coroutine[Any, Any, None]:
    from oshaberi.bot.wiring.bot_wiring import run

    def on_ready() -> None:
        _announce_on_discord()
        _warn_of_missing_keys(settings)

    _say("Connecting to Discord. Press Ctrl-C to end.")
    return run(settings, os.environ, observers=observers, on_ready=on_ready, signals=signals)


def _on_stage(
    settings: LoadedSettings,
    observers: Sequence[StreamObserver],
    signals: ShutdownSignals,
    speed: float,
    browser: bool | None,
    fresh: bool,
) -> Coroutine[Any, Any, None]:
    _warn_of_other_names()
    if sys.stdout.isatty():
        _say("Starting …")
    try:
        from oshaberi.bot.local_run.startup import perform
    except ModuleNotFoundError as error:
        raise ConfigError(_missing(error)) from None

    wanted = _has_desktop() if browser is None else browser

    def on_ready(address: str) -> None:
        _announce_on_stage(address, settings.data_dir if wanted else None)
        _warn_of_missing_keys(settings)

    return perform(
        settings,
        os.environ,
        speed=speed,
        observers=observers,
        on_ready=on_ready,
        signals=signals,
        fresh=fresh,
    )


def _missing(error: ModuleNotFoundError) -> str:
    """Return what to install, or to set, if the local stage cannot be loaded."""
    if error.name != "discord_stage":
        return f'the local stage needs {error.name}: pip install "oshaberi[bot,local,openai]"'
    return (
        f"there is no Discord token, and the local stage is not installed: set {TOKEN}, or: "
        'pip install "oshaberi[local]" (in a checkout: pip install ./stage)'
    )


def _settings(config: Path | None, port: int | None) -> LoadedSettings:
    try:
        from oshaberi.bot.config import load
        from oshaberi.bot.logs import setup

        if os.environ.get("OSHABERI_LOG_FORMAT", "").strip().lower() == "json":
            setup(form="json")  # what is wrong with the settings is a line of JSON too
        take_secrets(config)
        settings = load(config, os.environ)
    except ModuleNotFoundError as error:
        needs = 'pip install "oshaberi[bot,openai]"'
        raise ConfigError(f"the bot needs {error.name}: {needs}") from None
    setup(settings.log_level, settings.log_format, secrets=settings.secrets(os.environ))
    if settings.service_links:
        log.warning(
            "ignored, because they describe a service and are no settings: %s; Kubernetes does not "
            "set them with enableServiceLinks: false",
            ", ".join(settings.service_links),
        )
    _make_folder(settings)
    return settings if port is None else replace(settings, stage_port=port)


def _warn_of_missing_keys(settings: LoadedSettings) -> None:
    """Say when the bot is ready what would otherwise be found out at the first question."""
    for entry in settings.models:
        variable = entry.missing_key(os.environ)
        if variable is not None:
            log.warning("model %s %s has no API key: set %s", entry.provider, entry.model, variable)
    if settings.discord_token is not None and not settings.models:
        log.warning(
            "the settings have no model: only servers that chose one with /model are answered; "
            "`oshaberi doctor` says more"
        )


def _need_token(settings: LoadedSettings) -> None:
    """Raise ConfigError if there is no token. An empty variable counts as not set."""
    if settings.discord_token is not None:
        return
    others = _other_names()
    if others:
        problem = f"is missing: {others[0]} is set, but the bot reads {TOKEN}"
    elif TOKEN in os.environ:
        problem = f"is empty (from {TOKEN})"
    else:
        problem = f"is missing; set {TOKEN}, or run without --discord to use the local stage"
    raise ConfigError(f"discord_token: {problem}")


def _other_names() -> list[str]:
    return [name for name in OTHER_NAMES if os.environ.get(name, "").strip()]


def _warn_of_other_names() -> None:
    for name in _other_names():
        log.warning("%s is set, but the bot reads %s: it runs on the local stage", name, TOKEN)


def _make_folder(settings: LoadedSettings) -> None:
    """Make the folder for the database and the key file, if they are kept there."""
    kept_here = f"sqlite:///{settings.data_dir}" in settings.database_url
    if not kept_here and settings.secret_key_file.parent != settings.data_dir:
        return
    try:
        settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        where = "set OSHABERI_DATA_DIR to a folder that you may write to"
        raise ConfigError(
            f"data_dir: {settings.data_dir} cannot be created: {error.strerror}; {where}"
        ) from None


def _observers(record: Path | None, settings: LoadedSettings) -> Sequence[StreamObserver]:
    if record is None:
        return ()
    from oshaberi.recording.scene_writing import RecordingObserver

    return (RecordingObserver(record, settings.secrets(os.environ)),)


def _announce_on_discord() -> None:
    _say("The bot is on Discord and answers messages.")
    _spare_what_is_loaded()


def _announce_on_stage(address: str, browser_folder: Path | None) -> None:
    """Print the stage's address. With a `browser_folder`, open it in a browser."""
    if _logs_json():
        log.info("Oshaberi runs on the local stage: %s", address)
    else:
        _print_address(address)
    if browser_folder is not None:
        _open_browser(address, browser_folder)
    _spare_what_is_loaded()


def _print_address(address: str) -> None:
    palette = TerminalPalette.of(sys.stdout)
    click.echo(f"\n  {palette.paint('Oshaberi', 'bold')} runs on the local stage:\n")
    click.echo(f"  {palette.paint(address, 'bold')}\n")
    click.echo(
        palette.paint(
            "  Open this address in your browser and say hello. Press Ctrl-C to end.", "dim"
        )
    )


def _say(line: str) -> None:
    """Print a line for whoever started the bot. A JSON log must not be mixed with other output."""
    if _logs_json():
        log.info("%s", line)
    else:
        click.echo(line)


def _logs_json() -> bool:
    from oshaberi.bot.logs import is_json

    return is_json()


def _open_browser(address: str, folder: Path) -> None:
    """Open the address in a browser, if one can be started. The address was printed before."""
    from oshaberi.bot.local_run.page_opening import opening_page

    try:
        webbrowser.open(opening_page(folder.absolute(), address).as_uri())
    except OSError as error:
        log.warning("the browser was not opened: %s", error.strerror)


def _spare_what_is_loaded() -> None:
    """Exclude loaded objects from garbage collection: scanning them would halt every stream.

    Turns hold their objects for seconds, so the collector also runs less often. That saves a tenth
    of the processor time of many turns.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GARBAGE_THRESHOLDS)


def _has_desktop() -> bool:
    if not sys.stdout.isatty():
        return False
    shown = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    return bool(shown) or sys.platform in ("darwin", "win32")
