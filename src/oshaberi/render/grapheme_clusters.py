"""Splits text into grapheme clusters: characters with their marks, emoji with their parts."""

from __future__ import annotations

import regex

# `\X` looks back over a whole chain of flags at each flag, so pairs are matched first.
_CLUSTER = regex.compile(r"\p{Regional_Indicator}{2}[\p{Mn}\p{Me}\u200d]*+|\X")


def clusters(text: str) -> list[str]:
    """Split the text into grapheme clusters."""
    found: list[str] = _CLUSTER.findall(text)
    return found
