"""Removes the marker by which a model says that it stays silent, before the text engine sees it.

A marker counts where it stands alone on a line outside code, or as the last word of the answer. In
the middle of a sentence it is talked about, and stays. Text that may become a marker is held back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import regex

from oshaberi.events import Event, Message
from oshaberi.stream.stream_context import StreamTextEngine

_UNSEEN = "\u200b\u200c\u200d\u2060\ufeff"
_OPENING_SIGNS = "`\"'*_~[(“‘「«<|-+#> \t\n" + _UNSEEN
_OPENING = rf"""(?:[-*+>#]{{1,3}}[ \t]+)?[`"'*_~\[(“‘「«<|{_UNSEEN}]{{0,3}}"""
"""A list item, a quote, a heading or small print, and marks around a word."""
_CLOSING = rf"""[`"'*_~\])”’」»>|.!。！…{_UNSEEN}]{{0,4}}"""
_FENCE = "```"
_PLACE = regex.compile(r"[\s>]")
"""A marker may begin behind it."""
_LINE_HEAD = 8
"""How many characters of a line are kept to recognise a fence."""


class SilenceMarkerFilter:
    """Takes text in pieces and returns it without markers. `found` tells whether one was there."""

    def __init__(self, markers: Sequence[str]) -> None:
        longest_first = sorted(markers, key=len, reverse=True)
        words = "|".join(map(_written, longest_first))
        alone = "|".join(map(_written_alone, longest_first))
        self._alone = regex.compile(rf"{_OPENING}(?:{alone}){_CLOSING}[^\S\n]*(\n\s*)?")
        self._last = regex.compile(rf"(?:{words})[.!]?\s*")
        self._marker = regex.compile(rf"{_OPENING}(?:{alone})")
        self._shortest = min(map(len, markers))
        self._held = ""
        self._line = ""
        self._before = "\n"
        self._in_code = False
        self.found = False

    def feed(self, text: str) -> str:
        """Return what can be shown so far."""
        rest, self._held = self._held + text, ""
        shown: list[str] = []
        while rest:
            if not self._may_begin():
                taken = _word(rest)
            elif self._is_open(rest):
                self._held = rest
                break
            elif (removed := self._removed(rest)) > 0:
                self.found = True
                rest = rest[removed:]
                continue
            else:
                taken = 1
            shown.append(rest[:taken])
            self._pass(rest[:taken])
            rest = rest[taken:]
        return "".join(shown)

    def end(self, *, cut: bool = False) -> str:
        """Return what was held back, without a marker. `cut`: the text ends by a stop."""
        held, self._held = self._held, ""
        if not held:
            return ""
        whole = self._marker.match(held) is not None
        begun = held.strip(_OPENING_SIGNS)
        if whole or (cut and 2 * len(begun) >= self._shortest):
            self.found = self.found or whole
            return ""
        return held

    def _may_begin(self) -> bool:
        return not self._in_code and (self._before.isspace() or self._before == ">")

    def _is_open(self, rest: str) -> bool:
        """Tell whether the next pieces may still make a marker of it."""
        if rest[0].isspace():
            return False
        if self._begins_line:
            found = self._alone.fullmatch(rest, partial=True)
            if found is not None and (found.partial or found[1] is None):
                return True
        return self._last.fullmatch(rest, partial=True) is not None

    def _removed(self, rest: str) -> int:
        """Return how many characters of a marker's own line go."""
        found = self._alone.match(rest) if self._begins_line else None
        return 0 if found is None or found[1] is None else found.end()

    @property
    def _begins_line(self) -> bool:
        return not self._line or self._before == ">"

    def _pass(self, text: str) -> None:
        self._before = text[-1]
        for number, part in enumerate(text.split("\n")):
            if number:
                if self._line.startswith(_FENCE):
                    self._in_code = not self._in_code
                self._line = ""
            if len(self._line) < _LINE_HEAD:
                self._line = (self._line + part).lstrip()[:_LINE_HEAD]


def _written(marker: str) -> str:
    r"""Return a pattern of a marker as models write it: `NO_REPLY`, `NO\_REPLY`."""
    return regex.escape(marker).replace("_", r"\\?_")


def _written_alone(marker: str) -> str:
    """Return a pattern of it on a line of its own: in any case, unless it is an ordinary word."""
    return _written(marker) if marker.isalpha() else f"(?i:{_written(marker)})"


def _word(text: str) -> int:
    """Return the length of the text up to and with the next place where a marker may begin."""
    found = _PLACE.search(text)
    return len(text) if found is None else found.end()


class MarkerFilteredEngine:
    """A text engine that is fed without markers."""

    def __init__(self, engine: StreamTextEngine, markers: Sequence[str]) -> None:
        self._engine = engine
        self._filter = SilenceMarkerFilter(markers)

    @property
    def found(self) -> bool:
        return self._filter.found

    @property
    def captures(self) -> bool:
        return self._engine.captures

    def feed(self, text: str) -> Sequence[Event]:
        shown = self._filter.feed(text)
        return self._engine.feed(shown) if shown else ()

    def flush(
        self, reason: Literal["tool_call", "stop"], *, trim_incomplete_clause: bool = False
    ) -> Sequence[Event]:
        last = self._last(cut=reason == "stop")
        return [*last, *self._engine.flush(reason, trim_incomplete_clause=trim_incomplete_clause)]

    def finish(self) -> Sequence[Event]:
        return [*self._last(), *self._engine.finish()]

    def discard(self) -> Sequence[Event]:
        return [*self._last(cut=True), *self._engine.discard()]

    def preview(self) -> Sequence[Message]:
        return self._engine.preview()

    def carry(self) -> Any:
        return self._engine.carry()

    def _last(self, *, cut: bool = False) -> Sequence[Event]:
        held = self._filter.end(cut=cut)
        return self._engine.feed(held) if held else ()
