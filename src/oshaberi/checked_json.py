"""JSON and numbers from outside: the only way in for them.

`parse_json` refuses what JSON does not have (NaN, Infinity), integers beyond 64 bits, numbers of
absurd length, and documents that are too long, too deep or have too many values. `whole_count` and
`bounded_seconds` check a number before anybody calculates with it. `JsonNode` is a value that knows
its path, for error messages.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Sequence
from functools import lru_cache
from typing import Any, NoReturn

from oshaberi.errors import SceneError

MOST_LENGTH = 4 * 1024 * 1024
MOST_DEPTH = 200
"""Code that walks through a value by recursion must not run out of stack."""
MOST_VALUES = 150_000
"""How many commas and opening brackets a document may have outside its texts: parsing the most
expensive ones takes about 50 ms."""
SHORT_JSON = 2 * MOST_DEPTH
"""In a document of this length the limits above cannot be exceeded."""
LONGEST_NUMBER = 100
MOST_COUNT = 10**9
MOST_SECONDS = 86_400.0

_LONGEST_INTEGER = len(str(-(2**63)))


class RefusedJsonError(json.JSONDecodeError):
    """A document that is refused. `reason` says what is wrong with it."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"it {reason}", "", 0)
        self.reason = reason


def parse_json(content: str | bytes | bytearray, *, is_own_file: bool = False) -> Any:
    """Parse a document from outside. Raises JSONDecodeError, which is a ValueError.

    `is_own_file`: the user of a command chose the file, so it may be as long as they like.
    """
    return _parsed(content, _DECODER, is_own_file)


def parse_json_once(text: str, *, is_own_file: bool = False) -> Any:
    """Parse a document in which no object has a key twice."""
    return _parsed(text, _ONCE_DECODER, is_own_file)


