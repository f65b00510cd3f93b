"""`--set key=value`: sets a setting of the text engine by its name."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import Field, fields
from typing import Any

import click
from click.shell_completion import CompletionItem

from oshaberi.checked_json import parse_json
from oshaberi.config.value_parsing import read
from oshaberi.errors import ConfigError
from oshaberi.text.text_config import TextConfig


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
    values = dict(_parsed(assignment) for assignment in assignments)
    if degree is not None:
        values["humanizer_degree"] = degree
    return TextConfig(**values)


def _parsed(assignment: str) -> tuple[str, Any]:
    key, equals, value = assignment.partition("=")
    key = key.strip()
    if not equals:
        raise ConfigError(f"--set {assignment}: write it as key=value")
    known = {setting.name: setting for setting in fields(TextConfig)}
    if key not in known:
        from difflib import get_close_matches

        from oshaberi.config.all_settings import DECLARED

        if key in DECLARED:
            raise ConfigError(f"--set {key}: only settings of the text can be used here")
        near = get_close_matches(key.lower(), known, n=1)
        meant = f"; did you mean {near[0]!r}?" if near else "; docs/settings.md lists them"
        raise ConfigError(f"--set {key}: no such setting{meant}")
    return key, _value(known[key], value.strip())


def _value(setting: Field[Any], value: str) -> Any:
    """Parse a value. What cannot be parsed stays a text: the setting's own check reports it."""
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
