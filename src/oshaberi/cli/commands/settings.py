"""`oshaberi settings`: lists the settings, or explains one as docs/settings.md does."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from oshaberi.errors import ConfigError

if TYPE_CHECKING:
    from oshaberi.bot.config.all_settings import Setting

WIDEST = 100
INDENT = "  "


def _complete_name(
    _ctx: click.Context, _param: click.Parameter, incomplete: str
) -> list[CompletionItem[str]]:
    from oshaberi.bot.config.all_settings import DECLARED

    found = [setting for name, setting in DECLARED.items() if name.startswith(incomplete.lower())]
    return [CompletionItem(setting.name, help=setting.what) for setting in found]


@click.command(short_help="List the settings, or explain some of them.")
@click.argument("wanted", metavar="[KEY]...", nargs=-1, shell_complete=_complete_name)
def command(wanted: Sequence[str]) -> None:
    """List every setting in one line, or explain the settings KEY: what it does, which values are
    allowed, its default, and where you can set it. `oshaberi config show` prints current values.

    \b
    Examples:
      oshaberi settings
      oshaberi settings humanizer_degree
      oshaberi settings | grep typing
    """
    from oshaberi.bot.config.all_settings import DECLARED, near

    if not wanted:
        longest = max(map(len, DECLARED))
        for name, setting in DECLARED.items():
            click.echo(f"{name:<{longest}}  {setting.what}")
        return
    names = [key.strip().lower().removeprefix("oshaberi_") for key in wanted]
    for key, name in zip(wanted, names, strict=True):
        if name not in DECLARED:
            raise ConfigError(f"{key}: no such setting{near(name, DECLARED)}")
    for number, name in enumerate(names):
        click.echo("" if number else None, nl=bool(number))
        for line in _page(DECLARED[name]):
            click.echo(line)


def _page(setting: Setting) -> Iterator[str]:
    yield setting.name
    yield from wrap(setting.what, _width(), initial_indent=INDENT, subsequent_indent=INDENT)
    rows = {
        "allowed": _allowed(setting),
        "default": _default(setting),
        "environment": f"OSHABERI_{setting.name.upper()}",
        "file": "oshaberi.toml",
        "on Discord": _on_discord(setting),
    }
    longest = max(map(len, rows))
    for name, text in rows.items():
        start = f"{INDENT}{name:<{longest}}  "
        yield from wrap(text, _width(), initial_indent=start, subsequent_indent=" " * len(start))


def _allowed(setting: Setting) -> str:
    if "low" in setting.about and "server_high" in setting.about:
        return f"{setting.allowed}; a server's admins: up to {setting.about['server_high']}"
    return str(setting.allowed)


def _default(setting: Setting) -> str:
    default = setting.default
    if "otherwise" in setting.about:
        return str(setting.about["otherwise"])
    if default is None or default in ((), {}, ""):
        return "none"
    return str(default).lower() if isinstance(default, bool) else str(default)


def _on_discord(setting: Setting) -> str:
    from oshaberi.bot.config.all_settings import SERVER_KEYS, SERVER_ONLY_KEYS

    if setting.name not in SERVER_KEYS:
        return "only the operator can set it"
    one_channel = "" if setting.name in SERVER_ONLY_KEYS else " or (with `in`) for one channel"
    return f"/config set {setting.name}, for a server{one_channel}"


def _width() -> int:
    try:
        return min(os.get_terminal_size().columns, WIDEST)
    except OSError:
        return WIDEST
