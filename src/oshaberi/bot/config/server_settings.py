"""What a server's admins may set, within the operator's limits, and which value applies where."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from oshaberi.bot.config.all_settings import (
    DECLARED,
    SERVER_KEYS,
    Setting,
    with_new_names,
    within,
)
from oshaberi.bot.config.loaded import LoadedSettings
from oshaberi.bot.config.schema import check_value, no_such_setting
from oshaberi.bot.conversation.turn_config import EffectiveSettings, TurnConfig
from oshaberi.delivery.config import StreamConfig
from oshaberi.errors import ConfigError, Sentence
from oshaberi.text.config import TextConfig, not_allowed
from oshaberi.value_parsing import read

# `parse_server_value` reads what an admin typed for a setting.


QUOTA_PREFIX = "quota_"


def is_quota(key: str) -> bool:
    """Return whether a setting is a quota. Quotas of server and operator apply side by side."""
    return key.startswith(QUOTA_PREFIX)


def parse_server_value(key: str, text: str) -> Any:
    """Parse and check what an admin typed for a setting. A ConfigError says what is allowed."""
    if key not in SERVER_KEYS:
        if key in DECLARED:
            raise ConfigError(Sentence("{name}: is set by whoever runs the bot", name=key))
        raise ConfigError(no_such_setting(key, SERVER_KEYS))

    value = check_value(SERVER_KEYS[key], read(SERVER_KEYS[key].about, text))
    # in the form that the database returns
    return list(value) if isinstance(value, tuple) else value


# The operator's limits for what a server's admins may set: checked when set and when read.
#
# A number has an upper limit: the operator's `server_limits`, else the `server_high` of its
# declaration, else its range. A text has a greatest length (`server_longest`), a list a greatest
# number of items (`server_most`) as well: admins are strangers, and every answer has to work with
# what they set. If the operator does not let the bot answer somebody
# or use a tool, no admin can.


SPARING = frozenset({"cooldown_ms"})
"""Settings where a smaller number costs more: admins may not go below the operator's value."""
ALLOWING_PEOPLE = ("allowed_users", "allowed_roles")
ALLOWING = frozenset({*ALLOWING_PEOPLE, "allowed_channels", "allowed_tools"})
BLOCKING = frozenset(
    {"blocked_users", "blocked_roles", "blocked_channels", "blocked_tools", "asking_tools"}
)


def most_allowed(settings: LoadedSettings, setting: Setting) -> int | None:
    """Return the highest value that admins may choose, or None if the setting is not a number."""
    about = setting.about
    if not _is_bounded(setting):
        return None
    given = settings.server_limits.get(setting.name)
    if given is not None:
        return given
    # The operator's own choice for all servers is allowed in each of them.
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


def reduce_to_limits(settings: LoadedSettings, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return a server's stored settings, reduced to the operator's current limits.

    A list that is too long keeps its first items; a text that is too long counts as not set.
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
        # An empty list would allow everybody.
        return tuple(one for one in value if one in theirs) or theirs
    return value


def _allows_some(settings: LoadedSettings, key: str) -> bool:
    """Return whether the operator allows only some people. Users and roles count as one list."""
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


# The settings that apply in a channel: the nearest value counts.
#
# An admin can set a value for a thread, a channel, a category or the server; otherwise the
# operator's applies.


log = logging.getLogger(__name__)

NO_QUOTAS: Mapping[str, Any] = {key: 0 for key in SERVER_KEYS if is_quota(key)}


def effective(settings: LoadedSettings, *layers: Mapping[str, Any]) -> EffectiveSettings:
    """Return the operator's settings with the changes of `layers`, within the operator's limits.

    The first layer is the nearest: a thread's, a channel's, a category's, then the server's. A
    stored value that is no longer valid is ignored and logged: it must not stop the bot from
    answering.
    """
    kept = [_known(layer) for layer in layers]
    while any(kept):
        try:
            return _combine(settings, reduce_to_limits(settings, nearest_values(*kept)))
        except ConfigError as error:
            log.warning("a stored setting is ignored: %s", error)
            _drop(kept, str(error).partition(":")[0])
    return EffectiveSettings(settings.stream, replace(settings.turn, **NO_QUOTAS))


def nearest_values(*layers: Mapping[str, Any]) -> dict[str, Any]:
    """Return the nearest value of each setting; the first layer is the nearest."""
    return {key: value for layer in reversed(layers) for key, value in layer.items()}


def _drop(layers: list[dict[str, Any]], key: str) -> None:
    """Drop the nearest value of a setting; if no layer has one, drop everything."""
    for layer in layers:
        if key in layer:
            del layer[key]
            return
    layers.clear()


def check_together(settings: LoadedSettings, *layers: Mapping[str, Any]) -> None:
    """Raise if values that are each valid contradict each other; `layers` as in `effective`.

    Call it before you store a change.
    """
    _combine(settings, nearest_values(*map(_known, layers)))


def origin(layers: Sequence[Mapping[str, Any]], key: str) -> int | None:
    """Return the number of the layer that has a value; None if it is the operator's."""
    names = [with_new_names(layer) for layer in layers]
    return next((number for number, layer in enumerate(names) if key in layer), None)


def _known(server_config: Mapping[str, Any]) -> dict[str, Any]:
    stored = with_new_names(server_config)
    return {key: value for key, value in stored.items() if key in SERVER_KEYS}


def _combine(settings: LoadedSettings, changes: Mapping[str, Any]) -> EffectiveSettings:
    text = replace(settings.stream.text, **within(TextConfig, changes))
    stream = replace(settings.stream, text=text, **within(StreamConfig, changes))
    # The operator's quotas are counted separately; these are the server's own.
    turn = {**NO_QUOTAS, **within(TurnConfig, changes)}
    return EffectiveSettings(stream, replace(settings.turn, **turn))