def whole_count(value: object, most: int = MOST_COUNT) -> int | None:
    """Return a count; None unless it is a whole number from 0 to `most`."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 <= value <= most else None


def bounded_seconds(value: object, most: float = MOST_SECONDS) -> float | None:
    """Return seconds, at most `most`; None unless it is a finite number of at least 0.

    A number may be written as a text, as in a header.
    """
    if isinstance(value, str) and len(value) > LONGEST_NUMBER:
        return None
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        seconds = float(value)
    except (ValueError, OverflowError):
        return None
    return min(seconds, most) if math.isfinite(seconds) and seconds >= 0 else None


# -- parsing -------------------------------------------------------------------------------------


def _parsed(content: str | bytes | bytearray, decoder: json.JSONDecoder, is_own_file: bool) -> Any:
    if len(content) > MOST_LENGTH and not is_own_file:
        raise RefusedJsonError(f"is longer than {MOST_LENGTH:,} characters")
    text = content if isinstance(content, str) else _decoded(content)
    opened = text.count("[") + text.count("{") if len(text) > SHORT_JSON else 0
    if not is_own_file:
        _check_values(text)
    try:
        value = decoder.decode(text)
    except RecursionError:
        raise RefusedJsonError("is nested too deeply") from None
    if opened > MOST_DEPTH:
        _check_depth(value)
    return value


def _decoded(content: bytes | bytearray) -> str:
    try:
        return content.decode(json.detect_encoding(content), "surrogatepass")
    except UnicodeDecodeError:
        raise RefusedJsonError("is not a text") from None


def _check_values(text: str) -> None:
    if len(text) <= MOST_VALUES or sum(map(text.count, "[{,")) <= MOST_VALUES:
        return
    # Commas inside strings do not count. Each comma has at most a key and a value, with two quotes
    # each.
    plain = text.replace("\\\\", "").replace('\\"', "")
    is_full = plain.count('"') > 4 * (MOST_VALUES + 1)
    if not is_full:
        bare = "".join(plain.split('"')[::2])
        is_full = sum(map(bare.count, "[{,")) > MOST_VALUES
    if is_full:
        raise RefusedJsonError(f"has more than {MOST_VALUES:,} values")


def _check_depth(value: Any) -> None:
    """Go down level by level, without recursion."""
    level = [value]
    for _ in range(MOST_DEPTH):
        level = [inner for one in level for inner in _inside(one) if isinstance(inner, dict | list)]
        if not level:
            return
    raise RefusedJsonError("is nested too deeply")


def _inside(value: Any) -> Any:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _whole(digits: str) -> int:
    if len(digits) <= _LONGEST_INTEGER:
        number = int(digits)
        if -(2**63) <= number < 2**64:
            return number
    raise RefusedJsonError("has an integer of more than 64 bits")


def _finite(digits: str) -> float:
    if len(digits) <= LONGEST_NUMBER:
        number = float(digits)
        if math.isfinite(number):
            return number
    raise RefusedJsonError("has a number that is too large or too long")


def _constant(name: str) -> NoReturn:
    raise RefusedJsonError(f"has {name}, which is no number")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for key, value in pairs:
        if key in fields:
            raise ValueError(f"{key}: is given twice")
        fields[key] = value
    return fields


def _decoder(pairs: Callable[[list[tuple[str, Any]]], Any] | None = None) -> json.JSONDecoder:
    return json.JSONDecoder(
        # The cache costs less than a call: the same numbers come with every token.
        parse_int=lru_cache(maxsize=4096)(_whole),
        parse_float=_finite,
        parse_constant=_constant,
        object_pairs_hook=pairs,
    )


_DECODER = _decoder()
_ONCE_DECODER = _decoder(_once)
_scanner: Any = _DECODER
scan_json: Callable[[str, int], tuple[Any, int]] = _scanner.scan_once
"""Parses a text of at most `SHORT_JSON` without white space around it: for every token."""


# -- values that know their path -----------------------------------------------------------------

_KINDS = {str: "a text", bool: "true or false", int: "a number", float: "a number"}
_KINDS |= {list: "a list", dict: "an object", type(None): "null"}


class JsonNode:
    """A value. `source` is the file, `path` the place in it: `chunks[3].type`."""

    def __init__(self, value: object, source: str, path: str = "") -> None:
        self.value = value
        self._source = source
        self._path = path

    def fail(self, reason: str) -> NoReturn:
        place = f"{self._source}: {self._path}" if self._path else self._source
        raise SceneError(f"{place}: {reason}")

    def text(self) -> str:
        return self.value if isinstance(self.value, str) else self._expected("a text")

    def optional_text(self) -> str | None:
        return None if self.value is None else self.text()

    def flag(self) -> bool:
        return self.value if isinstance(self.value, bool) else self._expected("true or false")

    def whole(self, least: int = 0, most: int = 10**12) -> int:
        value = self.value
        if not isinstance(value, int) or isinstance(value, bool):
            self._expected("a whole number")
        if not least <= value <= most:
            self.fail(f"{value} is not a whole number from {least} to {most}")
        return value

    def one_of(self, choices: Sequence[str]) -> str:
        value = self.text()
        if value not in choices:
            self.fail(f"{value!r} is not one of: {', '.join(choices)}{hint(value, choices)}")
        return value

    def items(self) -> list[JsonNode]:
        if not isinstance(self.value, list):
            self._expected("a list")
        return [self._child(value, f"[{i}]") for i, value in enumerate(self.value)]

    def texts(self) -> tuple[str, ...]:
        return tuple(item.text() for item in self.items())

    def fields(
        self, allowed: Collection[str], required: Collection[str] = ()
    ) -> dict[str, JsonNode]:
        """Return the fields. An unknown or a missing one is an error."""
        if not isinstance(self.value, dict):
            self._expected("an object")
        for key in self.value:
            if key not in allowed:
                known = hint(key, allowed) or f"; known are {', '.join(sorted(allowed))}"
                self._child(None, f".{key}").fail(f"no such key{known}")
        for key in required:
            if key not in self.value:
                self._child(None, f".{key}").fail("is missing")
        return {key: self._child(value, f".{key}") for key, value in self.value.items()}

    def _child(self, value: object, step: str) -> JsonNode:
        return JsonNode(value, self._source, (self._path + step).lstrip("."))

    def _expected(self, what: str) -> NoReturn:
        self.fail(f"must be {what}, not {_KINDS.get(type(self.value), 'something else')}")


def hint(word: str, known: Collection[str]) -> str:
    """Return `; did you mean …?` if a known word is similar, else an empty text."""
    from difflib import get_close_matches

    near = get_close_matches(word.lower(), known, n=1)
    return f"; did you mean {near[0]!r}?" if near else ""
