"""Parses JSON from outside. Invalid, too deep or too long JSON raises ValueError.

`json.loads` alone accepts more than the stage can handle: deep nesting raises a RecursionError, NaN
and Infinity are not JSON, and a number with thousands of digits cannot be written again.
"""

from __future__ import annotations

import json
import math
from typing import Any

DEPTH_MOST = 100
DIGITS_MOST = 400
_LARGEST = 10**DIGITS_MOST


def parse_json(content: bytes | str) -> Any:
    """Return the value. Raises ValueError."""
    try:
        value = json.loads(content)
    except RecursionError:
        raise ValueError("the JSON is nested too deeply") from None
    _check(value)
    return value


def _check(value: Any) -> None:
    """Check the depth, level by level, without recursion."""
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
