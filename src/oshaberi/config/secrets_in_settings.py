"""The secrets that the settings hold, and whatever repeats one of them, masked.

A secret may be repeated in another value: a token in a URL's path, a password in a prompt, in the
spelling of a URL or in base64.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import parse_qsl, quote, quote_plus, unquote, urlsplit

from oshaberi.config.settings_redaction import SECRET_NAME
from oshaberi.secret_redaction import SHORTEST_SECRET, SecretValues


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
        if SECRET_NAME.search(name):
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


class KnownSecrets:
    """Masks known secrets. `hidden(value)` returns a JSON value in which none can be read.

    A short one (`env = { DEBUG = "1" }`) is masked in its place only.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        known = {one for one in secrets if len(one) >= SHORTEST_SECRET}
        self._spelled = SecretValues(spelling for one in known for spelling in _spellings(one))

    def hidden(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._spelled.masked(value)
        if isinstance(value, Mapping):
            return {self._spelled.masked(str(key)): self.hidden(one) for key, one in value.items()}
        if isinstance(value, list | tuple):
            return [self.hidden(one) for one in value]
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
