"""Finds atoms: inline code, URLs and Discord tokens (mentions, emoji, timestamps).

Pure functions over complete text. `segments.lines` and `markers.rules` use the same
parts for text that is still arriving.
"""

from __future__ import annotations

import re
from typing import Final

from oshaberi.text.character_search import IS_COMPILED, CharacterTable
from oshaberi.text.line_kinds import marker_end

DISCORD_TOKEN: Final = re.compile(
    r"<(?:a?:\w{1,32}:\d{1,20}"  # custom emoji
    r"|@[!&]?\d{1,20}|\#\d{1,20}"  # user, role, channel
    r"|t:-?\d{1,17}(?::[tTdDfFRsS])?"  # timestamp
    r"|/[^<>:\n]{1,100}:\d{1,20}"  # slash command
    r")>"
)
CUSTOM_EMOJI: Final = re.compile(r"<a?:(\w{1,32}):(\d{1,20})>")

URL_START: Final = re.compile(r"(?:https?|ftps?)://", re.IGNORECASE)
URL_STOP: Final = re.compile(
    r"[\s<>\"`|"
    r"\u3000-\u3003\u3008-\u3011\u3014-\u301f"  # CJK punctuation and brackets
    r"\uff01\uff08\uff09\uff0c\uff0e\uff1a\uff1b\uff1f\uff5e\uff61-\uff64]"  # full-width
)
URL_STOPS: Final = CharacterTable(
    "\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007"
    '\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000<>"`|、。〃〈〉《》「」『』【】〔〕〖〗〘〙〚〛〜〝〞〟'
    "！（），．：；？～｡｢｣､"
)
"""The same, by character."""
_URL_STOP_IN_ASCII: Final = re.compile(r"[\t-\r\x1c- <>\"`|]")
"""That pattern for an ASCII text, several times faster."""
_GIVEN_BACK: Final = frozenset(".,;:!?'*_~]”’“‘„«»")

_ROUND: Final = re.compile(r"[()]")
_BACKTICKS: Final = re.compile(r"`+")
_CODE_LIMIT: Final = 500
_NOWHERE: Final = -2


def url_stop(text: str, start: int, end: int) -> int:
    """Return where a possible URL stops after `start`; -1 if it goes on to `end`."""
    if IS_COMPILED:
        stop = URL_STOPS.first(text, start, end)
        return stop if stop < end else -1
    pattern = _URL_STOP_IN_ASCII if text.isascii() else URL_STOP
    found = pattern.search(text, start, end)
    return found.start() if found else -1


def url_end(text: str, start: int, stop: int) -> int:
    """Return the end of the URL from `start` to `stop`, without punctuation at its end.

    Right after a `(` it ends where that closes: `[text](https://example.jp/)です`.
    """
    if text[start - 1 : start] == "(":
        stop = bracket_end(text, start, stop)
    surplus = text.count(")", start, stop) - text.count("(", start, stop)
    end = stop
    while end > start:
        last = text[end - 1]
        if last == ")" and surplus > 0:
            surplus -= 1
        elif last not in _GIVEN_BACK:
            break
        end -= 1
    return end


def bracket_end(text: str, start: int, stop: int, depth: int = 1) -> int:
    """Return where the outermost of `depth` open brackets closes, at most `stop`."""
    first = text.find(")", start, stop)
    if first < 0:
        return stop
    if depth == 1 and text.find("(", start, first) < 0:
        return first  # the usual case
    for bracket in _ROUND.finditer(text, start, stop):
        depth += 1 if bracket[0] == "(" else -1
        if depth == 0:
            return bracket.start()
    return stop


def urls(text: str) -> list[tuple[int, int]]:
    """Return the span of every URL in `text`."""
    spans = []
    found = URL_START.search(text)
    while found:
        stop = url_stop(text, found.end(), len(text))
        end = url_end(text, found.start(), stop if stop >= 0 else len(text))
        spans.append((found.start(), end))
        found = URL_START.search(text, max(end, found.end()))
    return spans


def backticks_end(text: str, at: int) -> int:
    """Return the end of the run of backticks that begins at `at`."""
    if text[at + 1 : at + 2] != "`":
        return at + 1  # the usual case
    run = _BACKTICKS.match(text, at + 1)
    return run.end() if run else at + 1


def code_limit(hold_limit: int) -> int:
    """Return how far inline code may reach.

    It is limited, so that a backtick never stalls the text (L6).
    """
    return min(hold_limit, _CODE_LIMIT)


def inline_code_close(text: str, start: int, ticks: int, limit: int, final: bool = True) -> int:
    """Return where inline code closes whose opening run ends at `start`.

    Returns 0 for never, -1 while undecided. A run of three or more is a fence, which inline
    code does not span.
    """
    furthest = start + limit + 1
    newline = text.find("\n", start, furthest)
    if newline < 0:
        stop, is_known = min(len(text), furthest), len(text) >= furthest
        close = _closing_run(text, start, stop, ticks, final)
    else:
        close = _closing_run(text, start, newline, ticks, final)
        if close != _NOWHERE:
            return close  # the usual case
        stop, is_known = _reach_after(text, newline, furthest)
        close = _closing_run(text, newline, stop, ticks, final)
    if close != _NOWHERE:
        return close
    return 0 if is_known or final else -1


def _closing_run(text: str, start: int, stop: int, ticks: int, final: bool) -> int:
    """Return the end of the closing run of `ticks` backticks that begins before `stop`.

    Returns 0 if a fence comes first, -1 while a run may get longer, else `_NOWHERE`.
    """
    tick = text.find("`", start, stop)
    while tick >= 0:
        end = backticks_end(text, tick)
        if end == len(text) and not final:
            return -1
        if end - tick == ticks:
            return end
        if end - tick > 2:
            return 0
        tick = text.find("`", end, stop)
    return _NOWHERE


def _reach_after(text: str, newline: int, limit: int) -> tuple[int, bool]:
    """Return how far inline code may extend past the line break at `newline`, if that is known.

    As in CommonMark it continues if the next line belongs to the paragraph, but not past a second
    break.
    """
    marker = marker_end(text[newline + 1 : limit])
    if marker:
        return newline, newline + 1 + marker < len(text)
    end = text.find("\n", newline + 1, limit)
    if end >= 0:
        return end, True
    return min(len(text), limit), len(text) >= limit


def code_spans(text: str, limit: int) -> list[tuple[int, int]]:
    """Return every inline code span: one or two backticks, closed within `limit`."""
    spans: list[tuple[int, int]] = []
    tick = text.find("`")
    while tick >= 0:
        end = backticks_end(text, tick)
        close = inline_code_close(text, end, end - tick, limit) if end - tick < 3 else 0
        if close:
            spans.append((tick, close))
        tick = text.find("`", close or end)
    return spans


def protected(text: str, limit: int) -> list[tuple[int, int]]:
    """Return the spans that most rules leave alone: inline code, URLs and Discord tokens.

    They are in order and disjoint.
    """
    spans = code_spans(text, limit)
    if "://" in text:
        spans += urls(text)
    if "<" in text:
        spans += [m.span() for m in DISCORD_TOKEN.finditer(text)]
    if len(spans) < 2:
        return spans
    spans.sort()
    disjoint = [spans[0]]
    for start, end in spans[1:]:
        if start >= disjoint[-1][1]:
            disjoint.append((start, end))
    return disjoint
