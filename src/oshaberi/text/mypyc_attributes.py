"""The decorator with which a class tells mypyc how to compile it; without mypyc it does nothing.

This module stays uncompiled: mypyc sees the decorator of `mypy_extensions`, Python the one below.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

C = TypeVar("C", bound=type)

if TYPE_CHECKING:
    from mypy_extensions import mypyc_attr as mypyc_attr
else:

    def mypyc_attr(**_attributes: bool) -> Callable[[C], C]:
        """Leaves the class as it is."""
        return lambda cls: cls
