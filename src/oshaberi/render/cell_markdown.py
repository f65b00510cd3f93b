"""Parses the Markdown of one table cell into styled spans. Pure and linear."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import Flag, auto

from oshaberi.text.atoms import DISCORD_TOKEN, code_spans, url_end

# Text in one style: what a cell's Markdown becomes, and what fonts are chosen by.


class CellMark(Flag):
    """The style of a span: a combination of bold, italic, code, link and so on."""

    PLAIN = 0
    BOLD = auto()
    ITALIC = auto()
    UNDERLINE = auto()
    STRIKE = auto()
    CODE = auto()
    LINK = auto()
    MENTION = auto()


@dataclass(frozen=True, slots=True)
class StyledSpan:
    """Text in one style; a newline is a line break. The last span of a link has its `url`."""

    text: str
    marks: CellMark = CellMark.PLAIN
    url: str = ""


# Emphasis: the runs of `*`, `_` and `~~` that open and close it are paired in one pass.


_KINDS = {"*": ("**", "*"), "_": ("__", "_"), "~": ("~~",)}
_LONGEST_RUN = 3

Pair = tuple[int, int, str]


@dataclass(frozen=True, slots=True)
class Delimiter:
    """A run of `*`, `_` or `~` that may open or close emphasis."""

    run: str
    opens: bool
    closes: bool


def pair(runs: list[tuple[int, Delimiter]]) -> list[Pair]:
    """Return (opener, closer, kind) for every match.

    Opener and closer are the numbers in `runs`.
    """
    waiting: dict[str, list[int]] = {kind: [] for kinds in _KINDS.values() for kind in kinds}
    pairs: list[Pair] = []
    for at, delimiter in runs:
        if len(delimiter.run) > _LONGEST_RUN:
            continue
        left = len(delimiter.run)
        if delimiter.closes:
            left = _close(waiting, pairs, at, delimiter.run[0], left)
        if delimiter.opens:
            _open(waiting, at, delimiter.run[0], left)
    return pairs


def _close(
    waiting: dict[str, list[int]], pairs: list[Pair], at: int, character: str, left: int
) -> int:
    """Close every emphasis this run can close. Return how many of its characters are left."""
    while kind := _closable(waiting, character, left):
        opener = waiting[kind].pop()
        for others in waiting.values():
            while others and others[-1] > opener:  # opened inside and never closed there
                others.pop()
        pairs.append((opener, at, kind))
        left -= len(kind)
    return left


def _closable(waiting: dict[str, list[int]], character: str, left: int) -> str:
    kinds = [kind for kind in _KINDS[character] if len(kind) <= left and waiting[kind]]
    if left == _LONGEST_RUN:  # `*a **b***`: the inner one first
        kinds.sort(key=lambda kind: -waiting[kind][-1])
    return kinds[0] if kinds else ""


def _open(waiting: dict[str, list[int]], at: int, character: str, left: int) -> None:
    for kind in _KINDS[character]:
        if len(kind) <= left:
            waiting[kind].append(at)
            left -= len(kind)


# The parser. Malformed markup stays text. What Discord would draw differently (mentions, emoji,
# timestamps) is put into words.


_CODE_LIMIT = 1000


_Token = StyledSpan | Delimiter

_TOKEN = re.compile(
    r"(?P<escape>\\[!-/:-@\[-`{-~])"
    r"|(?P<link>\[(?P<label>[^\[\]\n]{1,500})\]"
    r"\((?P<target><?[^\s()<>]{1,2000}(?:\([^\s()<>]{0,500}\)[^\s()<>]{0,500})?>?)\))"
    r"|(?P<bare>https?://[^\s<>\"`|]+)"
    r"|(?P<br><br\s{0,5}/?>)"
    rf"|(?P<discord>{DISCORD_TOKEN.pattern})"
    r"|(?P<entity>&(?:\#\d{1,7}|\#x[0-9a-f]{1,6}|[a-z]{2,31});)"
    r"|(?P<delimiter>\*+|_+|~~)",
    re.IGNORECASE,
)
_MARKUP = re.compile(r"[\\\[<&*_~`]|://")
_MARK_OF = {
    "*": CellMark.ITALIC,
    "**": CellMark.BOLD,
    "_": CellMark.ITALIC,
    "__": CellMark.UNDERLINE,
    "~~": CellMark.STRIKE,
}


def parse_cell(cell: str) -> list[StyledSpan]:
    """Split a cell into spans, without the markup."""
    if not _MARKUP.search(cell):
        return [StyledSpan(cell)] if cell else []
    tokens = list(_tokens(cell))
    looks = _emphasis(tokens)
    return [
        replace(token, marks=token.marks | look) if look else token
        for token, look in zip(tokens, looks, strict=True)
        if isinstance(token, StyledSpan) and token.text
    ]


def plain_text(cell: str, *, addresses: bool = False) -> str:
    """Return the cell's text without markup.

    With `addresses`, a link's target follows it in parentheses.
    """
    words = []
    for span in parse_cell(cell):
        words.append(span.text)
        if addresses and span.url and span.url != span.text:
            words.append(f" ({span.url})")
    return "".join(words)


def _tokens(text: str) -> Iterator[_Token]:
    """Yield spans and delimiters in order. A code span wins over markup that begins inside it."""
    codes = iter(code_spans(text, _CODE_LIMIT))
    code = next(codes, None)
    found = _TOKEN.search(text)
    at = 0
    while code or found:
        if code and code[0] < at:
            code = next(codes, None)
        elif found and found.start() < at:
            found = _TOKEN.search(text, at)
        elif code and (not found or code[0] <= found.start()):
            yield StyledSpan(text[at : code[0]])
            yield _code(text[code[0] : code[1]])
            at = code[1]
        elif found:
            yield StyledSpan(text[at : found.start()])
            tokens, at = _tokens_of_match(text, found)
            yield from tokens
    yield StyledSpan(text[at:])


def _code(source: str) -> StyledSpan:
    r"""Return the content of a code span. In a table, `\|` is a pipe even inside code."""
    ticks = 2 if source.startswith("``") else 1
    inside = source[ticks:-ticks].replace("\\|", "|")
    if len(inside) > 2 and inside[0] == inside[-1] == " ":
        inside = inside[1:-1]
    return StyledSpan(inside, CellMark.CODE)


def _tokens_of_match(text: str, found: re.Match[str]) -> tuple[list[_Token], int]:
    """Return the tokens of one match, and the index where reading continues."""
    source, end = found.group(), found.end()
    match found.lastgroup:
        case "escape":
            return [StyledSpan(source[1])], end
        case "link":
            return _link(found["label"], found["target"].strip("<>")), end
        case "bare":
            end = max(url_end(text, found.start(), end), found.start() + len("http://"))
            address = text[found.start() : end]
            return [StyledSpan(address, CellMark.LINK, address)], end
        case "br":
            return [StyledSpan("\n")], end
        case "discord":
            return [_discord(source)], end
        case "entity":
            return [StyledSpan(html.unescape(source))], end
    return [_delimiter(text, found)], end


def _link(label: str, target: str) -> list[_Token]:
    spans = [replace(span, marks=span.marks | CellMark.LINK, url="") for span in parse_cell(label)]
    return [*spans[:-1], *(replace(span, url=target) for span in spans[-1:])]


def _discord(token: str) -> StyledSpan:
    """Return a Discord token as words. A picture cannot look up the user or channel it names."""
    body = token[1:-1]
    if body.startswith("t:"):
        return StyledSpan(_moment(token))
    if body.startswith("/"):
        return StyledSpan(body.rpartition(":")[0], CellMark.MENTION)
    if body.startswith("#"):
        return StyledSpan("#channel", CellMark.MENTION)
    if body.startswith("@"):
        return StyledSpan("@role" if body.startswith("@&") else "@user", CellMark.MENTION)
    return StyledSpan(f":{body.split(':')[1]}:")


def _moment(token: str) -> str:
    """Write `<t:…>` in UTC, because the reader's time zone is unknown."""
    _, seconds, *style = token[1:-1].split(":")
    try:
        moment = datetime.fromtimestamp(int(seconds), UTC)
    except (OverflowError, ValueError, OSError):
        return token
    form = {"t": "%H:%M UTC", "T": "%H:%M:%S UTC", "d": "%Y-%m-%d", "D": "%Y-%m-%d"}
    return moment.strftime(form.get("".join(style), "%Y-%m-%d %H:%M UTC"))


