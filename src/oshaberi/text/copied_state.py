"""Lets a preview copy the state of an engine, in the compiled build too.

The small values of the engine are plain classes with slots: compiled, their fields are those of a C
structure, while named tuples and data classes stay Python objects that are looked up by name.
"""

from __future__ import annotations

from typing import Self


class CopiedState:
    """The base of every part of an engine that remembers something and is copied with it.

    Such a part holds other parts, never their bound methods: a copy would call the original.
    """

    __slots__ = ()

    def __new__(cls, *_arguments: object, **_named: object) -> Self:
        """mypyc gives a class without it a `__new__` that asks for what `__init__` needs."""
        return super().__new__(cls)


class SharedValue:
    """The base of a value that never changes: the copy of an engine has the same one."""

    __slots__ = ()

    def __deepcopy__(self, _memo: object) -> Self:
        return self
