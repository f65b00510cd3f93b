"""A refused request: what was sent, and which fields and tools the error names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from oshaberi.providers.capabilities.learned import Lesson
from oshaberi.providers.capabilities.model_capabilities import ModelCapabilities
from oshaberi.providers.error_classification import named_parameter

# Finds the fields of a request that an error names. A word in a sentence is not enough.
#
# An error names a field in a structured field (`param`, `loc`), in quotes, or after `parameter`,
# `argument`, `field` or the like. A name with an underscore counts anywhere.


_PATH = r"[A-Za-z_][\w.\[\]]*"
_QUOTED = re.compile(rf"""['"`“‘]({_PATH})['"`”’]""")
_AFTER_A_WORD = re.compile(
    rf"\b(?:(?:param(?:eter)?s?|arguments?|fields?|keys?)(?:\s*:)?|(?:model|supplied)\s*:)\s+({_PATH})",
    re.IGNORECASE,
)
_BEFORE_A_WORD = re.compile(
    rf"(?<![\w.])({_PATH})(?::\s+\w|\s+(?:param(?:eter)?|argument|field)\b)", re.IGNORECASE
)
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_WITH_AN_INSIDE = frozenset({"tools", "messages", "contents", "system", "input"})
"""Fields with fields inside: a problem inside one is not a problem with the whole."""


def named_parameters(message: str, body: Any, sent: Iterable[str]) -> tuple[str, ...]:
    """Return the sent fields that the error names, by the most reliable method that finds any."""
    fields = {_snake(name): name for name in sent}
    for names in (_structured(body), _in_words(message), _anywhere(message, fields)):
        found = dict.fromkeys(fields[name] for name in names if name in fields)
        if found:
            return tuple(found)
    return ()


def _structured(body: Any) -> Iterator[str]:
    inner = body.get("error", body) if isinstance(body, Mapping) else None
    if not isinstance(inner, Mapping):
        return
    param = named_parameter(inner)
    if param:
        yield from _steps(param)
    details = inner.get("detail") or inner.get("details") or inner.get("errors")
    for detail in details if isinstance(details, list) else ():
        place = detail.get("loc") if isinstance(detail, Mapping) else None
        if isinstance(place, list | tuple):
            yield from _steps(".".join(str(step) for step in place if step != "body"))


def _in_words(message: str) -> Iterator[str]:
    for pattern in (_QUOTED, _AFTER_A_WORD, _BEFORE_A_WORD):
        for found in pattern.finditer(message):
            yield from _steps(found[1])


def _anywhere(message: str, fields: Iterable[str]) -> Iterator[str]:
    for name in fields:
        if "_" in name and re.search(rf"\b{re.escape(name)}\b", message):
            yield name


def _steps(path: str) -> Iterator[str]:
    """Yield the names in a path: `reasoning.effort` names `reasoning` and `effort`."""
    steps = [_snake(step) for step in re.split(r"[.\[\]]+", path) if step]
    for step, following in zip_longest(steps, steps[1:]):
        if step in _WITH_AN_INSIDE and following is not None:
            return
        yield step


def _snake(name: str) -> str:
    return _CAMEL.sub("_", name).lower()


_QUOTED_TOOL = re.compile(r"(?<=['\"`“])[^'\"`“”\s]{1,200}(?=['\"`”])")
_PLACE_OF_A_TOOL = re.compile(r"(?:function_?declarations|tools)(?:\.|\[)(\d{1,4})", re.IGNORECASE)


def named_tools(message: str, detail: Any, tools: Sequence[str]) -> list[str]:
    """Return the tools that an error names, directly or by their place in the list."""
    words = frozenset(_QUOTED_TOOL.findall(message))
    quoted = [name for name in tools if name in words]
    if quoted:
        return quoted
    where = f"{message} {named_parameter(detail)}"
    # The last number counts: Gemini's tools are all in `tools[0]`.
    places = [int(place) for place in _PLACE_OF_A_TOOL.findall(where)]
    return [tools[place] for place in places[-1:] if place < len(tools)]


# A refused request: the error, and what was sent.


Found = re.Match[str]


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refused request. `detail` is the error object, `sent` the fields of the body."""

    message: str
    detail: Any
    sent: Mapping[str, Any]
    capabilities: ModelCapabilities
    has_images: bool = False

    @property
    def has_tools(self) -> bool:
        return bool(self.sent.get("tools"))

    def names(self, *fields: str) -> bool:
        """Return whether the error names one of these fields and the field was sent."""
        return bool(named_parameters(self.message, self.detail, set(fields) & self.sent.keys()))


Teach = Callable[[Refusal, Found], Lesson | None]


Body = Mapping[str, Any]

USEFUL = frozenset({"tools", "tool_choice"})
"""Fields that the answer needs, although a request without them is valid."""
RETRIES = 4
