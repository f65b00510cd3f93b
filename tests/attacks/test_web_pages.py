"""Web pages that are made to keep the bot busy: the work is linear in their bytes.

The worst page takes about half a second for 2 MB, in a thread of its own. With a quadratic
parser it would take minutes to hours.
"""

from __future__ import annotations

import encodings
from collections.abc import Callable

import pytest

from oshaberi.bot.tools.builtin import web as module
from oshaberi.bot.tools.builtin.web import LONGEST_TITLE, page_text
from oshaberi.public_fetching import Fetched
from tests.attacks.loop_watch import computing_at_most, memory_at_most, watched_loop
from tests.tools.test_web_page import constant, read

MOST = module.MOST_BYTES


def _filled(*parts: str) -> str:
    """Return a page of the largest size: the same number of each part, one after the other."""
    count = MOST // sum(map(len, parts)) + 1
    return "".join(part * count for part in parts)[:MOST]


SHAPES: dict[str, Callable[[], str]] = {
    "open tags": lambda: _filled("<a "),
    "shortest tags": lambda: _filled("<a>"),
    "blocks": lambda: _filled("<p>"),
    "deep nesting": lambda: _filled("<div>"),
    "nesting and its ends": lambda: _filled("<b>", "</b>"),
    "ends of what is not open": lambda: _filled("<div>", "</x>"),
    "scopes": lambda: _filled("<div>", "<p>"),
    "lists": lambda: _filled("<ul><li>"),
    "adoption": lambda: _filled("<a><div>", "</a>"),
    "comments without an end": lambda: _filled("<!--"),
    "dashes in a comment": lambda: "<!--" + _filled("--x"),
    "declarations": lambda: _filled("<!"),
    "instructions": lambda: _filled("<?"),
    "odd ends": lambda: _filled("</"),
    "less than": lambda: _filled("<"),
    "attributes": lambda: "<a " + " ".join(f"a{number}=1" for number in range(300_000)) + ">",
    "bodies with attributes": lambda: "".join(f"<body a{number}>" for number in range(160_000)),
    "equals signs": lambda: "<a " + _filled("="),
    "quotes without an end": lambda: _filled('<a x="'),
    "both quotes": lambda: _filled("<a x='\""),
    "spaces after equals": lambda: "<a x=" + _filled(" "),
    "slashes": lambda: "<a" + _filled("/"),
    "one name": lambda: "<" + _filled("a"),
    "references": lambda: _filled("&amp;"),
    "almost references": lambda: _filled("&notit"),
    "ampersands": lambda: _filled("&"),
    "numbers": lambda: _filled("&#65;"),
    "one huge number": lambda: "&#" + _filled("9"),
    "one hexadecimal number": lambda: "&#x" + _filled("f"),
    "zeros": lambda: "&#" + _filled("0"),
    "misnested tables": lambda: _filled("<table><tr><td><a>"),
    "text in a table": lambda: "<table>" + _filled("x<b>"),
    "templates": lambda: _filled("<template>"),
    "drawings": lambda: _filled("<svg>", "</object>"),
    "paragraphs in drawings": lambda: _filled("<svg><p>"),
    "character data": lambda: "<svg>" + _filled("<![CDATA["),
    "scripts in scripts": lambda: "<script>" + _filled("<!--<script>"),
    "almost ends of scripts": lambda: _filled("<script></scrip"),
    "styles": lambda: _filled("<style></style>"),
    "titles": lambda: _filled("<title></title>"),
    "a title without an end": lambda: _filled("<title>"),
    "text areas": lambda: _filled("<textarea>"),
    "spaces": lambda: _filled(" "),
    "lines": lambda: _filled("\n "),
    "nothing": lambda: _filled("\0"),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_page_is_read_in_linear_time(shape: str) -> None:
    html = SHAPES[shape]()
    with computing_at_most(3.0):
        title, text = page_text(html)
    assert len(title) <= LONGEST_TITLE
    assert len(text) <= len(html)


@pytest.mark.parametrize("shape", ["open tags", "shortest tags", "one huge number", "numbers"])
def test_the_loop_goes_on_meanwhile(shape: str) -> None:
    serve = constant(SHAPES[shape]()[:MOST])
    with watched_loop():
        result = read(serve)
    assert not result.is_error


def test_memory_is_bounded() -> None:
    html = SHAPES["blocks"]()[: MOST // 8]
    with memory_at_most(5):
        page_text(html)


@pytest.mark.parametrize(
    "charset",
    [
        "punycode",
        "idna",
        "unicode_escape",
        "raw_unicode_escape",
        "utf-7",
        "zlib",
        "rot13",
        "x" * 999,
    ],
)
def test_only_charsets_of_the_web_are_used(charset: str) -> None:
    body = b"-" + b"a" * 200_000
    known = set(encodings._cache)
    with computing_at_most():
        _title, text = module._decode(Fetched("", "text/plain", charset, "", body))
    assert text == body.decode()
    assert set(encodings._cache) <= known | {"utf_8"}


@pytest.mark.parametrize("charset", sorted(module._CODECS))
def test_no_charset_holds_the_loop(charset: str) -> None:
    """A codec holds the interpreter's lock, so it gets small pieces."""
    for wrong in (b"\xff", b"\x81", b"\xfe\xfe\x80", b"\x1b$B"):
        with computing_at_most():
            (wrong * module._PIECE)[: module._PIECE].decode(module._CODECS[charset], "replace")


def test_a_character_that_is_cut_by_a_piece_stays_whole() -> None:
    text = "茶" * module._PIECE
    found = Fetched("", "text/plain", "utf-8", "", b"a" + text.encode())
    assert module._decode(found) == ("", f"a{text}")
