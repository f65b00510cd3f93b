"""The options that several commands share: the settings file, `--set`, and text from a pipe."""

from __future__ import annotations

import codecs
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import Field, fields
from io import BufferedIOBase
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click
from click.shell_completion import CompletionItem

from oshaberi.checked_json import parse_json
from oshaberi.errors import ConfigError
from oshaberi.text.config import TextConfig
from oshaberi.value_parsing import read

if TYPE_CHECKING:
    from oshaberi.bot.config import LoadedSettings


# The settings file.


config_option = click.option(
    "--config",
    "config_file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Read the settings from this file instead of ./oshaberi.toml.",
)


def settings_of(config_file: Path | None) -> LoadedSettings:
    """Load the settings of this process. Raises a one-line ConfigError."""
    from oshaberi.bot.config import load

    take_secrets(config_file)
    return load(config_file, os.environ)


def take_secrets(config_file: Path | None) -> None:
    """Add the variables of `oshaberi.env` to the environment, without replacing any."""
    from oshaberi.bot.config.loading import settings_file
    from oshaberi.bot.config.secrets_file import with_secrets

    path, _required = settings_file(config_file, os.environ)
    os.environ.update(with_secrets(path, os.environ))


def whisper(line: str) -> None:
    """Write a line that is not the command's result: on stderr, dim on a terminal."""
    from oshaberi.terminal_output import TerminalPalette

    click.echo(TerminalPalette.of(sys.stderr).paint(line, "dim"), err=True)


def complete_file(
    _ctx: click.Context, _param: click.Parameter, incomplete: str
) -> list[CompletionItem[str]]:
    """Leave the completion of file names to the shell."""
    return [CompletionItem(incomplete, type="file")]


# `--set key=value`: sets a setting of the text engine by its name.


def _complete_key(
    _ctx: click.Context, _param: click.Parameter, incomplete: str
) -> list[CompletionItem[str]]:
    return [
        CompletionItem(f"{setting.name}=", help=setting.metadata["what"])
        for setting in fields(TextConfig)
        if "what" in setting.metadata and setting.name.startswith(incomplete)
    ]


set_option = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="Change a setting; you can repeat it.",
    shell_complete=_complete_key,
)


def text_config(assignments: Iterable[str], degree: int | None) -> TextConfig:
    """Return the settings of a command line. `--degree` is short for `humanizer_degree`."""
    values = dict(_parse(assignment) for assignment in assignments)
    if degree is not None:
        values["humanizer_degree"] = degree
    return TextConfig(**values)


def _parse(assignment: str) -> tuple[str, Any]:
    key, equals, value = assignment.partition("=")
    key = key.strip()
    if not equals:
        raise ConfigError(f"--set {assignment}: write it as key=value")
    known = {setting.name: setting for setting in fields(TextConfig)}
    if key not in known:
        from difflib import get_close_matches

        from oshaberi.bot.config.all_settings import DECLARED

        if key in DECLARED:
            raise ConfigError(f"--set {key}: only settings of the text can be used here")
        near = get_close_matches(key.lower(), known, n=1)
        meant = f"; did you mean {near[0]!r}?" if near else "; `oshaberi settings` lists them"
        raise ConfigError(f"--set {key}: no such setting{meant}")
    return key, _value(known[key], value.strip())


def _value(setting: Field[Any], value: str) -> Any:
    """Parse a value. Anything else stays a text, and the setting's own check reports it."""
    if "what" in setting.metadata:
        return read(setting.metadata, value)
    return _from_json(setting.name, value)


def _from_json(key: str, value: str) -> Any:
    """Parse personas, emoji and the like, which are written as in a scene."""
    try:
        return parse_json(value)
    except ValueError:
        if key == "output_prefill":
            return value
        raise ConfigError(f"{key}: {value!r} is not JSON; write it as in a scene") from None


# Text from a file, a pipe or the keyboard, in pieces as it arrives.


PIECE = 65_536
STDIN = "-"


def pieces_of(path: str) -> Iterator[str]:
    """Yield each piece of the input as soon as it arrives."""
    if path == STDIN:
        if sys.stdin is None:
            raise click.ClickException("standard input is closed; give a FILE")
        if sys.stdin.isatty():
            whisper("Type or paste the text, then press Ctrl-D.")
        yield from _decode(cast(BufferedIOBase, sys.stdin.buffer))
        return
    try:
        with Path(path).open("rb") as file:
            yield from _decode(file)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise click.ClickException(f"{path}: cannot be read: {reason}") from None


def _decode(stream: BufferedIOBase) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8-sig")(errors="replace")
    while piece := stream.read1(PIECE):
        yield decoder.decode(piece)
    yield decoder.decode(b"", final=True)
