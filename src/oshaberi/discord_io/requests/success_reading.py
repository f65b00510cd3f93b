"""Reads Discord's answer to a request that succeeded.

An answer without what it must have (`{}`, `[]`, null, an empty body) does not tell whether the
request took effect: it is ambiguous, like a 5xx.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from oshaberi.delivery.sink import AmbiguousError

LONGEST_ID = 20
"""Digits of the largest number of 64 bits."""


def id_of(answer: object, what: Literal["message", "webhook"] = "message") -> int:
    """Return the id of the created or found object. Raises AmbiguousError without one."""
    value = str(answer.get("id")) if isinstance(answer, Mapping) else ""
    if not (value.isascii() and value.isdecimal() and len(value) <= LONGEST_ID):
        raise AmbiguousError(f"a success without a {what} in it")
    return int(value)


def objects_of(answer: object) -> list[dict[str, Any]]:
    """Return a list of objects, possibly empty. Raises AmbiguousError for anything else."""
    if not isinstance(answer, list) or not all(isinstance(one, dict) for one in answer):
        raise AmbiguousError("a success without a list in it")
    return answer
