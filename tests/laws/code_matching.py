"""Code blocks of V against the code pieces of the messages (L4): every line, as it was."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .expected_atoms import utf16
from .visible_text import BLOCK_MARK, Block, blocks

_TAG = re.compile(r"[\w+.#-]{1,20}", re.ASCII)
_RUN = re.compile("`{3,}")
_NESTED = re.compile("(?<=`)\u200b+(?=`)|\u200b+(?=`)|(?<=`)\u200b+")


@dataclass(frozen=True, slots=True)
class Piece:
    """One fenced piece of one message."""

    message: int
    lines: list[str]


def pieces(texts: list[str]) -> tuple[list[Piece], list[list[str]]]:
    """All fenced pieces in order, and each text cut at them: prose, prose, …"""
    found: list[Piece] = []
    proses: list[list[str]] = []
    for number, text in enumerate(texts):
        if "```" not in text:
            proses.append([text])
            continue
        prose, at = [], 0
        for block in blocks(text):
            prose.append(text[at : block.start])
            at = block.end
            lines = block.inside.split("\n")
            if len(lines) > 1 and not lines[-1].strip():
                del lines[-1]
            found.append(Piece(number, lines))
        proses.append([*prose, text[at:]])
    return found, proses


@dataclass(slots=True)
class CodeMatch:
    problem: str | None
    heads: set[int]
    """Which pieces begin a block; the others go on with one."""


def match_code(source: list[Block], out: list[Piece], limit: int) -> CodeMatch:
    """Gives each block of V its pieces, in order."""
    heads: set[int] = set()
    at = 0
    for block in source:
        if at == len(out):
            if block.inside.strip() or block.closed:
                return CodeMatch(f"code block lost: {block.inside[:40]!r}", heads)
            break
        heads.add(at)
        tries = [_consume(block, lines, out, at, limit) for lines in block.readings()]
        used, problem = min(tries, key=lambda t: t[1] is not None)
        if problem:
            return CodeMatch(problem, heads)
        at = used
    if at < len(out):
        return CodeMatch(f"code that V does not have: {out[at].lines[:3]!r}", heads)
    return CodeMatch(None, heads)


def prose_texts(proses: list[list[str]], heads: set[int]) -> list[str]:
    """The texts with each block's first piece as one mark and its other pieces left out."""
    texts, number = [], 0
    for parts in proses:
        text = parts[0]
        for part in parts[1:]:
            text += (f"\n{BLOCK_MARK}\n" if number in heads else "\n") + part
            number += 1
        texts.append(text)
    return texts


def _consume(
    block: Block, want: list[str], out: list[Piece], at: int, limit: int
) -> tuple[int, str | None]:
    widths = [utf16(line) + _gaps(line) for line in want]
    want = [_plain(line) for line in want]
    want[0] = want[0].lstrip()
    if not block.closed:
        want = _without_blank_end(want)
    reader = _Reader(want, widths, limit, block.closed)
    first = at
    while at < len(out):
        lines = [_plain(line) for line in out[at].lines]
        if at > first and not _same_tag(want[0], lines.pop(0)):
            return at, f"re-opened with {out[at].lines[0]!r}, not {want[0]!r}"
        if at == first:
            lines = _first_lines(lines, want[0])
        problem = reader.read(lines)
        if problem:
            return at, problem
        at += 1
        if reader.done():
            while not block.closed and at < len(out) and not "".join(out[at].lines[1:]).strip():
                at += 1  # the blank lines at its end
            return at, None
    return at, f"code lost after {reader.at} lines: {want[reader.at : reader.at + 2]!r}"


def _first_lines(lines: list[str], info: str) -> list[str]:
    """Text behind the fence that is no language tag may go to a line of its own."""
    if not lines[0] and info and len(lines) > 1 and not _TAG.fullmatch(info):
        lines = lines[1:]
    return [lines[0].lstrip(), *lines[1:]]


def _plain(line: str) -> str:
    return _NESTED.sub("", line).rstrip() if "`" in line else line.rstrip()


def _gaps(line: str) -> int:
    """B2: how many U+200B a line of a longer fence gets."""
    return sum(len(run[0]) - 1 for run in _RUN.finditer(line))


def _without_blank_end(lines: list[str]) -> list[str]:
    end = len(lines)
    while end > 1 and not lines[end - 1]:
        end -= 1
    return lines[:end]


def _same_tag(info: str, again: str) -> bool:
    tag = info.strip()
    if again.strip() == tag:
        return True
    return not _TAG.fullmatch(tag) and again.strip() in ("", tag.split()[0] if tag else "")


class _Reader:
    """Reads code lines against the wanted ones; only a line too long for a message may be cut."""

    def __init__(self, want: list[str], widths: list[int], limit: int, closed: bool) -> None:
        self.want = want
        self.widths = widths  # with the blanks at the end of each line
        self.closed = closed
        self.room = limit - 8 - 2 * utf16(want[0][:20])
        self.at = 0
        self.rest: str | None = None

    def done(self) -> bool:
        return self.at >= len(self.want) and self.rest is None

    def read(self, lines: list[str]) -> str | None:
        for line in lines:
            if self.at == len(self.want):
                if line or self.closed:
                    return f"code that V does not have: {line!r}"
                continue
            problem = self._line(line)
            if problem:
                return problem
        return None

    def _line(self, line: str) -> str | None:
        wanted = self.want[self.at]
        if self.rest is None and line == wanted:
            self.at += 1
            return None
        if self.widths[self.at] <= self.room:
            return f"code line {wanted!r} became {line!r}"
        if self.rest is None:
            self.rest = "".join(wanted.split())
            indent = wanted[: len(wanted) - len(wanted.lstrip())]
            if len(indent) < self.room // 2 and line and not line.startswith(indent):
                return f"long code line lost its indentation: {line[:40]!r}"
        part = "".join(line.split())
        if not self.rest.startswith(part):
            return f"long code line {self.rest[:40]!r} became {part[:40]!r}"
        self.rest = self.rest[len(part) :]
        if not self.rest:
            self.rest = None
            self.at += 1
        return None
