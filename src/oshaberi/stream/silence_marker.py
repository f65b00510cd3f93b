"""Removes the marker by which a model says that it stays silent, before the text engine sees it.

An answer that begins with a marker is silence; what follows is the model's reason. Later a marker
counts alone on a line, at the beginning of the last line, or as the last word. Within a sentence it
is talked about, and stays, as it does in code. If somebody asked about it, only an answer that is
nothing but a marker is silence. Text that may become a marker is held back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import regex

from oshaberi.events import Details, Event, Message, Thought, Withheld
from oshaberi.stream.context import StreamTextEngine
from oshaberi.stream.silence_patterns import (
    MOST_BLANKS,
    SILENT,
    After,
    silence_patterns,
    trimmed_reason,
)
from oshaberi.text.captured_blocks import Capture, match_tag

SILENCE = "silence"
"""Why a marker, and the reason beside it, are withheld."""
LONGEST_LINE = 300
"""How many characters of a line that begins with a marker wait for its end: is it the last one?"""
_PIECE = 1024
"""How much is read at once: the rest of it is copied at each word (L7)."""
_FENCE = "```"
_PLACE = regex.compile(r"[\s>]")
"""A marker may begin behind it."""
_LINE_HEAD = 8
"""How many characters of a line are kept to recognise a fence."""


class SilenceMarkerFilter:
    """Takes text in pieces and returns it without markers. `found` tells whether one was there.

    `names`: what the persona may call itself before its words. `is_offered`: the model was told of
    the markers. Then an answer that begins with one is silence, whatever word comes next.
    `is_topic`: somebody asked about them.
    """

    def __init__(
        self,
        markers: Sequence[str],
        names: Iterable[str] = (),
        *,
        is_offered: bool = False,
        is_topic: bool = False,
        starts_in_thought: bool = False,
    ) -> None:
        self.found = False
        self._patterns = silence_patterns(
            tuple(markers), tuple(names), is_offered=is_offered, is_topic=is_topic
        )
        self._block = Capture(0, starts_in_thought=True) if starts_in_thought else None
        """A think or details block before the first words."""
        self._is_first = True
        """Nothing visible has come yet."""
        self._held = ""
        self._line = ""
        self._before = "\n"
        self._in_code = False
        self._silent: list[str] | None = None
        """The text of an answer that begins with a marker."""
        self._removed: list[str] = []

    def feed(self, text: str) -> str:
        """Return what can be shown so far."""
        if len(text) <= _PIECE:
            return self._fed(text)
        pieces = (text[at : at + _PIECE] for at in range(0, len(text), _PIECE))
        return "".join([self._fed(piece) for piece in pieces])

    def _fed(self, text: str) -> str:
        rest, self._held = self._held + text, ""
        shown: list[str] = []
        while rest and self._silent is None:
            taken = self._first_taken(rest) if self._is_first else self._taken(rest)
            if taken is None:
                self._held = rest
                break
            if taken > 0:
                shown.append(rest[:taken])
                self._pass(rest[:taken])
            rest = rest[abs(taken) :]
        if self._silent is not None:
            self._silent.append(rest)
        return "".join(shown)

    def end(self, *, cut: bool = False) -> str:
        """Return what was held back, without a marker. `cut`: the text ends by a stop."""
        held, self._held = self._held, ""
        if not held:
            return ""
        if self._is_first and self._ends_first(held):
            self._be_silent()
            self._silent = [held]
        elif self._ends(held):
            self._remove(held)
        elif cut and self._patterns.is_half(held):
            self._removed.append(held)
        else:
            return held
        return ""

    @property
    def withheld(self) -> Sequence[str]:
        """Return what was not shown, in order."""
        silent = () if self._silent is None else ("".join(self._silent),)
        return [*self._removed, *silent]

    def reason(self) -> tuple[str, Sequence[Thought | Details]]:
        """Return why the model stays silent, as it said, and the blocks that came with it."""
        said = self._patterns.reason_in("".join(self._silent or ()))
        capture = Capture(0)
        parts = [*capture.feed(said), *capture.finish()]
        words = "".join(one for one in parts if isinstance(one, str))
        return trimmed_reason(words), [one for one in parts if isinstance(one, Thought | Details)]

    def _first_taken(self, rest: str) -> int | None:
        """Look for the first visible words. Return how much can be shown; None: wait."""
        if self._block is not None:
            return self._block_taken(self._block, rest)
        if rest[0].isspace():
            return 1
        if rest[0] == "<" and (tag := match_tag(rest, 0, False)) is not None:
            return None if tag.partial else self._tag_taken(tag)
        after = self._patterns.after(rest, is_first=True)
        if after is After.UNDECIDED or self._patterns.is_fenced(rest):
            return None
        if after in SILENT:
            self._be_silent()
            return 0
        self._is_first = False
        return self._taken(rest)

    def _tag_taken(self, tag: regex.Match[str]) -> int:
        if not tag["close"]:
            self._block = Capture(0)
            self._block_taken(self._block, tag[0])
        return tag.end()

    def _block_taken(self, block: Capture, rest: str) -> int:
        """Pass a think or details block, which can only end with a `>`."""
        taken = rest.find(">") + 1 or len(rest)
        for _ in block.feed(rest[:taken]):
            pass
        if not block.captures:
            self._block = None
        return taken

    def _taken(self, rest: str) -> int | None:
        """Return how much can be shown; below 0: how much is removed; None: wait."""
        if self._patterns.is_topic:
            return len(rest)
        if self._in_code or not (self._before.isspace() or self._before == ">"):
            return _word(rest)
        if rest[0].isspace():
            return 1
        if rest[0] not in self._patterns.first_signs:
            return _word(rest)
        if self._begins_line:
            after = self._patterns.after(rest, is_first=False)
            if after is After.UNDECIDED or (after is After.REASON and _may_be_last(rest)):
                return None
            if after is After.LINE_END:
                end = rest.index("\n") + 1
                self._remove(rest[:end])
                return -end
        return None if self._patterns.is_last_word(rest) else 1

    def _ends_first(self, held: str) -> bool:
        """Return whether the whole answer is a marker, perhaps with a reason."""
        after = self._patterns.after(held, is_first=True, is_end=True)
        return after in SILENT or self._patterns.is_fenced(held, is_end=True)

    def _ends(self, held: str) -> bool:
        """Return whether the answer ends with a marker, perhaps with a reason."""
        if self._patterns.is_last_word(held, is_end=True):
            return True
        after = self._patterns.after(held, is_first=False, is_end=True)
        return self._begins_line and after in SILENT

    def _be_silent(self) -> None:
        self.found = True
        self._silent = []

    def _remove(self, text: str) -> None:
        self.found = True
        self._removed.append(text)

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


def _word(text: str) -> int:
    """Return the length of the text up to and with the next place where a marker may begin."""
    found = _PLACE.search(text)
    return len(text) if found is None else found.end()


def _may_be_last(rest: str) -> bool:
    """Return whether the first line may be the last one: only blanks are known after it."""
    end = rest.find("\n", 0, LONGEST_LINE)
    if end < 0:
        return len(rest) < LONGEST_LINE
    return len(rest) - end <= MOST_BLANKS and rest[end:].isspace()


class MarkerFilteredEngine:
    """A text engine that is fed without markers. Its last events name what was withheld."""

    def __init__(self, engine: StreamTextEngine, silence: SilenceMarkerFilter) -> None:
        self._engine = engine
        self._filter = silence

    @property
    def found(self) -> bool:
        return self._filter.found

    @property
    def reason(self) -> str:
        """Return why the model stays silent, as it said."""
        return self._filter.reason()[0]

    @property
    def captures(self) -> bool:
        return self._engine.captures

    def feed(self, text: str) -> Sequence[Event]:
        shown = self._filter.feed(text)
        return self._engine.feed(shown) if shown else ()

    def flush(
        self,
        reason: Literal["tool_call", "stop"],
        *,
        trim_incomplete_clause: bool = False,
        only_whole: bool = False,
    ) -> Sequence[Event]:
        last = self._last(cut=reason == "stop")
        rest = self._engine.flush(
            reason, trim_incomplete_clause=trim_incomplete_clause, only_whole=only_whole
        )
        return [*last, *rest, *self._withheld()]

    def finish(self) -> Sequence[Event]:
        return [*self._last(), *self._engine.finish(), *self._withheld()]

    def discard(self) -> Sequence[Event]:
        return [*self._last(cut=True), *self._engine.discard(), *self._withheld()]

    def preview(self) -> Sequence[Message]:
        return self._engine.preview()

    def carry(self) -> Any:
        return self._engine.carry()

    def _last(self, *, cut: bool = False) -> Sequence[Event]:
        held = self._filter.end(cut=cut)
        return self._engine.feed(held) if held else ()

    def _withheld(self) -> Sequence[Event]:
        """Return it at the end: elsewhere its place would depend on how the text was cut."""
        kept = [Withheld(text, SILENCE) for text in self._filter.withheld]
        return [*self._filter.reason()[1], *kept]
