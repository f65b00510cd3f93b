"""Texts that are made to keep one regular expression busy, from its own structure.

A checker like regexploit finds patterns that backtrack by a power of three or more. It does not
see those that look ahead for long from each place where they could begin: `<a ` over and over, for
a pattern that looks for `<a `, anything, `>`. So each beginning of each part of a pattern is
repeated, and measured: processor time at twice the length must not be nearly four times as much.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

from tests.attacks.pattern_collection import SourcePattern

LENGTHS = (256, 1024, 8192)
"""Short ones first: a cubic pattern would take minutes for a long text."""
SUSPECT_S = 0.003
"""A linear pattern takes a tenth of it for the longest text, a quadratic one ten times as much."""
GROWTH = 2.8
"""Twice the length takes a linear pattern twice as long, a quadratic one four times."""
SIGNS = "a1 -_.:/<>\n\"'[(`*=?あ"
_CATEGORIES: dict[Any, Callable[[str], bool]] = {
    op.CATEGORY_DIGIT: str.isdigit,
    op.CATEGORY_SPACE: str.isspace,
    op.CATEGORY_WORD: lambda char: char.isalnum() or char == "_",
    op.CATEGORY_NOT_DIGIT: lambda char: not char.isdigit(),
    op.CATEGORY_NOT_SPACE: lambda char: not char.isspace(),
    op.CATEGORY_NOT_WORD: lambda char: not (char.isalnum() or char == "_"),
}
_REPEATS = (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT)
Tree = Sequence[tuple[Any, Any]]


def as_re(pattern: SourcePattern) -> tuple[str, int]:
    """Return a pattern and flags for `re`; for one of `regex` the nearest, to make texts for it."""
    if pattern.module == "re":
        return pattern.pattern, pattern.flags
    text = re.sub(r"\(\?[a-zA-Z]*[rV][a-zA-Z0-9]*\)", "", pattern.pattern)
    text = re.sub(r"\[\[(.*?)\](?:--|&&|\|\|)\[.*?\]\]", r"[\1]", text)
    text = re.sub(r"\[\[(.*?)\]\]", r"[\1]", text)
    return re.sub(r"\\[pP]\{[^}]*\}", r"\\w", text).replace(r"\X", "."), 0


def parsed(pattern: SourcePattern) -> Tree:
    tree: Tree = parser.parse(*as_re(pattern))
    return tree


# -- texts ---------------------------------------------------------------------------------------


def attacks(pattern: SourcePattern, length: int) -> Iterator[str]:
    """Yield texts of about this length."""
    tree = parsed(pattern)
    beginnings = list(dict.fromkeys(islice(_beginnings(tree, ""), 40)))
    alphabet = list(dict.fromkeys([*_alphabet(tree), *SIGNS]))[:24]
    for pump in dict.fromkeys([*beginnings, *alphabet, *_pairs(beginnings)]):
        for last in ("", "\0"):
            yield pump * (length // len(pump)) + last
    for first in beginnings[:12]:
        for pump in alphabet:
            yield first + pump * length + "\0"


def _pairs(beginnings: Sequence[str]) -> Iterator[str]:
    """A beginning after something that is none, so that boundaries and look-behinds hold."""
    for one in beginnings:
        yield from (f"-{one}", f" {one}", f"{one}\n")


def _beginnings(tree: Tree, before: str) -> Iterator[str]:
    """Yield what may be at the beginning of a match, up to each part of the pattern."""
    made = before
    for node in tree:
        for inner in _inside(node):
            yield from _beginnings(inner, made)
        made += _sample(node)
        if made:
            yield made


def _inside(node: tuple[Any, Any]) -> Iterable[Tree]:
    kind, value = node
    if kind in _REPEATS:
        return (value[2],)
    if kind is op.SUBPATTERN:
        return (value[3],)
    if kind is op.ATOMIC_GROUP:
        return (value,)
    if kind in (op.ASSERT, op.ASSERT_NOT):
        return (value[1],)
    if kind is op.BRANCH:
        return tuple(value[1])
    if kind is op.GROUPREF_EXISTS:
        return tuple(tree for tree in value[1:] if tree is not None)
    return ()


def _sample(node: tuple[Any, Any]) -> str:
    kind, value = node
    if kind is op.LITERAL:
        return chr(int(value))
    if kind is op.NOT_LITERAL:
        return next(char for char in SIGNS if char != chr(value))
    if kind is op.ANY:
        return "a"
    if kind is op.IN:
        return next((char for char in _members(value)), "")
    if kind in _REPEATS:
        low, _high, body = value
        low = int(low)
        return "".join(map(_sample, body)) * max(1, min(low, 40))
    if kind is op.ASSERT:
        direction, body = value
        return "" if direction > 0 else "".join(map(_sample, body))
    if kind in (op.ASSERT_NOT, op.AT, op.GROUPREF):
        return ""
    first = next(iter(_inside(node)), ())
    return "".join(map(_sample, first))


def _members(items: Tree) -> Iterator[str]:
    """Yield characters of a class: those of `SIGNS` that it has, then its own."""
    negated = bool(items) and items[0][0] is op.NEGATE
    own = [chr(v if k is op.LITERAL else v[0]) for k, v in items if k in (op.LITERAL, op.RANGE)]
    for char in (*SIGNS, *own, "~"):
        if any(_has(item, char) for item in items) != negated:
            yield char


def _has(item: tuple[Any, Any], char: str) -> bool:
    kind, value = item
    if kind is op.LITERAL:
        return bool(ord(char) == value)
    if kind is op.RANGE:
        return bool(value[0] <= ord(char) <= value[1])
    return kind is op.CATEGORY and bool(_CATEGORIES[value](char))


def _alphabet(tree: Tree) -> Iterator[str]:
    """Yield one or two characters of each literal and class, and what each repeat repeats."""
    for node in tree:
        if node[0] is op.IN:
            yield from islice(_members(node[1]), 2)
        elif node[0] in (op.LITERAL, op.NOT_LITERAL):
            yield _sample(node)
        elif node[0] in _REPEATS and (repeated := "".join(map(_sample, node[1][2]))):
            yield repeated
        for inner in _inside(node):
            yield from _alphabet(inner)


# -- measuring -----------------------------------------------------------------------------------


def seconds(pattern: SourcePattern, text: str) -> float:
    """Return the processor time of using the pattern as the program does."""
    compiled = pattern.compiled()
    began = time.thread_time()
    if pattern.is_anchored:
        for method in pattern.methods:
            getattr(compiled, method)(text)
    else:
        for _ in compiled.finditer(text):
            pass
    return time.thread_time() - began


def slow_text(pattern: SourcePattern) -> str | None:
    """Return a text for which the pattern's time grows faster than its length, if one is found."""
    for length in LENGTHS:
        for number, text in enumerate(attacks(pattern, length)):
            if seconds(pattern, text) > SUSPECT_S:
                half = next(islice(attacks(pattern, length // 2), number, None))
                if _grows(pattern, half, text):
                    return text
    return None


def _grows(pattern: SourcePattern, half: str, whole: str) -> bool:
    for _ in range(3):  # a busy machine disturbs once, not three times
        before = min(seconds(pattern, half) for _ in range(3))
        after = min(seconds(pattern, whole) for _ in range(3))
        if after < SUSPECT_S or after < GROWTH * before:
            return False
    return True
