"""Settings as they may be shown: secrets masked, nothing in them that JSON cannot say."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from oshaberi.config.setting_declarations import Setting
from oshaberi.secret_redaction import MASK, redact

_SECRET_KEYS = frozenset({"api_keys", "env", "headers"})
SECRET_NAME = re.compile(r"(?i)pass|secret|token|key")
_SECRET_QUERY = re.compile(r"(?i)(?<=[?&])([\w-]*(?:pass|secret|token|key)[\w-]*)=[^&]*")


def masked(setting: Setting, value: Any) -> Any:
    """Return a setting's value without its secrets."""
    if value is None:
        return None
    if setting.is_secret:
        return MASK
    if "url" in setting.about and isinstance(value, str):
        return masked_url(value)
    return plain(value)


def plain(value: Any) -> Any:
    """Turn tables into dicts, without their secrets."""
    if is_dataclass(value) and not isinstance(value, type):
        return plain({one.name: getattr(value, one.name) for one in fields(value)})
    if isinstance(value, Mapping):
        return {str(key): _inside(str(key), one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, Path):
        return str(value)
    return redact(masked_url(value)) if isinstance(value, str) else value


def _inside(key: str, value: Any) -> Any:
    if key not in _SECRET_KEYS or not value:
        return plain(value)
    if isinstance(value, Mapping):
        return dict.fromkeys(value, MASK)
    return [MASK] * len(value) if isinstance(value, list | tuple) else MASK


def masked_url(text: str) -> str:
    """Return the URL without its password."""
    scheme, separator, rest = text.partition("://")
    if not separator:
        return text
    try:
        password = urlsplit(text).password
    except ValueError:
        return MASK
    if password:
        login, _, place = rest.rpartition("@")
        rest = f"{login.partition(':')[0]}:{MASK}@{place}"
    return _SECRET_QUERY.sub(rf"\1={MASK}", f"{scheme}://{rest}")
