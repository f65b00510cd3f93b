"""A value of a JSON document that knows its path, for error messages."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NoReturn

from oshaberi.errors import SceneError

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
