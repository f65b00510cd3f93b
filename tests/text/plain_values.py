"""Compares the engine's plain classes, which have no `__eq__`, by their fields."""

from __future__ import annotations

from collections.abc import Iterable


def fields(values: Iterable[object]) -> list[tuple[tuple[str, object], ...]]:
    """The names and values of each one's fields, in both builds."""
    return [tuple((name, getattr(one, name)) for name in _names(type(one))) for one in values]


def _names(kind: type) -> list[str]:
    """A compiled class keeps no slots, but says what it has."""
    names: tuple[str, ...] = getattr(kind, "__mypyc_attrs__", None) or kind.__dict__["__slots__"]
    return sorted(names)
