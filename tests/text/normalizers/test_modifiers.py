"""Render modifiers: under which identity each line goes out, and for how long."""

from __future__ import annotations

import pytest

from oshaberi.events import Identity
from oshaberi.text.config import Known, Persona, Sprite, TextConfig
from oshaberi.text.normalize.pieces import SegmentWork, TextPiece
from oshaberi.text.normalize.table import Normalizers, SpeakingState

from ..plain_values import fields

PERSONA = Persona(
    "Tomori",
    ("Aphel",),
    sprites=(
        Sprite("mad", "https://x.test/mad.png"),
        Sprite("shy", "https://x.test/shy.png"),
        Sprite("lost"),
        Sprite("The Voice", "https://x.test/voice.png", is_identity=True),
        Sprite("Ren", "https://x.test/as-ren.png"),
    ),
)
KNOWN = (
    Known("Ren", "persona", avatar_url="https://x.test/ren.png"),
    Known("Alice", id="1", aliases=("al",), avatar_url="https://x.test/alice.png"),
    Known("sam", id="2"),
    Known("Sam", id="3"),
    Known("lost", "persona", avatar_url="https://x.test/other.png"),
)
CONFIG = TextConfig(persona=PERSONA, known=KNOWN)

Shown = tuple[str, str | None, bool]


def run(
    normalizers: Normalizers, text: str, line_start: bool = True, ends_line: bool = True
) -> list[Shown]:
    work = SegmentWork([TextPiece(text, line_start=line_start)], ends_line=ends_line)
    normalizers.run(work)
    return [(p.text, p.identity.label if p.identity else None, p.labelled) for p in work.pieces]


def identity_of(text: str) -> Identity | None:
    work = SegmentWork([TextPiece(text)])
    Normalizers(CONFIG).run(work)
    return work.pieces[0].identity


@pytest.mark.parametrize(
    "text",
    [
        "Tomori (mad): hi",
        "tomori (MAD): hi",
        "Tomori (mad)： hi",
        "Tomori（mad）：hi",
        "**Tomori (mad):** hi",
        "**Tomori (mad)**: hi",
        "Tomori: Tomori (mad): hi",
        "Tomori: Aphel: Tomori (mad): hi",
        "Tomori (shy): Tomori (mad): hi",
        "Tomori (mad): Tomori: hi",
        "{{char}} (mad): hi",
    ],
)
def test_an_ordinary_sprite(text: str) -> None:
    work = SegmentWork([TextPiece(text)])
    Normalizers(CONFIG).run(work)
    (piece,) = work.pieces
    assert piece.text == "hi"
    assert piece.labelled
    identity = piece.identity
    assert identity is not None
    assert (identity.username, identity.kind, identity.sprite) == ("Tomori", "sprite", "mad")
    assert identity.avatar_url == "https://x.test/mad.png"
    assert identity.label.casefold() == "tomori (mad)"


def test_an_identity_sprite_is_named_after_the_sprite() -> None:
    assert identity_of("Aphel (the voice): hi") == Identity(
        "The Voice (Tomori)",
        "https://x.test/voice.png",
        "identity_sprite",
        "Aphel (the voice)",
        "The Voice",
    )


def test_a_copied_identity_is_found_by_alias() -> None:
    assert identity_of("Tomori (AL): hi") == Identity(
        "Alice (Tomori)", "https://x.test/alice.png", "copied", "Tomori (AL)"
    )


def test_a_sprite_wins_over_somebody_of_its_name() -> None:
    identity = identity_of("Tomori (Ren): hi")
    assert identity is not None
    assert identity.kind == "sprite"


@pytest.mark.parametrize("modifier", ["whoever", "sam", "lost"])
def test_unknown_ambiguous_or_without_image_is_stripped(modifier: str) -> None:
    normalizers = Normalizers(CONFIG)
    run(normalizers, "Tomori (mad): first")
    work = SegmentWork([TextPiece(f"Tomori ({modifier}): hi")])
    normalizers.run(work)
    assert fields(work.pieces) == fields([TextPiece("hi")])
    assert work.withheld == [(f"Tomori ({modifier}): ", "modifier")]
    assert normalizers.carry().active is None


@pytest.mark.parametrize(
    "text",
    [
        "- Tomori (mad): boo",
        "* Tomori (mad): boo",
        "• Tomori (mad): boo",
        "1. Tomori (mad): boo",
        "1) Tomori (mad): boo",
        "`Tomori (mad): boo`",
        "Tomori (`mad`): boo",
        "Ren (mad): boo",
        "I think Tomori (mad): boo",
        f"Tomori ({'x' * 65}): boo",
        "Tomori (): boo",
        "Tomori (mad) boo",
    ],
)
def test_what_is_no_modifier_stays(text: str) -> None:
    assert run(Normalizers(CONFIG), text) == [(text, None, False)]


def test_a_sprite_lasts_until_another_label() -> None:
    normalizers = Normalizers(CONFIG)
    mad = "Tomori (mad)"
    assert run(normalizers, "Tomori (mad): a\nb") == [("a\nb", mad, True)]
    assert run(normalizers, "c") == [("c", mad, False)]
    assert normalizers.block_identity(ends_line=True) is not None
    assert run(normalizers, "d\nTomori: e\nf") == [("d", mad, False), ("e\nf", None, False)]
    assert normalizers.block_identity(ends_line=True) is None


def test_each_labelled_line_is_a_piece() -> None:
    text = "a\nTomori (mad): b\nTomori (mad): c\nTomori (shy): d\nTomori (al): e\nf"
    assert run(Normalizers(CONFIG), text) == [
        ("a", None, False),
        ("b", "Tomori (mad)", True),
        ("c", "Tomori (mad)", True),
        ("d", "Tomori (shy)", True),
        ("e", "Tomori (al)", True),
        ("f", None, False),
    ]


def test_a_copied_identity_ends_with_its_line() -> None:
    normalizers = Normalizers(CONFIG)
    al = "Tomori (al)"
    assert run(normalizers, "Tomori (al): a", ends_line=False) == [("a", al, True)]
    assert run(normalizers, "b", line_start=False, ends_line=False) == [("b", al, False)]
    assert normalizers.block_identity(ends_line=False) is not None
    assert run(normalizers, "c\nd", line_start=False) == [("c", al, False), ("d", None, False)]
    assert normalizers.block_identity(ends_line=False) is None


def test_a_block_that_ends_the_line_ends_the_copied_identity() -> None:
    normalizers = Normalizers(CONFIG)
    run(normalizers, "Tomori (al): a", ends_line=False)
    assert normalizers.block_identity(ends_line=True) is not None
    assert normalizers.block_identity(ends_line=True) is None


def test_behind_an_overflow_cut_it_is_no_label() -> None:
    text = "Tomori (mad): boo"
    assert run(Normalizers(CONFIG), text, line_start=False) == [(text, None, False)]


def test_a_label_alone_labels_the_next_text() -> None:
    normalizers = Normalizers(CONFIG)
    assert run(normalizers, "Tomori (mad):") == []
    assert run(normalizers, "hi") == [("hi", "Tomori (mad)", True)]
    assert run(normalizers, "there") == [("there", "Tomori (mad)", False)]


def test_the_active_sprite_is_carried_and_a_copied_identity_is_not() -> None:
    first = Normalizers(CONFIG)
    run(first, "Tomori (mad): a")
    carried = first.carry()
    assert run(Normalizers(CONFIG, carried=carried), "b") == [("b", "Tomori (mad)", False)]
    run(first, "Tomori (al): a", ends_line=False)
    assert first.carry() == SpeakingState()
