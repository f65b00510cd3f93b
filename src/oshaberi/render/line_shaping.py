"""Turns styled spans into measured units between which a line may break.

A unit is a word, one Chinese or Japanese character with its punctuation, an emoji, or a space.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from unicodedata import east_asian_width

import regex

from oshaberi.render.cell_markdown import CellMark, StyledSpan
from oshaberi.render.fonts import FontFace, advance, face_of, faces_for
from oshaberi.render.grapheme_clusters import clusters
from oshaberi.render.twemoji import SIZE, emoji_name

BADGE_PAD = 6.0
_EMOJI_GAP = 2.0
_BADGES = CellMark.CODE | CellMark.MENTION

# Bidi controls and the like would be drawn as boxes; joiners and flag tags belong to clusters.
_UNSEEN = regex.compile(r"(?V1)[[\p{Cc}\p{Cf}]--[\t\u200c\u200d\U000e0020-\U000e007f]]+")
_LONE = re.compile("[\ud800-\udfff]")
_STACKED = regex.compile(
    r"([\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20df]{3})"
    r"[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20df]+"
)
_WORD = re.compile(r"[^\S\xa0\u202f]+|[\S\xa0\u202f]+")
_SOFT = re.compile(r"(?<=[^\W\d_][-/–—])(?=[^\W\d_])")
_LONG_SOFT = re.compile(r"[^-/?&=_.,:]*[-/?&=_.,:]*")
_NO_START = frozenset(
    "、。，．・：；！？」』）】〕〉》〗｝ー〜～…‥ぁぃぅぇぉっゃゅょゎァィゥェォッャュョヮヵヶ々ゝゞ"
    ",.!?:;)]}%’”»°"
)
_NO_END = frozenset("「『（【〔〈《〖｛([{‘“«¥$€£#@")
_HANGUL = range(0x1100, 0x11FF), range(0xAC00, 0xD7FF)
_IDEOGRAPH = "一"


@dataclass(frozen=True, slots=True)
class ShapedPiece:
    """Text in one style and one font face. Without a face: an emoji picture, or empty space."""

    text: str
    marks: CellMark
    face: FontFace | None
    width: float
    emoji: str | None = None


@dataclass(slots=True)
class ShapedUnit:
    """Pieces that stay on one line as long as they fit."""

    pieces: list[ShapedPiece]
    width: float
    is_space: bool = False


@dataclass(slots=True)
class _UnitBuilder:
    """Collects units, and decides whether the next one may start a new line."""

    paragraphs: list[list[ShapedUnit]] = field(default_factory=lambda: [[]])
    last: str = " "

    def add(self, pieces: list[ShapedPiece], first: str, last: str) -> None:
        units = self.paragraphs[-1]
        width = sum(piece.width for piece in pieces)
        if units and not units[-1].is_space and not _may_break(self.last, first):
            units[-1].pieces += pieces
            units[-1].width += width
        else:
            units.append(ShapedUnit(pieces, width))
        self.last = last

    def add_space(self, piece: ShapedPiece) -> None:
        self.paragraphs[-1].append(ShapedUnit([piece], piece.width, is_space=True))
        self.last = " "

    def add_room(self, marks: CellMark, *, opening: bool) -> None:
        """Add the inner margin of a badge. It is never separated from the badge's text."""
        room = ShapedPiece("", marks, None, BADGE_PAD)
        self.add([room], self.last if opening else "", "")

    def break_line(self) -> None:
        """Start a new paragraph. Several blank lines in a row become one."""
        if any(self.paragraphs[-2:]) or len(self.paragraphs) == 1:
            self.paragraphs.append([])
        self.last = " "


def shape(spans: list[StyledSpan], base: CellMark) -> list[list[ShapedUnit]]:
    """Turn a cell's spans into paragraphs of units. `base` is the style of the whole row."""
    builder = _UnitBuilder()
    for span in spans:
        marks = span.marks | base
        for i, line in enumerate(clean(span.text).split("\n")):
            if i:
                builder.break_line()
            if line:
                _add_line(builder, line, marks)
    return builder.paragraphs


def clean(text: str) -> str:
    """Remove what cannot be drawn: control characters, lone surrogates, stacked accents."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if text.isascii() and text.isprintable():
        return text
    lines = (_UNSEEN.sub("", line) for line in text.split("\n"))
    return _STACKED.sub(r"\1", _LONE.sub("\ufffd", "\n".join(lines)))


def emoji_free(text: str) -> str:
    """Return the text without the emoji that are drawn as pictures."""
    if text.isascii():
        return text
    return "".join(cluster for cluster in clusters(text) if not emoji_name(cluster))


def shatter(unit: ShapedUnit, limit: float) -> Iterator[ShapedUnit]:
    """Split a unit that is wider than a line: at signs such as `/`, otherwise anywhere."""
    for piece in unit.pieces:
        if piece.face is None:
            yield ShapedUnit([piece], piece.width)
            continue
        for part in _LONG_SOFT.findall(piece.text):
            width = advance(piece.face, part)
            fits = width <= limit
            for text in [part] if fits else clusters(part):
                yield _part(piece, piece.face, text)


def _part(piece: ShapedPiece, face: FontFace, text: str) -> ShapedUnit:
    width = advance(face, text)
    return ShapedUnit([ShapedPiece(text, piece.marks, face, width)], width)


def _add_line(builder: _UnitBuilder, line: str, marks: CellMark) -> None:
    badge = bool(marks & _BADGES)
    if badge:
        builder.add_room(marks, opening=True)
    for word in _WORD.findall(line):
        if word.isspace():
            face = faces_for(marks)[0]
            builder.add_space(ShapedPiece(" ", marks, face, advance(face, " ")))
        else:
            _add_word(builder, word, marks)
    if badge:
        builder.add_room(marks, opening=False)


def _add_word(builder: _UnitBuilder, word: str, marks: CellMark) -> None:
    for part in _SOFT.split(word):
        if part.isascii():
            face = faces_for(marks)[0]
            builder.add([ShapedPiece(part, marks, face, advance(face, part))], part[0], part[-1])
        else:
            _add_clusters(builder, part, marks)
        if len(part) < len(word):
            builder.last = " "


def _add_clusters(builder: _UnitBuilder, part: str, marks: CellMark) -> None:
    """Add text beyond ASCII: runs of one font face, cut where a line may break."""
    faces = faces_for(marks)
    run, run_face = "", faces[0]
    for cluster in clusters(part):
        name = emoji_name(cluster)
        face = None if name else face_of(cluster, faces)
        if run and (face is not run_face or _may_break(run[-1], cluster[0])):
            builder.add([_text(run, marks, run_face)], run[0], run[-1])
            run = ""
        if face is None:
            room = ShapedPiece(cluster, marks, None, SIZE + _EMOJI_GAP, name)
            builder.add([room], _IDEOGRAPH, _IDEOGRAPH)
        else:
            run, run_face = run + cluster, face
    if run:
        builder.add([_text(run, marks, run_face)], run[0], run[-1])


def _text(run: str, marks: CellMark, face: FontFace) -> ShapedPiece:
    return ShapedPiece(run, marks, face, advance(face, run))


def _may_break(before: str, after: str) -> bool:
    if before == " ":
        return True
    if not before or not after or before in _NO_END or after in _NO_START:
        return False
    return _is_wide(before) or _is_wide(after)


def _is_wide(character: str) -> bool:
    """Return whether a line may break at any character of this script. Korean breaks at spaces."""
    if character < "\u1100" or east_asian_width(character) not in "WF":
        return False
    return not any(ord(character) in block for block in _HANGUL)
