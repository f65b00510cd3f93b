"""Tables as pictures: what must hold of every one. How they look is for eyes."""

from __future__ import annotations

import subprocess
import sys
from io import BytesIO
from itertools import chain

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oshaberi.events import Alignment, Table
from oshaberi.render import Picture, RenderUnavailableError, can_draw, render_table

pytest.importorskip("PIL", reason="the tables extra is not installed")
from PIL import Image

from oshaberi.render.cell_markdown import CellMark, StyledSpan
from oshaberi.render.fonts import _face, face_of, faces_for
from oshaberi.render.grid import grid_of, share
from oshaberi.render.layout import MAX_HEIGHT, MAX_WIDTH, lay_out
from oshaberi.render.line_shaping import shape
from oshaberi.render.twemoji import emoji_name

NASTY = [
    "**bold** *it* `code` ~~no~~ [l](http://x.y)",
    "日本語のテキスト、「括弧」。",
    "👨‍👩‍👧‍👦👍🏽🏴󠁧󠁢󠁥󠁮󠁧󠁿🇯🇵1️⃣",
    "مرحبا שלום ไทย",
    "Z" + "\u0335\u0327\u0310" * 60,
    "\ud800 \x00\x1b\u202e\ufeff",
    "x" * 500,
    "\U0001242b\ufdfd\U000f0000",
    "a<br><br>b",
]
CELL = st.text(max_size=40) | st.sampled_from(NASTY)
ROW = st.lists(CELL, max_size=5).map(tuple)
ALIGNMENTS: list[Alignment] = ["left", "center", "right", "none"]


def table(*rows: tuple[str, ...], alignments: tuple[Alignment, ...] = ()) -> Table:
    return Table("", rows[0], rows[1:], alignments)


def opened(picture: Picture) -> Image.Image:
    image = Image.open(BytesIO(picture.png))
    assert image.size == (picture.width, picture.height)
    return image


def texts(shown: Table) -> list[str]:
    """What each page says, cell by cell and line by line."""
    return [
        "".join(
            piece.text
            for row in page.rows
            for line in chain.from_iterable(row.cells)
            for piece in line.pieces
        )
        for page in lay_out(grid_of(shown))
    ]


@given(
    st.builds(
        Table,
        source=st.just(""),
        header=ROW,
        rows=st.lists(ROW, max_size=4).map(tuple),
        alignments=st.lists(st.sampled_from(ALIGNMENTS), max_size=5).map(tuple),
    )
)
@settings(max_examples=40)
def test_any_table(shown: Table) -> None:
    pictures = render_table(shown)
    assert pictures
    for picture in pictures:
        assert 0 < picture.width <= MAX_WIDTH
        assert 0 < picture.height <= MAX_HEIGHT
        assert picture.png.startswith(b"\x89PNG")
    can_draw(shown)


@pytest.mark.parametrize("cell", NASTY)
def test_nasty_cells(cell: str) -> None:
    (picture,) = render_table(table((cell, "b"), ("c", cell)))
    assert opened(picture).mode == "RGBA"


def test_equal_tables_give_equal_bytes() -> None:
    shown = table(("A", "絵"), ("**x**", "🍣"))
    assert render_table(shown) == render_table(shown)
    assert render_table(shown, "light") != render_table(shown, "dark")


