"""Tables that a model writes to keep the bot busy: cells, rows and columns in every proportion."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from oshaberi import TextConfig, TextEngine
from oshaberi.delivery.attachments import PackagedRenderer
from oshaberi.events import Table
from oshaberi.render import TooManyPicturesError
from tests.attacks.loop_watch import computing_at_most
from tests.stream.scripted_streams import play

HEAD = "| a | b |\n|---|---|\n"
WIDE = f"|{'a|' * 100}\n|{'---|' * 100}\n"
DEFAULT, LARGEST = 15_000, 100_000
"""`flush_buffer_size_code_block`: by default, and the most that it can be."""


def _cell(inner: str, first: str = "") -> Callable[[int], str]:
    def table(size: int) -> str:
        count = (size - len(HEAD) - 30) // len(inner)
        return f"{HEAD}| {first}{inner * count} | 2 |\n"

    return table


SHAPES: dict[str, Callable[[int], str]] = {
    "rows": lambda size: HEAD + "| 1 | 2 |\n" * (size // 10 - 4),
    "short rows": lambda size: HEAD + "|1|\n" * (size // 4 - 10),
    "a wide header over short rows": lambda size: WIDE + "|1|\n" * ((size - 900) // 4),
    "wide rows": lambda size: WIDE + f"|{'lorem|' * 100}\n" * ((size - 900) // 602),
    "one word": _cell("x"),
    "words": _cell("x "),
    "stars": _cell("*"),
    "open emphasis": _cell("*a"),
    "mixed emphasis": _cell("**a*"),
    "underscores": _cell("_a "),
    "struck out": _cell("~~a"),
    "brackets": _cell("["),
    "open links": _cell("[a]("),
    "links": _cell("[a](b)"),
    "links in links": _cell("[[a](b)"),
    "backticks": _cell("`a"),
    "less than": _cell("<"),
    "open emoji": _cell("<a:"),
    "a huge reference": _cell("9", "&#"),
    "references": _cell("&amp;"),
    "addresses": _cell("http://("),
    "line breaks": _cell("<br>"),
    "backslashes": _cell("\\"),
    "families": _cell("👨\u200d"),
    "marks": _cell("\u0301\u0327", "a"),
    "emoji": _cell("😀"),
    "flags": _cell("🇯🇵🇩"),
    "han": _cell("漢"),
    "no font has it": _cell("𐎀"),
}


def _table(shape: str, size: int) -> Table:
    engine = TextEngine(TextConfig(flush_buffer_size_code_block=LARGEST))
    (table,) = (
        event
        for event in (*engine.feed(SHAPES[shape](size)), *engine.finish())
        if isinstance(event, Table)
    )
    assert size * 0.9 < len(table.source) <= size
    return table


@pytest.mark.parametrize("size", [DEFAULT, LARGEST])
@pytest.mark.parametrize("shape", SHAPES)
def test_as_text_it_takes_no_more_than_a_step_of_the_loop(shape: str, size: int) -> None:
    """Both forms in one step; the wide header took a second before."""
    table = _table(shape, size)
    renderer = PackagedRenderer()
    renderer.as_code(table, 1950)  # what is loaded and remembered at the first time
    with computing_at_most():
        messages = renderer.as_code(table, 1950)
        alt = renderer.alt_text(table)
    assert all(len(message) <= 1950 for message in messages)
    assert len(alt) <= 1024


@pytest.mark.parametrize("size", [DEFAULT, LARGEST])
@pytest.mark.parametrize("shape", SHAPES)
def test_in_its_thread_it_is_drawn_or_refused_soon(shape: str, size: int) -> None:
    table = _table(shape, size)
    with computing_at_most(4.0):
        try:
            pictures = PackagedRenderer().pictures(table)
        except TooManyPicturesError:
            pictures = []
    assert len(pictures) <= 6
    assert size == DEFAULT or not pictures


@pytest.mark.parametrize("shape", ["rows", "words"])
def test_a_huge_table_loses_nothing_where_files_are_refused(shape: str) -> None:
    table = _table(shape, LARGEST)
    code = PackagedRenderer().as_code(table, 1950)
    written = "".join(message.removeprefix("```\n").removesuffix("\n```") for message in code)
    assert "".join(written.split()) == "".join(table.source.split())


def test_a_huge_table_goes_out_as_a_file() -> None:
    text = {"flush_buffer_size_code_block": LARGEST}
    played = play(SHAPES["words"](LARGEST), text=text, renderer=PackagedRenderer())
    assert [record["kind"] for record in played.sink.records] == ["file"]
