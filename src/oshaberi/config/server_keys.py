"""Which settings a server's admins may change, and which of them a channel may have of its own."""

from __future__ import annotations

from collections.abc import Mapping

from oshaberi.config.all_settings import DECLARED, Setting
from oshaberi.config.process_config import ProcessConfig

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
