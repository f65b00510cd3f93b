"""A table as text: aligned in code blocks, and as a description for screen readers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise, zip_longest
from unicodedata import category, east_asian_width

import regex

from oshaberi.events import Alignment, Table
from oshaberi.render.cell_markdown import plain_text
from oshaberi.render.grapheme_clusters import clusters
from oshaberi.render.grid import MOST_LAID_OUT, Grid, grid_of, share
from oshaberi.text.measure import grapheme_edge, has_visible, utf16_len, utf16_offset

# Text on a grid of characters: measured, wrapped and aligned.


_EMOJI = regex.compile(r"\p{Emoji_Presentation}|\p{Regional_Indicator}|.+[\ufe0f\u20e3]")
_CONTROL = regex.compile(r"[\p{Cc}\u2028\u2029]+")
_LONE = re.compile("[\ud800-\udfff]")
_FENCE = re.compile(r"`(?=``)")


def cell_lines(cell: str, *, addresses: bool = False) -> list[str]:
    """Return the text of a cell, line by line, safe inside a code block."""
    lines = map(code_line, plain_text(cell, addresses=addresses).split("\n"))
    return [line for line in lines if line] or [""]


def code_line(text: str) -> str:
    """Return a line that is safe inside a code block."""
    line = " ".join(_CONTROL.sub(" ", _LONE.sub("\ufffd", text)).split())
    return _FENCE.sub("`\u200b", line)


def display_width(text: str) -> int:
    """Return the number of columns: two for wide characters and emoji, none for marks."""
    if text.isascii():
        return len(text)
    return sum(_cluster_width(cluster) for cluster in clusters(text))


def align(text: str, width: int, alignment: Alignment) -> str:
    """Pad the text with spaces to `width`."""
    missing = width - display_width(text)
    if missing <= 0:
        return text
    left = {"right": missing, "center": missing // 2}.get(alignment, 0)
    return " " * left + text + " " * (missing - left)


def wrap(text: str, width: int) -> list[str]:
    """Wrap the text to `width` columns, between words; a word is cut only if it is longer."""
    if display_width(text) <= width:
        return [text]
    lines: list[str] = []
    line: list[str] = []
    used = -1
    for word in text.split():
        for i, part in enumerate(_parts(word, width)):
            need = display_width(part)
            if line and (i or used + need + 1 > width):
                lines.append(" ".join(line))
                line, used = [part], need
            else:
                line.append(part)
                used += need + 1
    return [*lines, " ".join(line)]


def _parts(word: str, width: int) -> list[str]:
    if display_width(word) <= width:
        return [word]
    parts: list[list[str]] = [[]]
    left = width
    for cluster in clusters(word):
        need = _cluster_width(cluster)
        if need > left and parts[-1]:
            parts.append([])
            left = width
        parts[-1].append(cluster)
        left -= need
    return ["".join(part) for part in parts]


@lru_cache(maxsize=4096)
def _cluster_width(cluster: str) -> int:
    if cluster.isascii():
        return len(cluster)
    if _EMOJI.match(cluster):
        return 2
    return max(_character_width(character) for character in cluster)


def _character_width(character: str) -> int:
    if category(character) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if east_asian_width(character) in "WF" else 1


# The description for screen readers: row by row, every value with its column's name.


MAX_ALT_TEXT = 1024
_ROOM_FOR_REST = len("\n… (+1000000)")
_LONGEST_CELL = 4 * MAX_ALT_TEXT
"""Only this much of a longer cell is read: most of it is left out anyway."""


def alt_text(table: Table) -> str:
    """Describe the table in at most 1024 characters, Discord's limit.

    If it is too long, the end says how much was left out.
    """
    grid = grid_of(replace(table, rows=table.rows[:MAX_ALT_TEXT]))
    names = [_spoken(cell) for cell in grid.header or [""] * grid.width]
    rows = (
        (_row(names, row) for row in grid.rows) if grid.rows else [", ".join(filter(None, names))]
    )
    read: list[str] = []
    length = 0
    for row in rows:
        read.append(row)
        length += utf16_len(row) + 1
        if length > MAX_ALT_TEXT + _ROOM_FOR_REST:
            break  # the other rows need not be read
    whole = "\n".join(filter(None, read))
    count = max(1, len(table.rows))
    if len(read) == count and utf16_len(whole) <= MAX_ALT_TEXT:
        return whole
    return _shorten(read, count)


def _shorten(rows: list[str], count: int) -> str:
    room = MAX_ALT_TEXT - _ROOM_FOR_REST
    fitting: list[str] = []
    for row in rows:
        room -= utf16_len(row) + 1
        if room < 0:
            break
        fitting.append(row)
    if fitting:
        return "\n".join([*filter(None, fitting), f"… (+{count - len(fitting)})"])
    return _cut_row(rows[0]) + (f" (+{count - 1})" if count > 1 else "")


def _cut_row(row: str) -> str:
    end = utf16_offset(row, 0, MAX_ALT_TEXT - _ROOM_FOR_REST)
    return row[: grapheme_edge(row, 0, end)].rstrip() + "…"


def _row(names: list[str], row: tuple[str, ...]) -> str:
    values = ((name, _spoken(cell)) for name, cell in zip(names, row, strict=True))
    return ", ".join(f"{name}: {value}" if name else value for name, value in values if value)


def _spoken(cell: str) -> str:
    return " ".join(cell_lines(cell[:_LONGEST_CELL])).strip()


# Aligned text in code blocks, where no picture can be made. It never fails.
#
# It is a grid if the table fits, with wrapped cells if it nearly fits, otherwise one record per
# row; a huge table stays as it was written.


_WIDEST = 64
_SEPARATOR = " | "
_NARROWEST = 12
_TALLEST = 8
_LONGEST_LABEL = 40
_PARAGRAPH = 200
_WORD = re.compile(r"\S* ?")
_FRAME = len("```\n\n```")

Cells = list[list[list[str]]]
"""Rows of cells of lines."""


@dataclass(frozen=True, slots=True)
class _CodeText:
    """The lines of the header, which every message repeats, and of each row."""

    header: list[str]
    rows: list[list[str]]


def table_as_code(table: Table, max_length: int) -> list[str]:
    """Return messages of at most `max_length` UTF-16 units, each a complete code block."""
    if len(table.source) > MOST_LAID_OUT:
        text = _CodeText([], [[code_line(line)] for line in table.source.split("\n")])
    else:
        grid = grid_of(table)
        cells = [[cell_lines(cell, addresses=True) for cell in row] for row in grid.lines]
        text = _as_grid(grid, cells) or _as_records(grid, cells)
    bodies = ("\n".join(lines).strip("\n") for lines in _pages(text, max_length - _FRAME))
    return [f"```\n{body if has_visible(body) else '-'}\n```" for body in bodies]


def _as_grid(grid: Grid, cells: Cells) -> _CodeText | None:
    """Write the columns side by side. Return None if they would be too narrow to read."""
    room = _WIDEST - len(_SEPARATOR) * (grid.width - 1)
    widths = _widths(cells, room)
    if sum(widths) > room:
        return None
    rows = [[_wrap_cell(cell, widths[i]) for i, cell in enumerate(row)] for row in cells]
    tallest = max(len(cell) for row in rows for cell in row)
    if tallest > max(_TALLEST, max(len(cell) for row in cells for cell in row)):
        return None
    lines = [_grid_lines(row, widths, grid) for row in rows]
    rule = "-+-".join("-" * width for width in widths)
    header = [*lines.pop(0), rule] if grid.header else []
    return _CodeText(header, list(_add_rules(lines, rule)))


def _add_rules(rows: list[list[str]], rule: str) -> Iterator[list[str]]:
    """Put a rule between two rows if one of them has several lines, to show where each ends."""
    for row, following in pairwise(rows):
        yield [*row, rule] if len(row) > 1 or len(following) > 1 else row
    yield from rows[-1:]


def _widths(cells: Cells, room: int) -> list[int]:
    columns = [[line for cell in column for line in cell] for column in zip(*cells, strict=True)]
    natural = [max(1, *map(display_width, lines)) for lines in columns]
    least = [
        max(1, *(_least_width(word) for line in lines for word in line.split() or [""]))
        for lines in columns
    ]
    return [int(width) for width in share(natural, least, room)]


def _least_width(word: str) -> int:
    """Return the least width of a word: ASCII words stay whole, other scripts may be broken."""
    width = display_width(word)
    return width if word.isascii() else min(width, _NARROWEST)


def _wrap_cell(cell: list[str], width: int) -> list[str]:
    return [part for line in cell for part in wrap(line, width)]


def _grid_lines(row: list[list[str]], widths: list[int], grid: Grid) -> list[str]:
    lines = []
    for parts in zip_longest(*row, fillvalue=""):
        columns = zip(parts, widths, grid.alignments, strict=True)
        lines.append(_SEPARATOR.join(align(*column) for column in columns).rstrip())
    return lines


def _as_records(grid: Grid, cells: Cells) -> _CodeText:
    """Write `header: value` line by line, with a blank line after each row."""
    if not grid.header:
        return _CodeText([], [_record([""] * grid.width, row) for row in cells])
    names = [" ".join(lines) for lines in cells[0]]
    labels = [_label(name) for name in names]
    rows = [_record(labels, row) for row in cells[1:]]
    filled = {i for row in cells[1:] for i, (first, *_) in enumerate(row) if first}
    if labels != names or any(name and i not in filled for i, name in enumerate(names)):
        rows.insert(0, [*(name for name in names if name), ""])
    return _CodeText([], rows)


def _label(name: str) -> str:
    """Shorten a long column name, because every row repeats it."""
    if len(name) <= _LONGEST_LABEL:
        return name
    return name[: grapheme_edge(name, 0, _LONGEST_LABEL)] + "…"


def _record(labels: list[str], row: list[list[str]]) -> list[str]:
    lines = []
    for label, (first, *others) in zip(labels, row, strict=True):
        if first:
            lines.append(f"{label}: {first}" if label else first)
            lines += [f"  {line}" for line in others]
    return [*(lines or ["-"]), ""]


def _pages(text: _CodeText, room: int) -> Iterator[list[str]]:
    """Yield the lines of each message. A row stays whole if it fits into one message."""
    header, rows = text.header, text.rows
    if _length(header) > room // 2:
        header, rows = [], [header, *rows]
    limit = room - _length(header)
    page: list[str] = []
    left = limit
    for block in _blocks(rows, limit):
        length = _length(block)
        if page and length > left:
            yield [*header, *page]
            page, left = [], limit
        page += block
        left -= length
    if page or header:
        yield [*header, *page]


def _blocks(rows: list[list[str]], limit: int) -> Iterator[list[str]]:
    for row in rows:
        if _length(row) <= limit:
            yield row
        else:
            yield from ([part] for line in row for part in _cut_line(line, limit - 1))


def _cut_line(line: str, limit: int) -> Iterator[str]:
    """Split a long line into parts that pack well. A word is cut only if it is too long."""
    part: list[str] = []
    length = 0
    for word in _WORD.findall(line):
        for piece in _word_parts(word, limit):
            need = utf16_len(piece)
            if part and length + need > min(limit, _PARAGRAPH):
                yield "".join(part).rstrip()
                part, length = [], 0
            part.append(piece)
            length += need
    yield "".join(part).rstrip()


def _word_parts(word: str, limit: int) -> Iterator[str]:
    start = 0
    while utf16_len(ahead := word[start : start + limit + 1]) > limit:
        end = grapheme_edge(ahead, 0, utf16_offset(ahead, 0, limit))
        yield ahead[:end]
        start += end
    yield ahead


def _length(lines: Sequence[str]) -> int:
    return sum(utf16_len(line) + 1 for line in lines)
