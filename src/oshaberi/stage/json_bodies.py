"""Parses JSON from outside; what is too deep, too long or no JSON raises ValueError.

`json.loads` alone takes more than the stage can: nesting without end raises a RecursionError there
or later, NaN and Infinity are no JSON, and a number of thousands of digits cannot be written.
"""

from __future__ import annotations

import json
import math
from typing import Any

DEPTH_MOST = 100
DIGITS_MOST = 400
_LARGEST = 10**DIGITS_MOST


def parse_json(content: bytes | str) -> Any:
    """The value. Raises ValueError."""
    try:
        value = json.loads(content)
    except RecursionError:
        raise ValueError("the JSON is nested too deeply") from None
    _check(value)
    return value


def _check(value: Any) -> None:
    """Level by level, so that no depth is too much for it."""
    level = [value]
    for _ in range(DEPTH_MOST):
        level = [inner for one in level for inner in _inside(one)]
        if not level:
            return
    raise ValueError("the JSON is nested too deeply")


def _inside(value: Any) -> Any:
    if isinstance(value, dict):
        return value.values()
    if isinstance(value, list):
        return value
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("the JSON has a number that is none")
    if isinstance(value, int) and abs(value) > _LARGEST:
        raise ValueError("the JSON has a number that is too long")
    return ()
