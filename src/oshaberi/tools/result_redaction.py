"""Removes secret values from tool results."""

from __future__ import annotations

from collections.abc import Iterable

from oshaberi.providers.key_redaction import KeyRedactor
from oshaberi.secret_redaction import MASK

SHORTEST = 8
"""Anything shorter is no secret, and masking it would tear words apart."""


class SecretValues:
    """Knows secrets by value, whole and by word: `Bearer abc...` may come back without `Bearer`."""

    def __init__(self, values: Iterable[str]) -> None:
        known = {part for value in values for part in (value, *value.split())}
        self._known = sorted((one for one in known if len(one) >= SHORTEST), key=len, reverse=True)
        self._redactor = KeyRedactor(self._known)

    def masked(self, text: str) -> str:
        """Mask known secrets only: what looks like a secret may be the wanted result."""
        for secret in self._known:
            text = text.replace(secret, MASK)
        return text

    def redacted(self, text: str) -> str:
        """Mask known secrets and what looks like one.

        Meant for error messages, which quote anything.
        """
        return self._redactor(text)
