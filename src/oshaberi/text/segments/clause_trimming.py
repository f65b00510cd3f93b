"""Spec 05, forced flush: where the last complete clause ends, so that half of one stays behind."""

from __future__ import annotations

import re
from typing import Final

from oshaberi.text.markers.closed_pair_scan import find_spans

_CLOSING: Final = "[\"'」』”’»）)\\]*_~|]*"
_CLAUSE_END: Final = re.compile(rf"[.!?…]+{_CLOSING}(?=\s|$)|[。！？]+{_CLOSING}|\n")


def clause_end(text: str, hold_limit: int) -> int:
    """Return where the last complete clause of `text` ends, outside its spans.

    Returns the text's length if there is none.
    """
    spans = find_spans(text, hold_limit)
    for found in reversed(list(_CLAUSE_END.finditer(text))):
        end = found.end()
        if text[:end].strip() and not any(begin < end < after for begin, after, _ in spans):
            return end
    return len(text)
