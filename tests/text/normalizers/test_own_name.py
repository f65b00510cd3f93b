"""The persona's own label goes; everybody else's stays."""

from __future__ import annotations

import pytest

from oshaberi.text.config import Persona, TextConfig
from oshaberi.text.normalize.pieces import SegmentWork, TextPiece
from oshaberi.text.normalize.table import Normalizers

TOMORI = TextConfig(persona=Persona("Tomori", ("Lilya", "The Star")))


def run(text: str, line_start: bool = True, config: TextConfig = TOMORI) -> SegmentWork:
    work = SegmentWork([TextPiece(text, line_start=line_start)])
    Normalizers(config).run(work)
    return work


def shown(text: str, line_start: bool = True) -> str:
    return "\n".join(piece.text for piece in run(text, line_start).pieces)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Tomori: hello", "hello"),
        ("tomori: hello", "hello"),
        ("Tomori : hello", "hello"),
        ("The Star: hello", "hello"),
        ("**Tomori:** hello", "hello"),
        ("**Tomori**: hello", "hello"),
        ("__Tomori:__ hello", "hello"),
        ("Tomori： hello", "hello"),
        ("Tomori: Lilya: hi there", "hi there"),
        ("{{char}}: hi", "hi"),
        ("{bot}: hi", "hi"),
        ("a\nTomori: b\nLilya: c", "a\nb\nc"),
        ("Tomori: **bold** text", "**bold** text"),
    ],
)
def test_a_label_at_a_line_start_goes(text: str, expected: str) -> None:
    assert shown(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("done.Tomori: more", "done.\nmore"),
        ("done!Tomori: Lilya: more", "done!\nmore"),
        ("(done)Tomori: more", "(done)\nmore"),
        ("*waves*Tomori: more", "*waves*\nmore"),
        ("||boo||Tomori: more", "||boo||\nmore"),
        ('"yes"Tomori: more', '"yes"\nmore'),
        ("終わり。Tomori：次", "終わり。\n次"),
        ("yay🎉Tomori: more", "yay🎉\nmore"),
        ("yay❤️Tomori: more", "yay❤️\nmore"),
        ("yay <:soup:1>Tomori: more", "yay <:soup:1>\nmore"),
        ("a.Tomori: b.Tomori: c", "a.\nb.\nc"),
    ],
)
def test_a_glued_label_is_a_newline(text: str, expected: str) -> None:
    assert shown(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "my sister, Tomori: is around",
        "I asked Tomori: she agreed",
        "1. Tomori: 100",
        "- Tomori: 100",
        "- done.Tomori: 100",
        "see `Tomori: example` here",
        "see `done.Tomori: example` here",
        "https://x.test/a.Tomori:8 ok",
        "Ren: is that you",
        "{{user}}: hi",
        "Tomoris: hi",
        "> Tomori: quoted",
        '"Tomori: hi" she wrote',
        "Tomori::method",
        "tomori://open",
        "XTomori: hi",
        "Tomori says hi",
    ],
)
def test_what_is_no_own_label_stays(text: str) -> None:
    assert shown(text) == text


def test_an_emoji_named_like_the_persona_is_an_emoji() -> None:
    config = TextConfig(persona=Persona("Tomori"), emojis=("<:tomori:7>",))
    work = run("done.:tomori: yay", config=config)
    assert [piece.text for piece in work.pieces] == ["done.<:tomori:7> yay"]


def test_behind_an_overflow_cut_it_is_no_label() -> None:
    assert shown("Tomori: hello", line_start=False) == "Tomori: hello"
    assert shown("x\nTomori: hello", line_start=False) == "x\nhello"


def test_labels_are_in_the_ledger() -> None:
    work = run("Tomori: Lilya: a.Tomori: b")
    assert work.withheld == [("Tomori: Lilya: ", "own_name"), ("Tomori: ", "own_name")]
