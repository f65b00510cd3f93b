"""Masks secrets in everything that is shown or stored."""

from __future__ import annotations

import re

MASK = "[secret]"

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


def redact(text: str) -> str:
    """Mask everything in a text that looks like a key, a token or a password."""
    masked = _SECRETS.sub(MASK, text)
    return _NAMED.sub(lambda found: f"{found['name']}{MASK}", masked)
