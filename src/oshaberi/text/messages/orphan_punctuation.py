"""S1: punctuation with no text of its own waits for the text it belongs to.

Three or more signs, or an ellipsis, go in front of the next text. Fewer are a stray fragment, which
is withheld unless the response turns out to have nothing else (L1).
"""

from __future__ import annotations

import re
from typing import Final

from oshaberi.text.copied_state import CopiedState
from oshaberi.text.decision_observer import Observer
from oshaberi.text.line_kinds import begins_block
from oshaberi.text.measure import has_visible
from oshaberi.text.messages.packing import PackedPart

PUNCTUATION: Final = frozenset(".,!?;:。！？、，…")
_ALONE: Final = re.compile(r"[.,!?;。！？、，…]+|[.,!?;:。！？、，…]{1,2}")
_MOST: Final = 100


class OrphanPunctuation(CopiedState):
    """The orphan that waits for the next text, and the stray fragments so far."""

    def __init__(self, observer: Observer | None) -> None:
        self._observer = observer
        self._held: PackedPart | None = None
        self.strays: list[PackedPart] = []
        """Fragments that are sent if nothing else is."""

    @property
    def waits(self) -> bool:
        """Return whether an orphan waits for the next text."""
        return self._held is not None

    @property
    def is_sure(self) -> bool:
        """Return whether an orphan waits that will be sent, whatever follows."""
        return self._held is not None and len(self._held.text) > 2

    @property
    def is_full(self) -> bool:
        """Return whether the orphan is long enough for a message of its own."""
        return self._held is not None and len(self._held.text) > _MOST

    @property
    def has_many_strays(self) -> bool:
        """Return whether the stray fragments together are long enough for a message."""
        return len(self.strays) > _MOST

    def __bool__(self) -> bool:
        return self._held is not None or bool(self.strays)

    def joins(self, part: PackedPart) -> bool:
        """Return whether further punctuation is added to the orphan that waits."""
        return self._held is not None and self._held.identity == part.identity

    def hold(self, part: PackedPart) -> None:
        """Hold an orphan, behind the one that waits."""
        held = self._held
        if held is None:
            held = self._held = part
        else:
            held.text += part.text
            held.end = part.end
        if self._observer:
            self._observer.note("orphan", "held for the next segment", after=held.text)

    def put_before(self, part: PackedPart) -> bool:
        """Put the orphan in front of `part`. Return False if it has to leave alone."""
        held = self._held
        if held is None or part.is_code or held.identity != part.identity:
            return False
        if begins_block(part.text):
            return False
        self._held = None
        part.text = held.text + part.text
        part.lead = len(held.text)
        part.gap = held.gap
        part.labelled = part.labelled or held.labelled
        if self._observer:
            self._observer.note("orphan", "put in front", before=held.text, after=part.text)
        return True

    def take(self) -> PackedPart | None:
        """Remove and return the orphan that waits."""
        held, self._held = self._held, None
        return held

    def take_strays(self) -> list[PackedPart]:
        strays, self.strays = sorted(self.strays, key=_end), []
        return strays


def _end(part: PackedPart) -> int:
    return part.end


def may_be_alone(text: str) -> bool:
    """Tell quickly whether `text` begins as punctuation does, or a line with nothing visible."""
    return text[0] in PUNCTUATION or ("\n" in text and not has_visible(text[0]))


def is_alone(text: str) -> bool:
    """Return whether `text`, which is not empty, is nothing but punctuation."""
    return text[0] in PUNCTUATION and (len(text) == 1 or _ALONE.fullmatch(text) is not None)


def is_stray(text: str) -> bool:
    """Return whether punctuation is too short for an expression of its own."""
    return len(text) < 3 and "…" not in text


def in_one_line(text: str) -> str:
    """Remove line breaks, and lines with nothing visible: `<br>` may make them, too."""
    if "\n" not in text:
        return text
    return "".join(line.strip() for line in text.split("\n") if has_visible(line))
