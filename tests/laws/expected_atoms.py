"""What L5 forbids to cut, found in the prose of V by the specification's own words."""

from __future__ import annotations

import re

import regex

from .visible_text import BLOCK_MARK

_TOKEN = re.compile(
    r"(?<!\\)<(?:a?:\w{2,32}:\d{15,20}|@[!&]?\d{15,20}|#\d{15,20}|t:\d{1,12}(?::[tTdDfFR])?)>"
)
_URL = re.compile(r"(?:https?|ftps?)://[^\s<>\"`|\u3000-\u303f\uff00-\uff65]+", re.IGNORECASE)
LINK = re.compile(r"(?<!\\)\[[^\[\]()\n<>`:|*~\"]+\]\(https?://[^\s()<>`|\"*~]+\)")
_LINK_SHAPED = re.compile(r"\[[^\[\]\n]+\]\([^()\n]+\)")
_AFTER_URL = frozenset(".,;:!?'*_~]”’“‘„«»")  # quotes that close around a URL, too
_RUN = re.compile(r"`+")
_BLOCK_BEGINS = re.compile(
    rf"[ \t]*(?:(?:[-*•+]|[0-9]{{1,9}}[.)]|#{{1,3}}|-#|>|>>>)(?:[ \t]|(?<=>)$)"
    rf"|\|(?!\|)|{BLOCK_MARK}|$)",
    re.MULTILINE,
)
"""A blank line, or one that begins a block of its own: inline code does not go on there."""
_CLUSTER = regex.compile(r"\X")
_NEAR = 4

Span = tuple[int, int]


def utf16(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def atoms(prose: str, limit: int, hold: int) -> list[Span]:
    """Spans that no message boundary may fall into, as far as they fit into a message."""
    spans = [m.span() for m in _TOKEN.finditer(prose)]
    spans += _urls(prose)
    spans += [m.span() for m in LINK.finditer(prose)]
    code, unsure = inline_code(prose, hold)
    known = [(a, b) for a, b in spans if not any(c < b and a < d for c, d in unsure)]
    return [(a, b) for a, b in _merged(known + code) if utf16(prose[a:b]) <= limit]


def near_atoms(prose: str, limit: int, hold: int) -> list[Span]:
    """The atoms, and what may be one: a link to anything, code about as long as code may be."""
    links = [found.span() for found in _LINK_SHAPED.finditer(prose)]
    return atoms(prose, limit, hold) + inline_code(prose, hold + 2 * _NEAR + 1)[0] + links


def _merged(spans: list[Span]) -> list[Span]:
    """The outermost spans; two that cross are left out, for nobody says which of them wins."""
    merged: list[Span] = []
    crossed = False
    for start, end in sorted(spans, key=lambda s: (s[0], -s[1])):
        if not merged or start >= merged[-1][1]:
            if crossed:
                merged.pop()
            merged.append((start, end))
            crossed = False
        elif end > merged[-1][1]:
            merged[-1] = (merged[-1][0], end)
            crossed = True
    return merged[:-1] if crossed else merged


def _urls(prose: str) -> list[Span]:
    spans = []
    found = _URL.search(prose)
    while found:
        spans.append(_given_back(prose, *found.span()))
        found = _URL.search(prose, max(spans[-1][1], found.start() + 1))
    return spans


def _given_back(prose: str, start: int, end: int) -> Span:
    if prose[start - 1 : start] == "(":
        end = _bracket_end(prose, start, end)
    while end > start:
        url = prose[start:end]
        unbalanced = url[-1] == ")" and url.count(")") > url.count("(")
        if not unbalanced and url[-1] not in _AFTER_URL:
            break
        end -= 1
    return start, end


def _bracket_end(prose: str, start: int, end: int) -> int:
    """A URL right behind a `(` ends where that closes."""
    depth = 1
    for at in range(start, end):
        depth += {"(": 1, ")": -1}.get(prose[at], 0)
        if depth == 0:
            return at
    return end


def inline_code(prose: str, hold: int, *, in_rows: bool = False) -> tuple[list[Span], list[Span]]:
    """Code spans by the one definition; and the rest of each paragraph where the limit is a near
    thing, or a line may be a table's row, so that what is code there is not known.

    `in_rows`: what may be a row is taken for text, so that code goes over its end."""
    spans: list[Span] = []
    unsure: list[Span] = []
    at = 0
    while opener := _RUN.search(prose, at):
        at = opener.end()
        closer = _closer(prose, opener)
        if closer is None:
            continue
        length = closer.start() - at
        line = prose[prose.rfind("\n", 0, at) + 1 : at]
        may_be_row = "|" in line and "\n" in prose[at : closer.start()] and not in_rows
        if may_be_row or abs(length - hold) <= _NEAR:
            at = _paragraph_end(prose, at, len(prose))
            unsure.append((opener.start(), at))
        elif length < hold:
            at = closer.end()
            spans.append((opener.start(), at))
    return spans, unsure


def without_code_breaks(prose: str, hold: int) -> str:
    """The prose with blanks for the line breaks in inline code, and in what may be such code."""
    parts: list[str] = []
    at = 0
    for start, end in inline_code(prose, hold + 2 * _NEAR + 1, in_rows=True)[0]:
        parts += [prose[at:start], prose[start:end].replace("\n", " ")]
        at = end
    return "".join(parts) + prose[at:]


def _closer(prose: str, opener: re.Match[str]) -> re.Match[str] | None:
    """The next run as long as the opener, on its line or the next one of its paragraph."""
    if len(opener[0]) > 2:
        return None
    for run in _RUN.finditer(prose, opener.end(), _paragraph_end(prose, opener.end(), 2)):
        if len(run[0]) == len(opener[0]) or len(run[0]) > 2:
            return run if len(run[0]) < 3 else None
    return None


def _paragraph_end(prose: str, at: int, lines: int) -> int:
    """The end of the paragraph, or of so many lines of it."""
    end = prose.find("\n", at)
    while end >= 0 and lines > 1 and not _BLOCK_BEGINS.match(prose, end + 1):
        end = prose.find("\n", end + 1)
        lines -= 1
    return end if end >= 0 else len(prose)


def cuts_cluster(prose: str, at: int, limit: int, kept: list[Span]) -> bool:
    """Whether `at` lies inside a grapheme cluster that would have fitted into a message,
    together with the atom that it ends, if it does."""
    start = prose.rfind("\n", 0, at) + 1
    start = max(start, prose.rfind(" ", 0, at) + 1)
    for cluster in _CLUSTER.finditer(prose, start):
        if cluster.end() >= at:
            return cluster.end() > at and utf16(_with_atom(prose, cluster, kept)) <= limit
    return False


def in_huge_cluster(text: str, message: str, limit: int, kept: list[Span]) -> bool:
    """Whether the rest of a cluster that begins `message` is of one longer than any message,
    together with the atom that it ends, if it does."""
    rest = _CLUSTER.match(message)
    if rest is None:
        return False
    found = (c for c in _CLUSTER.finditer(text) if rest[0] in c[0])
    return any(utf16(_with_atom(text, c, kept)) > limit for c in found)


def _with_atom(text: str, cluster: regex.Match[str], kept: list[Span]) -> str:
    atom = [a for a, b in kept if a < cluster.start() < b]
    return text[min([cluster.start(), *atom]) : cluster.end()]
