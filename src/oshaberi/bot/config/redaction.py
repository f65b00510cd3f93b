"""Settings as they may be shown: secrets masked, and only what JSON can express.

A secret may be repeated in another value: a token in a URL's path, a password in a prompt,
URL-encoded or in base64. `KnownSecrets` masks it there, too.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, quote_plus, unquote, urlsplit

from oshaberi.bot.config.all_settings import Setting
from oshaberi.secret_redaction import MASK, SHORTEST_SECRET, SecretValues, redact

# Secrets inside other values: in a URL or in a header.


_SECRET_NAME = re.compile(r"(?i)pass|secret|token|key")


def secrets_in_url(url: str | None) -> Iterator[str]:
    """Yield a URL's password and secret query values, decoded and as the URL spells them."""
    try:
        parts = urlsplit(url or "")
        password, query = parts.password, parts.query
    except ValueError:
        return
    if password:
        yield from (password, unquote(password))
    for name, value in parse_qsl(query):
        if _SECRET_NAME.search(name):
            yield value


def secrets_in_header(value: str) -> Iterator[str]:
    """Yield the header's value, and the part after `Bearer` or `Basic`."""
    yield value
    scheme, _, rest = value.partition(" ")
    rest = rest.strip()
    if rest:
        yield rest
    if scheme.lower() == "basic":
        yield from _password_of(rest)


def _password_of(credentials: str) -> Iterator[str]:
    try:
        login = base64.b64decode(credentials, validate=True).decode()
    except (binascii.Error, ValueError):
        return
    yield login.partition(":")[2]


_SECRET_KEYS = frozenset({"api_keys", "env", "headers"})
_QUERY = re.compile(r"(?<=[?&])([\w-]+)=[^&]*")


def mask_value(setting: Setting, value: Any) -> Any:
    """Return a setting's value without its secrets."""
    if value is None:
        return None
    if setting.is_secret:
        return MASK
    if "url" in setting.about and isinstance(value, str):
        return mask_url(value)
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
    return redact(mask_url(value)) if isinstance(value, str) else value


def _inside(key: str, value: Any) -> Any:
    if key not in _SECRET_KEYS or not value:
        return plain(value)
    if isinstance(value, Mapping):
        return dict.fromkeys(value, MASK)
    return [MASK] * len(value) if isinstance(value, list | tuple) else MASK


def mask_url(text: str) -> str:
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
    return _QUERY.sub(_query_value, f"{scheme}://{rest}")


def _query_value(found: re.Match[str]) -> str:
    return f"{found[1]}={MASK}" if _SECRET_NAME.search(found[1]) else found[0]


class KnownSecrets:
    """Masks known secrets. `hide(value)` returns a JSON value in which none can be read.

    A short one (`env = { DEBUG = "1" }`) is masked only in its own setting.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        known = {one for one in secrets if len(one) >= SHORTEST_SECRET}
        self._spelled = SecretValues(spelling for one in known for spelling in _spellings(one))

    def hide(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._spelled.masked(value)
        if isinstance(value, Mapping):
            return {self._spelled.masked(str(key)): self.hide(one) for key, one in value.items()}
        if isinstance(value, list | tuple):
            return [self.hide(one) for one in value]
        return value


def _spellings(secret: str) -> Iterator[str]:
    raw = secret.encode("utf-8", "surrogatepass")
    yield secret
    for quoted in (quote(raw, safe=""), quote(raw), quote_plus(raw)):
        yield quoted
        yield _lower_escapes(quoted)
    yield json.dumps(secret)[1:-1]
    for encoded in (base64.b64encode(raw), base64.urlsafe_b64encode(raw)):
        yield encoded.decode().rstrip("=")


def _lower_escapes(quoted: str) -> str:
    """Write `%2F` as `%2f`."""
    first, *rest = quoted.split("%")
    return "%".join([first, *(part[:2].lower() + part[2:] for part in rest)])
