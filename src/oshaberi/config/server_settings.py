"""What a server's admins may change, and the settings that come of it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from oshaberi.config.loaded_settings import LoadedSettings
from oshaberi.config.process_config import ProcessConfig
from oshaberi.config.renamed_settings import with_new_names
from oshaberi.config.server_limits import is_quota, limited
from oshaberi.config.setting_declarations import DECLARED, Setting, near, within
from oshaberi.config.value_parsing import read
from oshaberi.conversation.turn_config import TurnConfig
from oshaberi.delivery.stream_config import StreamConfig
from oshaberi.errors import ConfigError
from oshaberi.text.text_config import TextConfig

log = logging.getLogger(__name__)

OPERATOR_KEYS = frozenset({"suppress_text_output", "suppress_user_errors", "web_page_tool_enabled"})
"""Not of the process, but not for admins: they could mute errors or use the operator's network."""

SERVER_KEYS: Mapping[str, Setting] = {
    key: setting
    for key, setting in DECLARED.items()
    if setting.section is not ProcessConfig and key not in OPERATOR_KEYS
}
NO_QUOTAS: Mapping[str, Any] = {key: 0 for key in SERVER_KEYS if is_quota(key)}


@dataclass(frozen=True, slots=True)
class EffectiveSettings:
    """The settings that apply in one server."""

    stream: StreamConfig
    turn: TurnConfig


def effective(settings: LoadedSettings, server_config: Mapping[str, Any]) -> EffectiveSettings:
    """Return the operator's settings with the server's changes, within the operator's limits.

    A stored value that is no longer valid is ignored and logged: it must not stop the bot from
    answering.
    """
    known = _known(server_config)
    kept = limited(settings, known)
    while kept:
        try:
            return _combined(settings, kept)
        except ConfigError as error:
            log.warning("a stored setting is ignored: %s", error)
            key = str(error).partition(":")[0]
            kept = {one: kept[one] for one in kept if one != key} if key in kept else {}
    return EffectiveSettings(settings.stream, replace(settings.turn, **NO_QUOTAS))


def check_together(settings: LoadedSettings, server_config: Mapping[str, Any]) -> None:
    """Raise if values that are valid alone contradict each other.

    Call it before storing a change.
    """
    known = _known(server_config)
    _combined(settings, known)


def parse_server_value(key: str, text: str) -> Any:
    """Parse and check what an admin typed for a setting. A ConfigError says what is allowed."""
    if key not in SERVER_KEYS:
        if key in DECLARED:
            raise ConfigError(f"{key}: is set by whoever runs the bot")
        raise ConfigError(f"{key}: no such setting{near(key, SERVER_KEYS)}")
    from oshaberi.config.settings_schema import checked

    value = checked(SERVER_KEYS[key], read(SERVER_KEYS[key].about, text))
    # As it comes back from where it is stored.
    return list(value) if isinstance(value, tuple) else value


def _known(server_config: Mapping[str, Any]) -> dict[str, Any]:
    stored = with_new_names(server_config)
    return {key: value for key, value in stored.items() if key in SERVER_KEYS}


def _combined(settings: LoadedSettings, changes: Mapping[str, Any]) -> EffectiveSettings:
    text = replace(settings.stream.text, **within(TextConfig, changes))
    stream = replace(settings.stream, text=text, **within(StreamConfig, changes))
    # The operator's quotas are counted apart: those in here are the server's own.
    turn = {**NO_QUOTAS, **within(TurnConfig, changes)}
    return EffectiveSettings(stream, replace(settings.turn, **turn))
