"""Finds the secrets inside the values of settings: in a URL or in a header."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from urllib.parse import parse_qsl, unquote, urlsplit

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
