"""Finds where sentences end (spec 07). Pure, and safe to call while text still arrives."""

from __future__ import annotations

import re
from typing import Final

from oshaberi.text.line_kinds import marker_end
from oshaberi.text.measure import extends
from oshaberi.text.sentences.end_rules import (
    BACK,
    NO,
    TERMINATORS,
    UNDECIDED,
    YES,
    SentenceSpot,
    after_dot,
    after_ellipsis,
    after_mark,
    following,
)

# Finds lists within one line: `1) Flour 2) Eggs 3) Milk`, `a. Wash b. Dry`.
#
# Needs the whole line. Only a line that begins with an item's marker can have more of them, and
# each must be the successor of the one before, in the same style: prose is not touched.


_MARKER: Final = r"([•⁃‣·] ?)?(\d{1,3}|[a-z])(\.\)|\.|\))(?= )"
_HEAD: Final = re.compile(r"[ \t]{0,8}" + _MARKER)
_HEAD_BEGINS: Final = frozenset(" \t•⁃‣·abcdefghijklmnopqrstuvwxyz")
_FIRST: Final = re.compile(r"^[ \t]*" + _MARKER, re.MULTILINE)
_LATER: Final = re.compile(r"(?<= )" + _MARKER)
_CAPITAL_AFTER: Final = re.compile(r"[.)]+ +[\"'“‘(*_]*[^\W\d_a-z]")


def begins_items(text: str, line: int) -> bool:
    """Return whether the line at `line` begins with an item's marker."""
    first = text[line : line + 1]
    if first not in _HEAD_BEGINS and not first.isdigit():
        return False
    return _HEAD.match(text, line) is not None


