"""Reads the settings: the environment over the file over the defaults (spec 09)."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from oshaberi.bot.config.all_settings import DECLARED, RENAMED, near, within
from oshaberi.bot.config.loaded import LoadedSettings
from oshaberi.bot.config.process import ProcessConfig, data_home
from oshaberi.bot.config.server_settings import check_limit_table
from oshaberi.bot.config.toml_tables import ModelEntry, toml_mistake
from oshaberi.bot.conversation.turn_config import TurnConfig
from oshaberi.delivery.config import StreamConfig
from oshaberi.errors import ConfigError
from oshaberi.text.config import TextConfig
from oshaberi.value_parsing import read

FILE = "oshaberi.toml"
PREFIX = "OSHABERI_"
FILE_VARIABLE = "OSHABERI_CONFIG"
NOT_SETTINGS = frozenset({FILE_VARIABLE, "OSHABERI_SECRET_KEY"})
"""Variables of ours that are read elsewhere."""
_SERVICE_LINK = re.compile(
    r"""[^=]+_SERVICE_HOST=
    | [^=]+_SERVICE_PORT(?:_\w+)?=\d
    | [^=]+_PORT(?:_\d+_(?:TCP|UDP|SCTP))?=(?:tcp|udp|sctp)://
    | [^=]+_PORT_\d+_(?:TCP|UDP|SCTP)_(?:ADDR|PORT|PROTO)=""",
    re.VERBOSE,
)
"""What Kubernetes and `docker --link` set for a service whose name begins with `oshaberi`."""


def load(file: Path | None, environ: Mapping[str, str]) -> LoadedSettings:
    """Load the settings. A mistake is a one-line ConfigError: key, value, what is allowed, where.

    Without `file`, the file is the one in OSHABERI_CONFIG, or ./oshaberi.toml if it exists.
    """
    path, required = settings_file(file, environ)
    return load_from(path, environ, required=required)


def load_from(path: Path, environ: Mapping[str, str], *, required: bool) -> LoadedSettings:
    """Load the settings from this file only. It may be missing unless `required` is true."""
    from_file = _read_file(path, required)
    named, links = _without_service_links(_variables_by_setting(environ))
    from_variables = _read_variables(named)
    origins = {**dict.fromkeys(from_file, str(path)), **_variables(from_variables)}
    values = _merge(_unknown(named), origins, from_variables, from_file)
    values.setdefault("data_dir", data_home(environ))
    values = {key: _expand(key, value) for key, value in values.items()}
    try:
        return _settings(values, origins, path, links)
    except ConfigError as error:
        raise ConfigError(_with_place(str(error), origins)) from None


def settings_file(file: Path | None, environ: Mapping[str, str]) -> tuple[Path, bool]:
    """Return the path of the settings file, and whether it must exist."""
    named = file or environ.get(FILE_VARIABLE)
    if named and "\0" in str(named):
        raise ConfigError(f"{str(named)!r}: no file can have this name")
    return Path(named or FILE), bool(named)


def _read_file(path: Path, required: bool) -> dict[str, Any]:
    text = ""
    try:
        text = path.read_text(encoding="utf-8-sig")
        return tomllib.loads(text)
    except FileNotFoundError:
        if required:
            raise ConfigError(f"{path}: there is no such settings file") from None
        return {}
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(toml_mistake(path, str(error), text)) from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: is not UTF-8 text (byte {error.start})") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None


def _variables_by_setting(environ: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Return the environment variable and its text for each setting.

    Empty variables count as not set.
    """
    return {
        variable.removeprefix(PREFIX).lower(): (variable, text)
        for variable, text in environ.items()
        if variable.startswith(PREFIX) and variable not in NOT_SETTINGS and text.strip()
    }


def _without_service_links(
    named: dict[str, tuple[str, str]],
) -> tuple[dict[str, tuple[str, str]], tuple[str, ...]]:
    """Return the variables without those that describe a service, and the names of these.

    A variable with the name of a setting is never left out: somebody set it on purpose.
    """
    links = {
        key: variable
        for key, (variable, text) in named.items()
        if key not in DECLARED and _SERVICE_LINK.match(f"{variable}={text}")
    }
    others = {key: found for key, found in named.items() if key not in links}
    return others, tuple(sorted(links.values()))


def _read_variables(named: Mapping[str, tuple[str, str]]) -> dict[str, Any]:
    return {
        key: read(DECLARED[key].about, text)
        for key, (_variable, text) in named.items()
        if key in DECLARED
    }


def _unknown(named: Mapping[str, tuple[str, str]]) -> list[str]:
    return [
        f"{variable}: no such setting{near(key, DECLARED)}{_variable_now(key)}"
        for key, (variable, _text) in named.items()
        if key not in DECLARED
    ]


def _variable_now(key: str) -> str:
    return f" ({PREFIX}{RENAMED[key].upper()})" if key in RENAMED else ""


def _variables(keys: Mapping[str, Any]) -> dict[str, str]:
    return {key: PREFIX + key.upper() for key in keys}


def _merge(
    unknown: Sequence[str], origins: Mapping[str, str], *places: Mapping[str, Any]
) -> dict[str, Any]:
    """Merge the sources. Raise all their mistakes together, with those of `unknown`."""
    try:
        from pydantic import ValidationError

        from oshaberi.bot.config.schema import SettingMistakesError, complaint, merge
    except ImportError as missing:
        what = f'settings need {missing.name}: pip install "oshaberi[bot]"'
        raise ConfigError(what) from None
    try:
        values = merge(*places)
    except ValidationError as error:
        # A misspelt key may explain why another one is missing.
        found = sorted(error.errors(include_url=False), key=lambda one: one["type"] == "missing")
        wrong = [_with_place(complaint(one["loc"], one), origins) for one in found]
        raise SettingMistakesError([*unknown, *wrong]) from None
    if unknown:
        raise SettingMistakesError(unknown)
    return values


def _with_place(line: str, origins: Mapping[str, str]) -> str:
    """Add to an error message where its value comes from."""
    key = line.partition(":")[0].partition(".")[0].partition("[")[0]
    return f"{line} (from {origins[key]})" if key in origins else line


def _expand(key: str, value: Any) -> Any:
    try:
        return value.expanduser() if isinstance(value, Path) else value
    except RuntimeError:
        raise ConfigError(f"{key}: {value}: this user has no home folder; write the path") from None


def _settings(
    values: dict[str, Any], origins: Mapping[str, str], path: Path, links: tuple[str, ...]
) -> LoadedSettings:
    text = TextConfig(**within(TextConfig, values))
    stream = StreamConfig(text=text, **within(StreamConfig, values))
    turn = TurnConfig(**within(TurnConfig, values))
    process = within(ProcessConfig, values)
    _check_providers(process.get("models", ()))
    check_limit_table(process.get("server_limits", {}))
    return LoadedSettings(
        **process, stream=stream, turn=turn, origins=origins, file=path, service_links=links
    )


def _check_providers(models: Sequence[ModelEntry]) -> None:
    """Check the providers now, so that a mistake shows before the first answer."""
    if not models:
        return
    from oshaberi.providers.presets import PRESETS
    from oshaberi.providers.registry import families, unknown

    for number, entry in enumerate(models):
        known = (*PRESETS, *families())
        if entry.provider not in known:
            raise ConfigError(unknown(f"models[{number}].provider", entry.provider, known))
