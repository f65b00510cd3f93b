"""Masks secrets in everything that is shown or stored.

`redact` finds a secret by its form, `SecretValues` knows it by value, whatever its form.
`logs.log_lines` masks log lines, `config.settings_redaction` settings.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

MASK = "[secret]"
SHORTEST_SECRET = 6
"""Anything shorter is no secret, and masking it would tear words apart."""

_SECRETS = re.compile(
    r"""
      \b(?!xai-responses(?![\w-]))(?:sk|pk|rk|gsk|xai|nvapi|pst)-[\w-]{8,}  # provider keys
    | \bAIza[\w-]{10,}
    | \b[\w-]{23,28}\.[\w-]{6}\.[\w-]{27,}                        # Discord tokens
    | \beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]+                           # JSON web tokens
    | (?<=/api/webhooks/)\d+/[\w-]+
    | (?<=://)[^\s/@:]+:[^\s/@]+(?=@)                             # user:password in a URL
    """,
    re.VERBOSE,
)
_NAMED = re.compile(
    r"""(?P<name>\b(?:bearer\s+
        | (?:api[_-]?key|access[_-]?token|token|secret|password|authorization|key)
          ["']?\s*(?:[=:]|\bis\b|\bprovided:)\s*["']?(?:bearer\s+)?))
        (?P<value>[^\s"',;&)}\]]{8,})""",
    re.VERBOSE | re.IGNORECASE,
)
_SECRET_VARIABLE = re.compile(r"key|token|secret|password|passwd|credential", re.IGNORECASE)
_SECRET_SETTING = re.compile(
    r"key|token|secret|pass|pwd|credential|auth(?!or)|cookie|session|private|signature|\bpin\b|_pin\b",
    re.IGNORECASE,
)
_ORDINARY_PART = r"(?:[A-Za-z]{1,12}\d{0,2}|\d{1,2})"
_ORDINARY_VALUE = re.compile(
    rf"""
      (?: https?://[A-Za-z0-9.-]+ (?: :\d{{1,5}} )? )?               # an address without a login,
      (?: /? {_ORDINARY_PART} (?: [-_./]{_ORDINARY_PART} ){{0,6}} /? )?  # words, a path, a region,
    | \d{{1,8}}                                                      # a number
    """,
    re.VERBOSE,
)
_SCHEMES = frozenset({"apikey", "basic", "bearer", "digest", "token"})
"""How a header announces its secret. They are words of everybody."""


def secrets_in(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values of environment variables whose names mean that they are secret."""
    return tuple(value for name, value in environ.items() if _SECRET_VARIABLE.search(name))


def secret_settings(settings: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values that may be secrets: by their names, or because they are no plain words.

    Of what a tool server is told, much is not secret: a mode, a level, a path, a region.
    """
    return tuple(
        value
        for name, value in settings.items()
        if _SECRET_SETTING.search(name) or not _ORDINARY_VALUE.fullmatch(value)
    )


def redact(text: str) -> str:
    """Mask everything in a text that looks like a key, a token or a password."""
    masked = _SECRETS.sub(MASK, text)
    return _NAMED.sub(lambda found: f"{found['name']}{MASK}", masked)


class SecretValues:
    """Masks known secrets, whole and word by word: `Bearer abc` may come back without `Bearer`."""

    def __init__(self, values: Iterable[str], shortest: int = SHORTEST_SECRET) -> None:
        known = {part for value in values for part in (value, *_words(value))}
        long_enough = (one for one in known if len(one) >= shortest)
        # The longest first: one may begin like another.
        self._known = sorted(long_enough, key=lambda one: (-len(one), one))

    def masked(self, text: str) -> str:
        """Mask known secrets only: what looks like one may be what somebody asked for."""
        for secret in self._known:
            text = text.replace(secret, MASK)
        return text

    def redacted(self, text: str) -> str:
        """Mask known secrets and what looks like one. For logs and errors, which quote anything."""
        return redact(self.masked(text))

    def __repr__(self) -> str:
        return f"SecretValues({len(self._known)})"


def _words(value: str) -> Iterable[str]:
    return (word for word in value.split() if word.lower() not in _SCHEMES)
