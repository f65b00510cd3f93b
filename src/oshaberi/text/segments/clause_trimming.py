"""Spec 05, forced flush: where the last complete clause ends, so that half of one stays behind."""

from __future__ import annotations

import re
from typing import Final

from oshaberi.text.line_kinds import marker_end
from oshaberi.text.markers.closed_pair_scan import find_spans
from oshaberi.text.sentences.sentence_end_search import sentence_end

_CLOSING: Final = "[\"'」』”’»）)\\]*_~|]*"
_MARK: Final = "[.!?…‼⁇⁈⁉।॥؟۔]"
_CLAUSE_END: Final = re.compile(
    # A run of marks is looked at once, from its first: from the others it would end the same.
    rf"(?<!{_MARK}){_MARK}+{_CLOSING}(?=\s|$)|[。｡！？]+{_CLOSING}|\n"
)


def clause_end(text: str, hold_limit: int) -> int:
    """Return where the last complete clause of `text` ends, outside its spans; 0 if none does."""
    spans = find_spans(text, hold_limit)
    for found in reversed(list(_CLAUSE_END.finditer(text))):
        end = found.end()
        if not text[:end].strip() or any(begin < end < after for begin, after, _ in spans):
            continue
        if found[0] != "." or _is_full_stop(text, found.start()):
            return end
    return 0


def _is_full_stop(text: str, at: int) -> bool:
    """Tell whether the period at `at` is not that of an abbreviation or of a list's number."""
    line = text.rfind("\n", 0, at) + 1
    head = text[line : at + 1]
    return marker_end(head + " ") <= len(head) and sentence_end(text, at, True, line) > 0
