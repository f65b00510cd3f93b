"""Masks the secrets of the settings, and whatever looks like one, in a line of the log."""

from __future__ import annotations

from collections.abc import Sequence

from oshaberi.secret_redaction import MASK, redact

SHORTEST_SECRET = 6


class LogRedactor:
    """Masks known secrets. The longest first: one may begin like another."""

    def __init__(self, secrets: Sequence[str]) -> None:
        long_enough = {secret for secret in secrets if len(secret) >= SHORTEST_SECRET}
        self._secrets = sorted(long_enough, key=len, reverse=True)

    def masked(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, MASK)
        return redact(text)
