"""The operator's limits for what a server's admins may set: checked when set and when read.

A number has an upper limit: the operator's `server_limits`, else the `server_high` of its
declaration, else its range. A text has a longest (`server_longest`), a list a longest and a most
(`server_most`): admins are strangers, and everything that they set is worked on for each answer. If
the operator does not let the bot answer somebody, no admin can.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from oshaberi.config.all_settings import DECLARED, Setting
from oshaberi.config.loaded_settings import LoadedSettings
from oshaberi.config.server_keys import SERVER_KEYS, is_quota
from oshaberi.config.setting_errors import no_such_setting
from oshaberi.errors import ConfigError, Sentence
from oshaberi.text.text_config import not_allowed

SPARING = frozenset({"cooldown_ms"})
"""Settings where a smaller number costs more: admins may not go below the operator's value."""
ALLOWING_PEOPLE = ("allowed_users", "allowed_roles")
ALLOWING = frozenset({*ALLOWING_PEOPLE, "allowed_channels"})
BLOCKING = frozenset({"blocked_users", "blocked_roles", "blocked_channels"})


def most_allowed(settings: LoadedSettings, setting: Setting) -> int | None:
    """Return the highest value that admins may choose, or None if the setting is not a number."""
    about = setting.about
    if not _is_bounded(setting):
        return None
    given = settings.server_limits.get(setting.name)
    if given is not None:
        return given
    # What the operator has chosen for all servers is not too much for one.
    most: int = max(about.get("server_high", about["high"]), settings.value(setting.name))
    return most


def least_allowed(settings: LoadedSettings, setting: Setting) -> int | None:
    if setting.name in SPARING:
        return int(settings.value(setting.name))
    return int(setting.about["low"]) if _is_bounded(setting) else None


def allowed_here(settings: LoadedSettings, setting: Setting) -> Sentence:
    """Describe in words which values admins may choose."""
    most, least = most_allowed(settings, setting), least_allowed(settings, setting)
    if most is not None:
        return Sentence("a whole number from {low} to {high}", low=least, high=most)
    items, longest = setting.about.get("server_most"), setting.about.get("server_longest")
    if items is not None and longest is not None:
        return Sentence(
            "a list of at most {most} texts of at most {longest} characters",
            most=items,
            longest=longest,
        )
    if items is not None:
        return Sentence("a list of at most {most} ids", most=items)
    if longest is not None:
        return Sentence("a text of at most {most} characters", most=longest)
    return setting.allowed


def check_limit(settings: LoadedSettings, key: str, value: Any) -> None:
    """Raise a ConfigError that names the limit if admins may not choose this value."""
    setting = DECLARED[key]
    if _within_size(setting, value) != value:
        raise ConfigError(
            Sentence("{key}: is not {allowed}", key=key, allowed=allowed_here(settings, setting))
        )
    most, least = most_allowed(settings, setting), least_allowed(settings, setting)
    if most is not None and value > most:
        raise ConfigError(
            Sentence(
                "{key}: {value} is more than {most}, the most that whoever runs the bot allows",
                key=key,
                value=value,
                most=most,
            )
        )
    if least is not None and value < least:
        raise ConfigError(
            Sentence(
                "{key}: {value} is less than {least}, the least that whoever runs the bot allows",
                key=key,
                value=value,
                least=least,
            )
        )
    theirs = settings.value(key)
    strangers = [one for one in value if one not in theirs] if _allows_some(settings, key) else []
    if strangers:
        raise ConfigError(
            Sentence(
                "{key}: {value} is not among those that whoever runs the bot allows",
                key=key,
                value=strangers[0],
            )
        )


def limited(settings: LoadedSettings, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return a server's stored settings, reduced to the operator's current limits.

    Of a list that is too long, the first items stay; a text that is too long counts as not set.
    """
    sized = {key: _within_size(DECLARED[key], value) for key, value in changes.items()}
    return {
        key: _cut(settings, DECLARED[key], value)
        for key, value in sized.items()
        if value is not None
    }


def _within_size(setting: Setting, value: Any) -> Any:
    """Return the part of a value that is not too long; None if nothing is left of a text."""
    most, longest = setting.about.get("server_most"), setting.about.get("server_longest")
    if isinstance(value, str):
        return value if longest is None or len(value) <= longest else None
    if not isinstance(value, list | tuple) or most is None:
        return value
    short = [one for one in value[:most] if not isinstance(one, str) or len(one) <= (longest or 0)]
    return value if len(short) == len(value) else short


def _cut(settings: LoadedSettings, setting: Setting, value: Any) -> Any:
    """Reduce one value to the limits.

    A value of the wrong type stays, so that the later check reports it.
    """
    if isinstance(value, list | tuple):
        return _cut_list(settings, setting.name, value)
    if not isinstance(value, int) or isinstance(value, bool):
        return value
    most, least = most_allowed(settings, setting), least_allowed(settings, setting)
    value = value if most is None else min(value, most)
    return value if setting.name not in SPARING or least is None else max(value, least)


def _cut_list(settings: LoadedSettings, key: str, value: Sequence[Any]) -> Sequence[Any]:
    theirs: Sequence[Any] = settings.value(key)
    if key in BLOCKING:
        return tuple(dict.fromkeys([*theirs, *value]))
    if _allows_some(settings, key):
        # An empty list would let everybody in.
        return tuple(one for one in value if one in theirs) or theirs
    return value


def _allows_some(settings: LoadedSettings, key: str) -> bool:
    """Tell whether the operator allows only some people. Users and roles are one list."""
    together = ALLOWING_PEOPLE if key in ALLOWING_PEOPLE else (key,)
    return key in ALLOWING and any(settings.value(one) for one in together)


def check_limit_table(limits: Mapping[str, int]) -> None:
    """Check the operator's `server_limits`: numbers that admins may change, within their range."""
    for key, value in limits.items():
        path = f"server_limits.{key}"
        if key not in DECLARED:
            raise ConfigError(f"server_limits.{no_such_setting(key, SERVER_KEYS)}")
        if key not in SERVER_KEYS or not _is_bounded(SERVER_KEYS[key]):
            raise ConfigError(f"{path}: is not a number that admins may change")
        about = SERVER_KEYS[key].about
        if not about["low"] <= value <= about["high"]:
            raise not_allowed(path, value, SERVER_KEYS[key].allowed)


def _is_bounded(setting: Setting) -> bool:
    about = setting.about
    return "low" in about and "mention" not in about and not is_quota(setting.name)
