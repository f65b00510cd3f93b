"""A segment while the normalizers work on it, and where they may change its text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Protocol, TypeVar

from oshaberi.events import Identity
from oshaberi.text.atoms import code_spans, urls
from oshaberi.text.copied_state import CopiedState

# A segment while the normalizers work on it, and the text pieces it becomes.


class TextPiece:
    """A stretch of prose with one identity."""

    __slots__ = ("identity", "labelled", "line_start", "text")

    def __init__(
        self,
        text: str,
        identity: Identity | None = None,
        labelled: bool = False,
        line_start: bool = True,
    ) -> None:
        self.text = text
        self.identity = identity
        self.labelled = labelled
        """Begins a line on which the model wrote its render-modifier label."""
        self.line_start = line_start
        """Begins at a real start of a line of V, not after an overflow or sentence cut."""


class SegmentWork:
    """One prose segment. Each normalizer changes it in place."""

    __slots__ = ("ends_line", "opens_response", "pieces", "stop", "withheld")

    def __init__(
        self, pieces: list[TextPiece], ends_line: bool = True, opens_response: bool = False
    ) -> None:
        self.pieces = pieces
        self.ends_line = ends_line
        """The segment ends where its line ends (else the line goes on in the next segment)."""
        self.opens_response = opens_response
        """Nothing visible came before it in the whole response."""
        self.withheld: list[tuple[str, str]] = []
        """What was removed on purpose: (text, reason)."""
        self.stop: str | None = None
        """The foreign speaker's label at which the text was cut (S7)."""


class Normalizer(CopiedState):
    """One rule of step 06."""

    def apply(self, work: SegmentWork) -> None:
        """Change the segment in place."""
        raise NotImplementedError


# Finds where a normalizer may change text, and closes the gap where something was removed.


Spans = list[tuple[int, int]]
Edit = tuple[int, int, str]

# Letters of scripts that are written without spaces: they show no word edge.
UNSPACED: Final = r"\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_CLOSERS: Final = frozenset(",.!?;:)]}。、，！？；：）」』】")


class RangedRule(Protocol):
    """Something found in a text, such as a match."""

    def start(self) -> int: ...
    def end(self) -> int: ...


R = TypeVar("R", bound=RangedRule)


def code_and_urls(text: str, limit: int) -> Spans:
    """Return inline code and URLs, in order, disjoint. Discord tokens are not included."""
    spans = code_spans(text, limit)
    if "://" not in text:
        return spans
    disjoint: Spans = []
    for start, end in sorted(spans + urls(text)):
        if not disjoint or start >= disjoint[-1][1]:
            disjoint.append((start, end))
    return disjoint


def outside(found: Iterable[R], spans: Spans) -> list[R]:
    """Return those of `found` that touch none of `spans`. Both are in order, `spans` disjoint."""
    if not spans:
        return list(found)
    free = []
    i = 0
    for one in found:
        while i < len(spans) and spans[i][1] <= one.start():
            i += 1
        if i == len(spans) or one.end() <= spans[i][0]:
            free.append(one)
    return free


def is_spaced_letter(char: str) -> bool:
    """Return whether `char` is a letter or digit of a script with spaces between words."""
    if char.isascii():
        return char.isalnum()
    unspaced = "\u3005" <= char <= "\u30ff" or "\u31f0" <= char <= "\u9fff"
    return char.isalnum() and not unspaced and not "\uf900" <= char <= "\ufaff"


def rewrite(text: str, edits: Iterable[Edit]) -> str:
    """Replace spans (in order, disjoint). Where the new text is empty, close the gap."""
    out: list[str] = []
    at = 0
    for start, end, new in edits:
        if start > at:
            out.append(text[at:start])
        if new:
            out.append(new)
            at = end
        else:
            at = _close_seam(out, text, end)
    out.append(text[at:])
    return "".join(out)


def _close_seam(out: list[str], text: str, end: int) -> int:
    """Leave no double space, no space at a line's edge and no empty line; keep words apart."""
    before = _last(out)
    resume = _after_blanks(text, end) if before in " \t\n" else end
    after = text[resume] if resume < len(text) else "\n"
    if before in " \t" and (after == "\n" or (resume == end and after in _CLOSERS)):
        _trim(out)
        before = _last(out)
    if before == "\n" and after == "\n":
        return min(resume + 1, len(text))
    if (is_spaced_letter(before) and is_spaced_letter(after)) or before == after == "`":
        out.append(" ")  # two runs of backticks would join into another kind of code
    return resume


def _last(out: list[str]) -> str:
    return out[-1][-1] if out else "\n"


def _after_blanks(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t":
        at += 1
    return at


def _trim(out: list[str]) -> None:
    while out:
        out[-1] = out[-1].rstrip(" \t")
        if out[-1]:
            break
        out.pop()
