"""Removes secrets and images from what is recorded, even where chunks cut through them.

Masking every word after "key" would spoil the recording ("the key is patience"). So a word is
masked only if it looks like a key, is a known secret, or looks random after a word that announces a
secret.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from oshaberi.secret_redaction import MASK, SecretValues, redact
from oshaberi.terminal_output import counted

SHORTEST = 8
"""Longer than `SHORTEST_SECRET`: the environment gives values that are ordinary words in prose."""
IMAGE = "[image]"
LONGEST_ARGUMENT = 2000

_WORD = re.compile(rf"\S{{{SHORTEST},}}")
_IMAGE = re.compile(r"data:[\w.+-]+/[\w.+-]+;base64,[A-Za-z0-9+/=_-]*")
_QUERY = re.compile(
    r"""(?P<name>[?&;\#](?:[\w.\[\]-]*[_.-])?
        (?:key|apikey|token|secret|sig|signature|password|passwd|pwd|auth|credential|hm)=)
        [^&;\s"'<>\#)\]]+""",
    re.VERBOSE | re.IGNORECASE,
)
_ANNOUNCES = re.compile(
    r"""(?:key|token|secret|password|passwd|authorization|bearer|basic)
        ["'`]?\s*(?:[:=]|\bis\b)?\s*["'`(\[]*$""",
    re.VERBOSE | re.IGNORECASE,
)
_ANNOUNCED_WITHIN = 40
_SECRET_FIELD = re.compile(
    r"(?:key|token|secret|password|passwd|authorization|cookie)$", re.IGNORECASE
)


class SecretSpan(NamedTuple):
    """A secret's position in the text, and its replacement."""

    start: int
    stop: int
    instead: str


class SecretMasker:
    """Masks the secrets of this process, and words that look like a secret."""

    def __init__(self, known: Iterable[str | None] = ()) -> None:
        self._known = SecretValues((one for one in known if one), SHORTEST)

    def text(self, text: str) -> str:
        return self.pieces([text])[0]

    def pieces(self, pieces: Sequence[str]) -> list[str]:
        """Mask a text that comes in pieces.

        A secret that is cut between two pieces is found too.
        """
        text = "".join(pieces)
        spans = list(self._spans(text))
        return _rebuild(pieces, text, spans) if spans else list(pieces)

    def value(self, value: Any, name: str = "") -> Any:
        """Mask a JSON value. Fields whose names announce a secret are always masked."""
        if isinstance(value, str):
            if value and _SECRET_FIELD.search(name):
                return MASK
            masked = self.text(value)
            return _shorten(masked) if name else masked
        if isinstance(value, Mapping):
            return {self.text(str(key)): self.value(one, str(key)) for key, one in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(one, name) for one in value]
        return value

    def _spans(self, text: str) -> Iterator[SecretSpan]:
        for found in _WORD.finditer(text):
            word = found[0]
            masked = self._word(word)
            if masked == word and _looks_random(word):
                before = text[max(0, found.start() - _ANNOUNCED_WITHIN) : found.start()]
                masked = MASK if _ANNOUNCES.search(before) else word
            if masked != word:
                yield _difference(found.start(), word, masked)

    def _word(self, word: str) -> str:
        word = self._known.masked(word)
        if "data:" in word:
            word = _IMAGE.sub(IMAGE, word)
        if "=" in word:
            word = _QUERY.sub(lambda found: f"{found['name']}{MASK}", word)
        return redact(word)


def _difference(at: int, word: str, masked: str) -> SecretSpan:
    """Return only the changed part of a word: a text without spaces is one long word."""
    before = _shared_length(word, masked)
    after = _shared_length(word[before:][::-1], masked[before:][::-1])
    return SecretSpan(at + before, at + len(word) - after, masked[before : len(masked) - after])


def _shared_length(one: str, other: str) -> int:
    """Return how many characters both texts have in common at the start."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def _looks_random(word: str) -> bool:
    return any(c.isdigit() for c in word) and any(c.isalpha() for c in word)


def _shorten(text: str) -> str:
    if len(text) <= LONGEST_ARGUMENT:
        return text
    return f"{text[:LONGEST_ARGUMENT]}… [cut: {counted(len(text) - LONGEST_ARGUMENT, 'character')}]"


def _rebuild(pieces: Sequence[str], text: str, spans: Sequence[SecretSpan]) -> list[str]:
    """Return the pieces, with each span replaced in the piece where it begins."""
    rebuilt: list[str] = []
    at = nth = 0
    for piece in pieces:
        end, made = at + len(piece), []
        while at < end:
            span = spans[nth] if nth < len(spans) else SecretSpan(end, end, "")
            if at < span.start:
                stop = min(end, span.start)
                made.append(text[at:stop])
            else:
                made.append(span.instead if at == span.start else "")
                stop = min(end, span.stop)
                nth += stop == span.stop
            at = stop
        rebuilt.append("".join(made))
    return rebuilt
