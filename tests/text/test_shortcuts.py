"""What is read character by character for speed says the same as the pattern that defines it."""

from __future__ import annotations

import re
import sys
from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oshaberi.text import measure
from oshaberi.text.atoms import URL_STOP, URL_STOPS
from oshaberi.text.line_kinds import BlockKind, block_kind, marker_end
from oshaberi.text.markdown_tables import cells
from oshaberi.text.markers.closed_pairs import Interest
from oshaberi.text.markers.rules import MARKS
from oshaberi.text.measure import has_visible
from oshaberi.text.sentences.ends import TERMINATORS

KINDS: dict[BlockKind, str] = {
    "list": r"(?:[-*•+]|[0-9]{1,9}[.)])[ \t]+",
    "quote": r"(?:>>>|>)(?:[ \t]+|(?=\n|\Z))",
    "heading": r"#{1,3}[ \t]+",
    "subtext": r"-#[ \t]+",
    "table": r"\|(?!\|)",
}
"""Spec 05: the marker of each kind, after the line's indentation."""
LINES = st.text(st.sampled_from(" \t\n-*•+#>|.)019a`٣"), max_size=14)
TEXTS = st.text(st.sampled_from([*"ab\n`:/*~|([<\\", *"é「。！…\ud83d\U0001f600"]), max_size=30)
ROWS = st.text(st.sampled_from("a |-: \t"), max_size=16)


def defined_kind(line: str) -> BlockKind:
    for kind, marker in KINDS.items():
        if re.match(rf"[ \t]*{marker}", line):
            return kind
    return "text"


@given(LINES)
def test_the_kind_of_a_line_is_that_of_its_marker(line: str) -> None:
    assert block_kind(line) == defined_kind(line)
    assert (marker_end(line) > 0) == (block_kind(line) != "text")


@pytest.mark.parametrize("marks", [MARKS, MARKS + TERMINATORS])
@given(text=TEXTS, at=st.integers(0, 30))
def test_a_reader_stops_where_the_pattern_does(marks: str, text: str, at: int) -> None:
    interest = Interest(marks)
    found = re.compile(rf"[\n`{re.escape(marks)}]|:(?=//)").search(text, at)
    stop = found.start() if found else len(text)
    if at <= len(text):
        assert interest.next(text, at) == interest.walk(text, at) == stop


def test_a_preview_shares_what_a_reader_stops_at() -> None:
    """Compiled, it could not be copied: it is made of its marks, which it does not keep."""
    interest = Interest(MARKS)
    assert deepcopy(interest) is interest
    assert deepcopy(URL_STOPS) is URL_STOPS


@given(text=st.text(st.sampled_from([*'ab/?.<|" \t\x1f', *"é\xa0\u200a。（🎉"]), max_size=30))
def test_a_url_stops_where_the_pattern_does(text: str) -> None:
    found = URL_STOP.search(text)
    assert URL_STOPS.first(text, 0, len(text)) == (found.start() if found else len(text))


def test_every_character_at_which_a_url_stops_is_known() -> None:
    for code in range(sys.maxunicode + 1):
        stops = URL_STOP.match(chr(code)) is not None
        assert (URL_STOPS.first(chr(code), 0, 1) == 0) == stops, hex(code)


def test_every_character_that_is_seen_at_once_is_visible() -> None:
    for char in map(chr, range(sys.maxunicode + 1)):
        assert has_visible(char) == (measure._VISIBLE.match(char) is not None), hex(ord(char))


@given(ROWS)
def test_a_row_has_the_same_cells_after_one_that_needs_a_closer_look(row: str) -> None:
    if row.strip() and not row.strip().startswith("|"):
        assert cells(rf"\a|{row}") == [r"\a", *cells(row)]
