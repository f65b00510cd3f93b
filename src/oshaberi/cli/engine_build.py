"""Decides whether the text engine that runs is compiled or pure Python."""

from __future__ import annotations

from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec

ENGINE = "oshaberi.text.engine"


def is_compiled() -> bool:
    """Check where the engine would be loaded from, without loading it."""
    spec = find_spec(ENGINE)
    origin = (spec.origin if spec else None) or ""
    return origin.endswith(tuple(EXTENSION_SUFFIXES))


def build_name() -> str:
    return "compiled" if is_compiled() else "pure Python"
