"""What Discord cannot show: rules, empty quotes, breaks, stray tags, lone subtext markers."""

from __future__ import annotations

import pytest

from oshaberi.text.config import TextConfig
from oshaberi.text.normalize.pieces import SegmentWork, TextPiece
from oshaberi.text.normalize.table import Normalizers


def run(text: str, line_start: bool = True, ends_line: bool = True) -> SegmentWork:
    work = SegmentWork([TextPiece(text, line_start=line_start)], ends_line=ends_line)
    Normalizers(TextConfig()).run(work)
    return work


def shown(text: str, line_start: bool = True, ends_line: bool = True) -> str | None:
    pieces = run(text, line_start, ends_line).pieces
    return pieces[0].text if pieces else None


@pytest.mark.parametrize(
    "rule", ["---", "***", "___", "===", "-----", "* * *", "- - -", " --- ", ">"]
)
def test_a_rule_is_a_paragraph_break(rule: str) -> None:
    assert shown(rule) is None
    assert shown(f"a\n{rule}\nb") == "a\n\nb"
    assert shown(f"a\n\n{rule}\n\nb") == "a\n\nb"
    assert shown(f"{rule}\nb") == "b"
    assert shown(f"a\n{rule}") == "a"
    assert run(rule).withheld == [(rule, "rule")]


@pytest.mark.parametrize(
    "text",
    [
        "--",
        "a --- b",
        "---a",
        "> a",
        "`---`",
        "-=-",
        "***bold***",
        "== x",
        "a\n\n\nb",
        "-# x",
        "--\n**",
    ],
)
def test_no_rule(text: str) -> None:
    assert shown(text) == text


def test_only_whole_lines_are_rules() -> None:
    assert shown("---", line_start=False) == "---"
    assert shown("---", ends_line=False) == "---"
    assert shown("a\n---\nb", line_start=False, ends_line=False) == "a\n\nb"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-#\nsmall print", "-# small print"),
        ("-# \n  small print\nbig", "-# small print\nbig"),
        ("a\n-#\nb", "a\n-# b"),
        ("-#", "-#"),
    ],
)
def test_a_lone_subtext_marker_joins_the_next_line(text: str, expected: str) -> None:
    assert shown(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a<br>b", "a\nb"),
        ("a <br/> b<BR />c", "a\nb\nc"),
        ("a<br>\nb", "a\nb"),
        ("a<br><br>b", "a\n\nb"),
        ("a `<br>` b", "a `<br>` b"),
        ("<brown> fox", "<brown> fox"),
        ("a<br>---<br>b", "a\n\nb"),
    ],
)
def test_breaks(text: str, expected: str) -> None:
    assert shown(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a </think> b", "a b"),
        ("a</think>b", "a b"),
        ("<think>a", "a"),
        ("a </mm:Thinking>", "a"),
        ("a <x.y:think/> b", "a b"),
        ('a <reasoning effort="high"> b', "a b"),
        ("`</think>` a", "`</think>` a"),
        ("<b>a</b> <thinker>", "<b>a</b> <thinker>"),
    ],
)
def test_tags(text: str, expected: str) -> None:
    assert shown(text) == expected


def test_tags_are_in_the_ledger() -> None:
    assert run("a </think> b").withheld == [("</think>", "tag")]
