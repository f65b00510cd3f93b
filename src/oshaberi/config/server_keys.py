"""Which settings a server's admins may change, and which of them a channel may have of its own.

`parse_server_value` reads what an admin typed for one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oshaberi.config.all_settings import DECLARED, Setting
from oshaberi.config.process_config import ProcessConfig
from oshaberi.config.setting_errors import no_such_setting
from oshaberi.config.value_parsing import read
from oshaberi.errors import ConfigError, Sentence

QUOTA_PREFIX = "quota_"
OPERATOR_KEYS = frozenset({"suppress_text_output", "suppress_user_errors", "web_page_tool_enabled"})
"""Only the operator may set these: with them, admins could mute errors or use the operator's
network."""

SERVER_KEYS: Mapping[str, Setting] = {
    key: setting
    for key, setting in DECLARED.items()
    if setting.section is not ProcessConfig and key not in OPERATOR_KEYS
}
SERVER_ONLY_KEYS = frozenset({"auto_channels", "allowed_channels", "blocked_channels"}) | {
    key for key in SERVER_KEYS if key.endswith("_per_server_day")
}
"""Settings that name channels themselves, or count for the whole server: no channel has its own."""


def is_quota(key: str) -> bool:
    """Tell whether a setting is a quota. Quotas of server and operator apply side by side."""
    return key.startswith(QUOTA_PREFIX)


def parse_server_value(key: str, text: str) -> Any:
    """Parse and check what an admin typed for a setting. A ConfigError says what is allowed."""
    if key not in SERVER_KEYS:
        if key in DECLARED:
            raise ConfigError(Sentence("{name}: is set by whoever runs the bot", name=key))
        raise ConfigError(no_such_setting(key, SERVER_KEYS))
    from oshaberi.config.settings_schema import checked

    value = checked(SERVER_KEYS[key], read(SERVER_KEYS[key].about, text))
    # As it comes back from where it is stored.
    return list(value) if isinstance(value, tuple) else value