def item_breaks(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return where items after the first begin: (end of the text before, start of the marker)."""
    breaks: list[tuple[int, int]] = []
    first = _FIRST.search(text, start, end)
    while first:
        newline = text.find("\n", first.end(), end)
        line_end = end if newline < 0 else newline
        breaks += _later_items(text, first, line_end)
        first = _FIRST.search(text, line_end, end)
    return breaks


def _later_items(text: str, first: re.Match[str], line_end: int) -> list[tuple[int, int]]:
    found = []
    bullet, label, style = first.groups()
    last = first.end()
    for marker in _LATER.finditer(text, last, line_end):
        if marker.group(1) != bullet or marker.group(3) != style:
            continue
        if marker.group(2) != _successor(label) or not _item_begins(text, marker):
            continue
        label = marker.group(2)
        before = marker.start()
        while text[before - 1].isspace():
            before -= 1
        if before > last:
            found.append((before, marker.start()))
        last = marker.end()
    return found


def _successor(label: str) -> str:
    if label.isascii() and label.isdigit():
        return str(int(label) + 1)
    return chr(ord(label[0]) + 1)


def _item_begins(text: str, marker: re.Match[str]) -> bool:
    """Return whether an item begins. `2)` is clear; after `2.` a capital must follow."""
    if marker.group(3) == ")" and marker.group(2).isdigit():
        return True
    return _CAPITAL_AFTER.match(text, marker.start(3)) is not None


# Finds where sentences end (spec 07). Pure, and safe to call while text still arrives.
#
# An answer other than -1 never changes when more text comes. It depends on at most 80 characters
# before (on the line, not before `start`) and about 80 after the run, so each call is O(1).


__all__ = [
    "TERMINATORS",
    "UNDECIDED",
    "clause_end_at",
    "cut_off_end",
    "run_end",
    "sentence_end",
    "sentence_ends",
]

_MAX_RUN: Final = 64
_MAX_CLOSERS: Final = 16

_RUN: Final = re.compile(f"[{TERMINATORS}]+")
_CLOSING: Final = frozenset("\"'”’»›)]}」』）】〉》］｝*_~|")
_CLOSERS: Final = re.compile(r"[\"'”’»›)\]}」』）】〉》］｝*_~|]*")
# After 。！？ nothing separates the sentences, so decoration after the first belongs to it.
_WIDE_CLOSERS: Final = re.compile(
    r"[”’»›)\]}」』）】〉》］｝♪♫♡♥☆★～〜\u2600-\u27bf\u2b00-\u2bff\ufe0f\u200d"
    r"\U0001f300-\U0001faff\U000e0020-\U000e007f]*"
)
_EITHER_WAY: Final = re.compile(r"\"|'|\*{1,3}|_{1,3}|~{1,2}|\|{1,2}")
_EITHER_MARKS: Final = frozenset("\"'*_~|")
_OPENING: Final = frozenset("“‘«‹([{「『（【〈《")
# What continues a sentence after a quotation: Japanese particles, Chinese "he said", commas.
_SPOKEN: Final = re.compile(
    r"と(?![にこきて])|って|なんて|など|[のをがへ]|に(?!ほ)|は(?!い)|だと|です"
    r"|[他她它我你您]们?(?:说|問|问|道|喊|叫|笑|答)"
)
_REACH: Final = 4

_ALL: Final = frozenset(TERMINATORS)
_WIDE: Final = frozenset("。．｡！？")
_DOTS: Final = frozenset(".…‥")
_LONE_DOTS: Final = frozenset("…‥")
_WIDE_DOTS: Final = frozenset("。．｡")
_QUOTES: Final = frozenset("\"'”’»)]」』）】〉》")
_LAUGHS: Final = ("（笑）", "(笑)", "（笑)", "(笑）")


def run_end(text: str, at: int) -> int:
    """Return the end of the run of terminators at `at`, to continue if no sentence ends there.

    A call inside a run returns 0, so it is safe to continue from where the run ended so far.
    """
    if text[at] in _ALL and text[at + 1 : at + 2] not in _ALL:
        return at + 1
    run = _RUN.match(text, at)
    return run.end() if run else at


def sentence_end(text: str, at: int, final: bool, start: int = 0) -> int:
    """Decide whether a sentence ends at the run of terminators that begins at `text[at]`.

    Returns the index after the sentence, with its closing quotes, brackets and emphasis; 0 if
    none ends there; -1 while more text is needed (never when `final`).
    """
    if at > start and text[at - 1] in _ALL:
        return NO
    if text[at] == "." and text[at + 1 : at + 2].isalnum():
        return NO  # the usual case: main.py, 3.14
    end = run_end(text, at)
    if end - at > _MAX_RUN:
        return NO
    if end == len(text):
        return end if final else UNDECIDED
    wide = text[end - 1] in _WIDE
    low = _lookback(text, at, start)
    close = _wide_close(text, low, at, end) if wide else _close(text, end)
    if close - end > _MAX_CLOSERS:
        return NO
    if close == len(text):
        return close if final else UNDECIDED
    if wide:
        return _wide_end(text, at, end, close, low, final)
    if not text[close].isspace():
        return NO
    kind, ahead = following(text, close, final)
    if kind == "end":
        return close
    if kind == "more":
        return UNDECIDED
    if kind != "upper" and _is_ellipsis(text, at, end):
        return NO  # the usual case
    return _spaced_end(SentenceSpot(text, at, end, close, low, final, kind, ahead))


def cut_off_end(text: str, at: int, start: int = 0) -> int:
    """Decide as `sentence_end` does, for a text that was cut off, so that what follows is unknown.

    Where that matters, a sentence ends only if it would end both before a name and before a number.
    So none ends after `ask Dr. ` and `on page no. `, nor after `It costs 3.`, which may be 3.50.
    """
    found = sentence_end(text, at, False, start)
    if found != UNDECIDED:
        return found
    end = run_end(text, at)
    if end == len(text) and text[at:end] == "." and text[at - 1 : at].isdigit():
        return NO
    low = _lookback(text, at, start)
    known = text[low:]
    if not any(char.isspace() for char in text[end:]):
        known += " "
    found = sentence_end(known + "Xx", at - low, True)
    if found > 0 and _QUOTES.isdisjoint(text[end : low + found]):  # no number is that of `"no."`
        found = sentence_end(known + "5", at - low, True)
    return low + found if found > 0 else NO


def clause_end_at(text: str, at: int) -> int:
    """Decide whether a clause of a text that was cut off ends at the run at `text[at]`.

    This deliberately includes more than sentences, since a stop should take away little: an
    ellipsis ends a clause, and so does a sentence within quotes or brackets (`He said "yes." and`).
    After the number of a list item none ends, however long the number is.
    """
    found = cut_off_end(text, at)
    end = run_end(text, at)
    if found > 0:
        return NO if text[at:end] == "." and _ends_marker(text, at) else found
    if end - at > _MAX_RUN or _is_inside(text, at):
        return NO
    low = _lookback(text, at, 0)
    wide = text[end - 1] in _WIDE
    close = end
    if end < len(text):
        close = _wide_close(text, low, at, end) if wide else _close(text, end)
    if close < len(text) and not wide and not text[close].isspace():
        return NO
    run = text[at:end]
    if run != "." and _DOTS.issuperset(run):
        return close
    if close == end or _QUOTES.isdisjoint(text[end:close]):
        return NO
    inner = cut_off_end(text[low:close], at - low)
    return low + inner if inner > 0 else NO


def sentence_ends(text: str, start: int = 0, end: int | None = None) -> list[int]:
    """Return every sentence end of a complete text, as the index after each sentence.

    Items of a list within one line (`1) … 2) …`) are sentences too.
    """
    if end is None or end > len(text):
        end = len(text)
    elif end < len(text):
        text = text[:end]
    ends: list[int] = []
    begin = start
    for before, marker in item_breaks(text, start, end):
        ends += _plain_ends(text, begin, before)
        if not ends or ends[-1] < before:
            ends.append(before)
        begin = marker
    return ends + _plain_ends(text, begin, end)


def _plain_ends(text: str, begin: int, stop: int) -> list[int]:
    ends = []
    run = _RUN.search(text, begin, stop)
    while run:
        found = sentence_end(text, run.start(), True, begin)
        if found:
            ends.append(found)
            begin = found
        run = _RUN.search(text, found or run.end(), stop)
    return ends


def _is_inside(text: str, at: int) -> bool:
    """Return whether the run at `at` began before."""
    return at > 0 and text[at - 1] in _ALL


def _ends_marker(text: str, at: int) -> bool:
    """Return whether the period at `at` belongs to the marker of a list item."""
    low = _lookback(text, at, 0)
    if low and text[low - 1] != "\n":
        return False
    head = text[low : at + 1]
    return marker_end(head + " ") > len(head)


def _lookback(text: str, at: int, start: int) -> int:
    low = max(start, at - BACK)
    return max(low, text.rfind("\n", low, at) + 1)


def _close(text: str, end: int) -> int:
    """Return the end of the closing quotes, brackets and emphasis at `end`."""
    if text[end] not in _CLOSING:
        return end
    closers = _CLOSERS.match(text, end, end + _MAX_CLOSERS + 1)
    return closers.end() if closers else end


def _wide_close(text: str, low: int, at: int, end: int) -> int:
    """Like `_close`. A mark that can open and close closes only if one is open on the line."""
    first = text[end]
    if first in _OPENING or first.isalnum() or (first.isascii() and first not in _CLOSING):
        return end  # the usual case
    close = end
    while close - end <= _MAX_CLOSERS:
        after_this = text[close : close + 1]
        if after_this in _ALL:
            break  # another run
        if after_this in _EITHER_MARKS:
            mark = _mark(text, close)
            after = close + len(mark)
            if after < len(text) and text.count(mark, low, at) % 2 == 0:
                break
        else:
            found = _WIDE_CLOSERS.match(text, close, end + _MAX_CLOSERS + 1)
            after = found.end() if found else close
        if after == close:
            break
        close = after
    return close


def _mark(text: str, at: int) -> str:
    """Return the mark at `at` in the length of its kind: `*`, `**`, `||`."""
    if text[at + 1 : at + 2] != text[at]:
        return text[at]
    found = _EITHER_WAY.match(text, at)
    return found[0] if found else text[at]


def _wide_end(text: str, at: int, end: int, close: int, low: int, final: bool) -> int:
    """Decide for a run that ends in 。！？, which needs no white space after it."""
    if text[end - 1] == "．" and text[max(low, at - 1) : at].isdigit():
        return NO
    after = text[close]
    if after.isspace():
        return close
    if after in "、，,:" or text[close - 1] == "\u200d" or extends(text, close):
        return NO
    if end - at > 1 and _WIDE_DOTS.issuperset(text[at:end]):
        return NO
    quoted = text[close - 1] in _QUOTES
    return _wide_tail(text, close, final, quoted) if quoted or after in "（(" else close


def _wide_tail(text: str, close: int, final: bool, quoted: bool) -> int:
    """Decide by what follows: a laugh belongs to the sentence; `と言った` or `他说` continue it."""
    if text[close] in _ALL:
        return close  # another run
    if not final and len(text) - close < _REACH:
        return UNDECIDED
    if quoted and _SPOKEN.match(text, close, close + _REACH):
        return NO
    laughs = text.startswith(_LAUGHS, close) and not extends(text, close + 3)
    return close + 3 if laughs else close


def _is_ellipsis(text: str, at: int, end: int) -> bool:
    """Return whether a run of terminators is nothing but dots, and not a period."""
    if end == at + 1:
        return text[at] in _LONE_DOTS
    return text[at] in _DOTS and _DOTS.issuperset(text[at:end])


def _spaced_end(spot: SentenceSpot) -> int:
    """Decide for a run followed by white space and text, by the kind of run."""
    if spot.end == spot.at + 1 and spot.text[spot.at] == ".":
        verdict = after_dot(spot)
    elif spot.kind == "joint":
        verdict = NO
    elif _is_ellipsis(spot.text, spot.at, spot.end):
        verdict = after_ellipsis(spot)
    else:
        verdict = after_mark(spot)
    return spot.close if verdict == YES else verdict
