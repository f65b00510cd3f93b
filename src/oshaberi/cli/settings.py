"""`--set key=value`: a setting of the text engine by name, as its declaration reads it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import Field, fields
from typing import Any

from oshaberi.errors import ConfigError
from oshaberi.text.config import TextConfig

SWITCH = {"true": True, "yes": True, "on": True, "1": True}
SWITCH |= {"false": False, "no": False, "off": False, "0": False}


def text_config(assignments: Iterable[str], degree: int | None) -> TextConfig:
    """The settings of a command line. `--degree` is short for one of them."""
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

        near = get_close_matches(key.lower(), known, n=1)
        meant = f"; did you mean {near[0]!r}?" if near else "; docs/settings.md lists them"
        raise ConfigError(f"--set {key}: no such setting{meant}")
    return key, _value(known[key], value.strip())


def _value(setting: Field[Any], value: str) -> Any:
    """What cannot be read stays a text: the setting's own check says what is allowed."""
    about = setting.metadata
    if "low" in about:
        with suppress(ValueError):
            return int(value)
        return value
    if "switch" in about:
        return SWITCH.get(value.lower(), value)
    if "choices" in about:
        return value
    return _from_json(setting.name, value)


def _from_json(key: str, value: str) -> Any:
    """Personas, emoji and the like are written as in a scene."""
    try:
        return json.loads(value)
    except ValueError:
        if key == "output_prefill":
            return value
        raise ConfigError(f"{key}: {value!r} is not JSON; write it as in a scene") from None
