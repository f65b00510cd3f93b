"""The names of tags around a thought: `think`, `thinking`, `reasoning`, with a namespace or not."""

from __future__ import annotations

from typing import Final

THINK_NAME: Final = r"(?:[\w.-]{1,32}:)?(?:thinking|think|reasoning)"
"""Spec 05 C1, as a part of a pattern that ignores case."""
