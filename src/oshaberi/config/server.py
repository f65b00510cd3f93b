"""What a server's admins may change, and the settings that come of it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from oshaberi.config.declared import DECLARED, Setting, near, within
from oshaberi.config.process import ProcessConfig
from oshaberi.config.reading import read
from oshaberi.config.settings import Settings
from oshaberi.delivery.config import StreamConfig
from oshaberi.errors import ConfigError
from oshaberi.text.config import TextConfig
from oshaberi.turns.config import TurnConfig

log = logging.getLogger(__name__)

OPERATOR_KEYS = frozenset({"suppress_text_output", "suppress_user_errors", "web_page_tool_enabled"})
"""Not of the process, but not for admins: they could mute errors or use the operator's network."""

SERVER_KEYS: Mapping[str, Setting] = {
    key: setting
    for key, setting in DECLARED.items()
    if setting.section is not ProcessConfig and key not in OPERATOR_KEYS
}


@dataclass(frozen=True, slots=True)
class Effective:
    """The settings of one server."""

    stream: StreamConfig
    turn: TurnConfig


def effective(settings: Settings, server_config: Mapping[str, Any]) -> Effective:
    """The settings with what the server changed on top.

    What is stored and no longer allowed is left out, with a line in the log: no admin's value
    keeps the bot from answering.
    """
    kept = {key: value for key, value in server_config.items() if key in SERVER_KEYS}
    while kept:
        try:
            return _combined(settings, kept)
        except ConfigError as error:
            log.warning("a stored setting is ignored: %s", error)
            key = str(error).partition(":")[0]
            kept = {one: kept[one] for one in kept if one != key} if key in kept else {}
    return Effective(settings.stream, settings.turn)


def check_together(settings: Settings, server_config: Mapping[str, Any]) -> None:
    """Refuse what is allowed alone but not together. Call it before a change is stored."""
    known = {key: value for key, value in server_config.items() if key in SERVER_KEYS}
    _combined(settings, known)


def parse_server_value(key: str, text: str) -> Any:
    """What an admin typed as the value of a key, checked; a ConfigError says what is allowed."""
    if key not in SERVER_KEYS:
        if key in DECLARED:
            raise ConfigError(f"{key}: is set by whoever runs the bot")
        raise ConfigError(f"{key}: no such setting{near(key, SERVER_KEYS)}")
    from oshaberi.config.model import checked

    value = checked(SERVER_KEYS[key], read(SERVER_KEYS[key].about, text))
    # As it comes back from where it is stored.
    return list(value) if isinstance(value, tuple) else value


def _combined(settings: Settings, changes: Mapping[str, Any]) -> Effective:
    text = replace(settings.stream.text, **within(TextConfig, changes))
    stream = replace(settings.stream, text=text, **within(StreamConfig, changes))
    return Effective(stream, replace(settings.turn, **within(TurnConfig, changes)))
