"""Spec 05, forced flush: closes the markers that are still open on the last line."""

from __future__ import annotations

import re
from typing import Final

from oshaberi.text.atoms import code_limit, protected
from oshaberi.text.line_kinds import BREAK_TAG
from oshaberi.text.markers.closed_pair_scan import find_openers
from oshaberi.text.markers.open_markers import CLOSERS
from oshaberi.text.text_measure import utf16_len

_RUNS: Final = "*~|"


def openers_behind_breaks(text: str, hold_limit: int) -> list[tuple[str, int]] | None:
    """Return the openers of the line that is the last one once `<br>` is a line break.

    None if `text` has no `<br>`. While the text came, the tag was read as text, so markers were
    paired across it.
    """
    if BREAK_TAG.search(text) is None:
        return None
    made: list[str] = []
    at = 0
    for begin, end in [*protected(text, code_limit(hold_limit)), (len(text), len(text))]:
        made += (BREAK_TAG.sub(_as_newline, text[at:begin]), text[begin:end])
        at = end
    broken = "".join(made)
    line = broken.rfind("\n") + 1
    return [opener for opener in find_openers(broken, hold_limit) if opener[1] >= line]


def _as_newline(tag: re.Match[str]) -> str:
    """Return a line break that is as long as the tag, so that positions stay."""
    return "\n" + " " * (len(tag.group()) - 1)


def closing(text: str, openers: list[tuple[str, int]], longest: int) -> str:
    """Return what to append to `text`, which must not end in white space, to close `openers`.

    Openers are given with their positions. A stretch that does not fit into one message cannot
    be closed there.
    """
    suffix = ""
    for kind, at in reversed(openers):
        closer = CLOSERS.get(kind, "")
        if utf16_len(text[at:]) + len(suffix) + len(closer) > longest:
            break
        if closer and _has_inside(text, kind, at) and not _lengthens_run(text, suffix, closer):
            suffix += closer
    return suffix


def _has_inside(text: str, kind: str, at: int) -> bool:
    if kind == "](":
        return not text.endswith("](")
    return bool(text[at + len(kind) :].strip())


def _lengthens_run(text: str, suffix: str, closer: str) -> bool:
    """Tell whether a closer would make a run at the end mean something else.

    That is so if the text ends with the same mark, or the run gets longer than three.
    """
    mark = closer[0]
    if mark not in _RUNS:
        return False
    run = len(suffix) - len(suffix.rstrip(mark))
    return text.endswith(mark) or run + len(closer) > 3