def test_corners_are_transparent_and_the_middle_is_not() -> None:
    image = opened(render_table(table(("A", "B"), ("1", "2")))[0])
    assert image.getchannel("A").getpixel((0, 0)) == 0
    assert image.getchannel("A").getpixel((image.width // 2, image.height // 2)) == 255


def test_tall_tables_are_split_evenly_at_rows_with_the_header_on_each() -> None:
    shown = table(("Num", "Name"), *[(f"<{i}>", "x") for i in range(60)])
    pages = lay_out(grid_of(shown))
    assert [len(page.rows) for page in pages] == [21, 21, 21]
    assert all(page.rows[0].is_header for page in pages)
    assert "".join(texts(shown)).replace("NumName", "") == "".join(f"<{i}>x" for i in range(60))


def test_a_row_taller_than_a_picture_goes_on_in_the_next() -> None:
    words = " ".join(f"w{i}" for i in range(4000))
    pages = texts(table(("K", "V"), ("k", words), ("z", "end")))
    assert len(pages) > 1
    said = "".join(page.removeprefix("KV") for page in pages)
    assert said.replace(" ", "") == f"k{words}zend".replace(" ", "")


def test_a_huge_header_stands_once() -> None:
    pages = lay_out(grid_of(table(("word " * 3000,), ("x",), ("y",))))
    assert all(page.height <= MAX_HEIGHT for page in pages)
    assert sum(row.is_header and not row.continues for page in pages for row in page.rows) == 1


def test_too_many_columns_make_groups_that_begin_with_the_first() -> None:
    header = tuple(f"Head{i:02}" for i in range(40))
    pages = texts(table(header, tuple(f"some value {i}" for i in range(40))))
    assert len(pages) > 2
    assert all(page.startswith("Head00") for page in pages)
    assert all(sum(name in page for page in pages) == 1 for name in header[1:])


def test_ragged_rows_are_filled_and_nothing_is_cut_off() -> None:
    (page,) = texts(table(("A",), (), ("1", "2", "3")))
    assert page == "A123"
    assert "v89" in "".join(texts(table(("A",), tuple(f"v{i}" for i in range(90)))))


def test_ordinary_tables_do_not_wrap() -> None:
    (page,) = lay_out(grid_of(table(("Name", "Meaning"), ("a b c d", "one two three four"))))
    assert {len(lines) for row in page.rows for lines in row.cells} == {1}


def test_long_cells_wrap_within_reading_width() -> None:
    (page,) = lay_out(grid_of(table(("A", "B"), ("short", "many words " * 40))))
    assert page.width <= 1440
    assert len(page.rows[1].cells[1]) > 3
    for row in page.rows:
        for lines, width in zip(row.cells, page.widths, strict=True):
            assert all(line.width <= width for line in lines)


def test_japanese_breaks_between_characters_but_not_before_closing_signs() -> None:
    ((*units,),) = shape([StyledSpan("「猫」です。")], CellMark.PLAIN)
    assert ["".join(piece.text for piece in unit.pieces) for unit in units] == [
        "「猫」",
        "で",
        "す。",
    ]


def test_style_changes_inside_a_word_keep_it_whole() -> None:
    ((unit,),) = shape([StyledSpan("bo", CellMark.BOLD), StyledSpan("ld")], CellMark.PLAIN)
    assert [piece.text for piece in unit.pieces] == ["bo", "ld"]


@pytest.mark.parametrize(
    ("text", "index"),
    [("a", 0), ("я", 0), ("λ", 0), ("ế", 0), ("日", 1), ("ー", 1), ("・", 1), ("한", 1), ("，", 1)],
)
def test_each_script_finds_its_font(text: str, index: int) -> None:
    faces = faces_for(CellMark.PLAIN)
    assert face_of(text, faces) is faces[index]
    assert ord(text) in faces[index].characters


@pytest.mark.parametrize(
    ("cluster", "name"),
    [
        ("🍣", "1f363"),
        ("🇯🇵", "1f1ef-1f1f5"),
        ("👍🏽", "1f44d-1f3fd"),
        ("❤️", "2764"),
        ("🏳️‍🌈", "1f3f3-fe0f-200d-1f308"),
        ("1️⃣", "31-20e3"),
        ("✔", "2714"),
        ("✓", "2714"),
        ("✗", "2716"),
        ("✔\ufe0e", None),
        ("©", None),
        ("1", None),
        ("日", None),
    ],
)
def test_emoji_have_pictures(cluster: str, name: str | None) -> None:
    assert emoji_name(cluster) == name


def test_a_newer_sequence_shows_its_beginning() -> None:
    assert emoji_name("🍣\u200d🍣") == "1f363"


def test_can_draw_knows_what_the_fonts_lack() -> None:
    assert can_draw(table(("Name", "名前", "이름"), ("Имя 🍣", "όνομα", "✅")))
    assert not can_draw(table(("Name",), ("สวัสดีครับ",)))


def test_dark_signs_are_seen_on_dark() -> None:
    image = opened(render_table(table(("",), ("✔️",)))[0]).convert("L")
    assert max(value for value, count in enumerate(image.histogram()) if count > 50) > 180


def test_share_fills_the_room_and_respects_the_least() -> None:
    widths = share([50, 1000, 300], [40, 60, 60], 500)
    assert sum(widths) == pytest.approx(500, abs=0.01)
    assert widths[0] == 50
    assert widths[1] > widths[2] > 60
    assert share([1, 2], [1, 1], 10) == [1, 2]
    assert share([100, 100], [80, 80], 100) == [80, 80]


def test_without_the_extra_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "oshaberi.render.drawing", None)
    monkeypatch.delattr("oshaberi.render.drawing", raising=False)
    with pytest.raises(RenderUnavailableError, match=r'pip install "oshaberi\[tables\]"'):
        render_table(table(("A",), ("1",)))
    assert not can_draw(table(("A",), ("1",)))


def test_a_missing_font_is_the_same_error() -> None:
    with pytest.raises(RenderUnavailableError, match="no_such_font_package is not installed"):
        _face(("no_such_font_package", "font.ttf"), 32, 400)


def test_importing_is_cheap() -> None:
    code = "import sys, oshaberi.render; sys.exit('PIL' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