def _delimiter(text: str, found: re.Match[str]) -> Delimiter:
    run = found.group()
    before = text[found.start() - 1 : found.start()] if found.start() else " "
    after = text[found.end() : found.end() + 1] or " "
    opens, closes = not after.isspace(), not before.isspace()
    if run[0] == "_":  # snake_case is a name, not emphasis
        opens, closes = opens and not before.isalnum(), closes and not after.isalnum()
    return Delimiter(run, opens, closes)


def _emphasis(tokens: list[_Token]) -> list[CellMark]:
    """Return the style of each token. Delimiters without a partner stay as text."""
    runs = [(i, token) for i, token in enumerate(tokens) if isinstance(token, Delimiter)]
    if not runs:
        return [CellMark.PLAIN] * len(tokens)
    pairs = pair(runs)
    spent = [0] * len(tokens)
    changes: list[list[tuple[CellMark, int]]] = [[] for _ in tokens]
    for start, end, kind in pairs:
        spent[start] += len(kind)
        spent[end] += len(kind)
        changes[start].append((_MARK_OF[kind], 1))
        changes[end].append((_MARK_OF[kind], -1))
    for i, token in runs:
        tokens[i] = StyledSpan(token.run[spent[i] :])
    return _sweep(changes)


def _sweep(changes: list[list[tuple[CellMark, int]]]) -> list[CellMark]:
    depth = dict.fromkeys(_MARK_OF.values(), 0)
    look = CellMark.PLAIN
    looks = []
    for here in changes:
        for mark, step in here:
            depth[mark] += step
            look = look | mark if depth[mark] else look & ~mark
        looks.append(look)
    return looks
