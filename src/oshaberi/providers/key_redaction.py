"""Removes secrets: a provider's own key and headers, and everything that looks like a key."""

from __future__ import annotations

from collections.abc import Iterable

from oshaberi.providers.request.endpoint import Endpoint
from oshaberi.secret_redaction import MASK, redact

_SHORTEST = 6
"""Anything shorter is no secret, and masking it would tear words apart."""


class KeyRedactor:
    """Knows the secrets of one endpoint by value, so that their form does not matter."""

    def __init__(self, secrets: Iterable[str]) -> None:
        known = {part for secret in secrets for part in (secret, *secret.split())}
        self._known = sorted((s for s in known if len(s) >= _SHORTEST), key=len, reverse=True)

    @classmethod
    def of(cls, endpoint: Endpoint) -> KeyRedactor:
        keys = [endpoint.api_key] if endpoint.api_key else []
        return cls([*keys, *endpoint.headers.values()])

    def __call__(self, text: str) -> str:
        for secret in self._known:
            text = text.replace(secret, MASK)
        return redact(text)

    def __repr__(self) -> str:
        return f"Redactor({len(self._known)} secrets)"
