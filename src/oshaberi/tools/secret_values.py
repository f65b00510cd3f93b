"""Removes secret values from tool results."""

from __future__ import annotations

from collections.abc import Iterable

from oshaberi.providers.key_redactor import KeyRedactor
from oshaberi.redaction import MASK

SHORTEST = 8
"""Anything shorter is no secret, and masking it would tear words apart."""


class SecretValues:
    """Known by value, whole and word by word: `Bearer abc...` may come back without its Bearer."""

    def __init__(self, values: Iterable[str]) -> None:
        known = {part for value in values for part in (value, *value.split())}
        self._known = sorted((one for one in known if len(one) >= SHORTEST), key=len, reverse=True)
        self._redactor = KeyRedactor(self._known)

    def masked(self, text: str) -> str:
        """Known ones only: what merely looks like a secret may be what was asked for."""
        for secret in self._known:
            text = text.replace(secret, MASK)
        return text

    def redacted(self, text: str) -> str:
        """Also what looks like one. For errors, which quote whatever they stumbled over."""
        return self._redactor(text)
