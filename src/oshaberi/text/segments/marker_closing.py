"""Spec 05, forced flush: closes the markers that are still open on the last line."""

from __future__ import annotations

import re

from oshaberi.text.segments.open_markers import CLOSERS
from oshaberi.text.span_scan import find_spans
from oshaberi.text.text_measure import utf16_len

_RUNS = "*~|"
_ENDS_IN_BREAK = re.compile(r"<br\s*/?>$", re.IGNORECASE)
_CLOSING = "[\"'」』”’»）)\\]*_~|]*"
_CLAUSE_END = re.compile(rf"[.!?…]+{_CLOSING}(?=\s|$)|[。！？]+{_CLOSING}|\n")


def closing(text: str, openers: list[tuple[str, int]], longest: int) -> str:
    """What to append to `text` (no white space behind it); openers with their places in it.

    What does not fit into one message cannot be closed there.
    """
    if _ENDS_IN_BREAK.search(text):
        return ""  # a closer would stand on a line of its own
    suffix = ""
    for kind, at in reversed(openers):
        closer = CLOSERS.get(kind, "")
        if utf16_len(text[at:]) + len(suffix) + len(closer) > longest:
            break
        if closer and _has_inside(text, kind, at) and not _lengthens_run(text, suffix, closer):
            suffix += closer
    return suffix


def clause_end(text: str, hold_limit: int) -> int:
    """Where the last complete clause of `text` ends, outside what belongs together; its length
    if there is none."""
    spans = find_spans(text, hold_limit)
    for found in reversed(list(_CLAUSE_END.finditer(text))):
        end = found.end()
        if text[:end].strip() and not any(begin < end < after for begin, after, _ in spans):
            return end
    return len(text)


def _has_inside(text: str, kind: str, at: int) -> bool:
    if kind == "](":
        return not text.endswith("](")
    return bool(text[at + len(kind) :].strip())


def _lengthens_run(text: str, suffix: str, closer: str) -> bool:
    """A run at the end of the text means something else when longer; so does one of over three."""
    mark = closer[0]
    if mark not in _RUNS:
        return False
    run = len(suffix) - len(suffix.rstrip(mark))
    return text.endswith(mark) or run + len(closer) > 3
