"""Masks secrets in everything that is shown or stored.

`redact` finds a secret by its form, `SecretValues` knows it by value, whatever its form.
`bot.logs.log_lines` masks log lines, `bot.config.redaction` settings.

Anybody may have written the text: a model's server, a tool, a page. So the work is linear in its
length. If only the start of a text is shown (`most`), it is cut before it is masked. The cut may go
through a secret, and half a secret is not recognised, so anything at the cut that could be the
beginning of a secret is dropped.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Mapping

MASK = "[secret]"
SHORTEST_SECRET = 6
"""Anything shorter is not a secret, and masking it would tear words apart."""

MARGIN = 1000
"""How many characters beyond the shown ones are searched for secrets."""
_ENDS = "\"',;&)}]"
"""Characters that no secret contains, except known ones."""
_OF_SECRETS = "".join({*string.ascii_letters, *string.digits, *string.punctuation} - {*_ENDS})
_WEB_TOKEN = re.compile(r"\beyJ[\w-]{8,}(?P<rest>\.[\w-]{8,}\.[\w-]+)?")
"""A JSON web token, or what only begins like one: it is matched as a whole, too, because looking
for a token at each `eyJ` in a long word would be quadratic."""
_SECRETS = re.compile(
    r"""
      \b(?!xai-responses(?![\w-]))(?:sk|pk|rk|gsk|xai|nvapi|pst)-[\w-]{8,}  # provider keys
    | \bAIza[\w-]{10,}
    | \b[\w-]{23,28}\.[\w-]{6}\.[\w-]{27,}                        # Discord tokens
    | (?<=/api/webhooks/)\d+/[\w-]+
    | (?<=://)[^\s/@:]+:[^\s/@]+(?=@)                             # user:password in a URL
    """,
    re.VERBOSE,
)
_NAME = r"""(?P<name>\b(?:bearer\s+
        | (?:api[_-]?key|access[_-]?token|token|secret|password|authorization|key)
          ["']?\s*(?:[=:]|\bis\b|\bprovided:)\s*["']?(?:bearer\s+)?))"""
_VALUE = r"""[^\s"',;&)}\]]"""
_NAMED = re.compile(rf"{_NAME}(?P<value>{_VALUE}{{8,}})", re.VERBOSE | re.IGNORECASE)
_NAMED_AT_CUT = re.compile(rf"{_NAME}{_VALUE}{{0,7}}\Z", re.VERBOSE | re.IGNORECASE)
_LOGIN_BEGUN = re.compile(r"(?<=://)[^\s/@]+")
_WEB_TOKEN_BEGUN = re.compile(r"\beyJ[\w-]*(?:\.[\w-]*(?:\.[\w-]*)?)?")
LONGEST_UNRECOGNISED = 64
"""The length of the longest part of a Discord token that does not look like one. Web tokens and
logins may be longer."""
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
"""Words with which a header announces its secret. They are also ordinary words."""


def secrets_in(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values of environment variables whose names mean that they are secret."""
    return tuple(value for name, value in environ.items() if _SECRET_VARIABLE.search(name))


def secret_settings(settings: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values that may be secrets: by their names, or because they are no plain words.

    Much of a tool server's environment is not secret: a mode, a level, a path, a region.
    """
    return tuple(
        value
        for name, value in settings.items()
        if _SECRET_SETTING.search(name) or not _ORDINARY_VALUE.fullmatch(value)
    )


def redact(text: str, most: int | None = None) -> str:
    """Mask everything in a text that looks like a key, a token or a password.

    With `most`, return no more than so many characters of it; `…` ends a text that was cut.
    """
    if most is None or len(text) <= most:
        return _redacted(text)
    if len(text) <= most + MARGIN:
        return _shortened(_redacted(text), most)
    return _shortened(_redacted_until_cut(text[: most + MARGIN]), most)


def _redacted(text: str) -> str:
    masked = _WEB_TOKEN.sub(lambda found: MASK if found["rest"] else found[0], text)
    masked = _SECRETS.sub(MASK, masked)
    return _NAMED.sub(lambda found: f"{found['name']}{MASK}", masked)


def _redacted_until_cut(text: str) -> str:
    """Mask a text that was cut, and drop what may be the beginning of a secret at its end."""
    for pattern in (_LOGIN_BEGUN, _WEB_TOKEN_BEGUN):
        begun = [found.start() for found in pattern.finditer(text) if found.end() == len(text)]
        text = text[: begun[0]] if begun else text
    # Of other secrets so much may be left that they are not recognised, but not more.
    masked = _redacted(text)
    masked = masked[:-LONGEST_UNRECOGNISED] + masked[-LONGEST_UNRECOGNISED:].rstrip(_OF_SECRETS)
    named = _NAMED_AT_CUT.search(masked, max(0, len(masked) - LONGEST_UNRECOGNISED))
    return masked if named is None else masked[: named.end("name")]


def _shortened(text: str, most: int) -> str:
    return f"{text[: most - 1]}…"


class SecretValues:
    """Masks known secrets, whole and word by word: `Bearer abc` may come back without `Bearer`."""

    def __init__(self, values: Iterable[str], shortest: int = SHORTEST_SECRET) -> None:
        known = {part for value in values for part in (value, *_words(value))}
        long_enough = (one for one in known if len(one) >= shortest)
        # The longest first: one may begin like another.
        self._known = sorted(long_enough, key=lambda one: (-len(one), one))

    def masked(self, text: str, most: int | None = None) -> str:
        """Mask known secrets only: what looks like one may be what somebody asked for.

        `most` as in `redact`.
        """
        if most is not None and len(text) > most:
            return _shortened(self._masked(self._without_a_beginning(text[: most + MARGIN])), most)
        return self._masked(text)

    def redacted(self, text: str, most: int | None = None) -> str:
        """Mask known secrets and what looks like one. For logs and errors, which quote anything."""
        if most is None or len(text) <= most + MARGIN:
            return redact(self._masked(text), most)
        start = self._masked(self._without_a_beginning(text[: most + MARGIN]))
        return _shortened(_redacted_until_cut(start), most)

    def _masked(self, text: str) -> str:
        for secret in self._known:
            text = text.replace(secret, MASK)
        return text

    def _without_a_beginning(self, text: str) -> str:
        """Return a text that was cut, without the beginning of a known secret at its end."""
        begun = 0
        for secret in self._known:
            longest = min(len(secret) - 1, len(text))
            lengths = (n for n in range(longest, begun, -1) if text.endswith(secret[:n]))
            begun = next(lengths, begun)
        return text[: len(text) - begun]

    def __repr__(self) -> str:
        return f"SecretValues({len(self._known)})"


def _words(value: str) -> Iterable[str]:
    return (word for word in value.split() if word.lower() not in _SCHEMES)
