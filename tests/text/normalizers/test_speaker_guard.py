"""Where somebody else begins to speak, the text ends."""

from __future__ import annotations

from typing import Any

import pytest

from oshaberi.text.config import Known, Persona, TextConfig
from oshaberi.text.normalize.pieces import SegmentWork, TextPiece
from oshaberi.text.normalize.table import Normalizers

PATTERN: dict[str, Any] = {"llm_stop_speaker_pattern_enabled": True}
REGISTERED: dict[str, Any] = {"registered_speaker_guard_enabled": True}


def run(
    text: str, settings: dict[str, Any], opens: bool = False, line_start: bool = True
) -> SegmentWork:
    config = TextConfig(
        persona=Persona("Tomori", ("Lilya",)),
        known=(Known("alice", id="1", aliases=("Al B",)), Known("Ren", "persona")),
        **settings,
    )
    work = SegmentWork([TextPiece(text, line_start=line_start)], opens_response=opens)
    Normalizers(config).run(work)
    return work


@pytest.mark.parametrize("settings", [PATTERN, REGISTERED])
@pytest.mark.parametrize(
    ("line", "label"),
    [
        ("alice: hi", "alice"),
        ("Alice:", "Alice"),
        ("al b：hi", "al b"),
        ("**Alice:** hi", "Alice"),
        ("**Alice**: hi", "Alice"),
        ("**Alice: hi**", "Alice"),
        ("Ren (mad): hi", "Ren (mad)"),
        ("  Ren: hi", "Ren"),
        ("Assistant: hi", "Assistant"),
        ("user: hi", "user"),
        ("HUMAN:", "HUMAN"),
        ("System: hi", "System"),
    ],
)
def test_known_and_reserved_speakers(settings: dict[str, Any], line: str, label: str) -> None:
    work = run(f"Sure.\n{line}\nmore", settings)
    assert [piece.text for piece in work.pieces] == ["Sure."]
    assert work.stop == label
    assert work.withheld == [(f"{line}\nmore", "speaker_guard")]


@pytest.mark.parametrize(
    "line",
    [
        "Stranger: hi",
        "Stranger:hi",
        "Old Man Smith: hi",
        "The Doctor: hi",
        "花子：ねえ",
        "D'Arcy-2: x",
        "bob: x",
    ],
)
def test_strangers_stop_only_by_pattern(line: str) -> None:
    assert run(line, PATTERN).stop is not None
    assert run(line, PATTERN).pieces == []
    assert run(line, REGISTERED).stop is None


@pytest.mark.parametrize("settings", [PATTERN, REGISTERED])
@pytest.mark.parametrize(
    "line",
    [
        "Note: this is fine",
        "Step 1: stir",
        "Step 2a.",
        "Option B: leave",
        "TL;DR: no",
        "PS: hi",
        "P.S.: hi",
        "Fun fact: x",
        "Key points:",
        "Here is the list:",
        "The main idea: x",
        "In Python: x",
        "Zutaten: Mehl",
        "Exemple : x",
        "Ingrédients : sel",
        "Respuesta: sí",
        "Dica: x",
        "例：これ",
        "ステップ1：これ",
        "步骤2：这个",
        "참고: x",
        "- alice: 3",
        "1. alice: 3",
        "* alice: 3",
        "> alice: 3",
        "# alice: 3",
        "`alice: 3`",
        "10:30 is fine",
        "Meet at 10:30",
        "https://x.test/a",
        "std::vector",
        "C:\\temp",
        "ratio 3:1",
        "this is a long sentence with a colon: yes",
        "[alice]: x",
        "<b>: x",
        "Tomori: mine",
        "Tomori (mad): mine",
        "Lilya: mine",
        "say alice",
    ],
)
def test_prose_goes_on(settings: dict[str, Any], line: str) -> None:
    assert run(f"Sure.\n{line}", settings).stop is None


def test_the_first_line_of_the_response_is_not_checked() -> None:
    work = run("alice: hi\nok\nalice: again", PATTERN, opens=True)
    assert [piece.text for piece in work.pieces] == ["alice: hi\nok"]
    assert work.stop == "alice"
    assert run("alice: hi", PATTERN).stop == "alice"


def test_behind_an_overflow_cut_it_is_no_line() -> None:
    assert run("alice: hi", PATTERN, line_start=False).stop is None
    assert run("x\nalice: hi", PATTERN, line_start=False).stop == "alice"


def test_later_pieces_go_too() -> None:
    work = SegmentWork([TextPiece("a\nUser: b"), TextPiece("c")])
    Normalizers(TextConfig(**PATTERN)).run(work)
    assert [piece.text for piece in work.pieces] == ["a"]
    assert work.withheld == [("User: b\nc", "speaker_guard")]


PEOPLE = (
    Known("alice", id="1", aliases=("Al B",), takes_part=True),
    Known("Ren", "persona", takes_part=True),
    Known("mika", id="2"),
    Known("Note", id="3", takes_part=True),
    Known("J", id="4", takes_part=True),
    Known("Lilya", id="5", takes_part=True),
)


def default(text: str, **settings: Any) -> SegmentWork:
    config = TextConfig(persona=Persona("Tomori", ("Lilya",)), known=PEOPLE, **settings)
    work = SegmentWork([TextPiece(text, line_start=True)])
    Normalizers(config).run(work)
    return work


@pytest.mark.parametrize(
    ("line", "label"),
    [
        ("Assistant: hi", "Assistant"),
        ("**assistant:**", "assistant"),
        ("alice: hi", "alice"),
        ("Al B：ねえ", "Al B"),
        ("**Alice:** hi", "Alice"),
        ("**Alice: hi**", "Alice"),
        ('alice: "...well', "alice"),
        ("alice: *waves* 3 times", "alice"),
        ("alice: 😂 same", "alice"),
        ("  Ren (mad): go", "Ren (mad)"),
    ],
)
def test_by_default_participants_who_say_something(line: str, label: str) -> None:
    work = default(f"Sure.\n{line}\nmore")
    assert [piece.text for piece in work.pieces] == ["Sure."]
    assert work.stop == label
    assert work.withheld == [(f"{line}\nmore", "speaker_guard")]
    assert default(f"Sure.\n{line}", participant_guard_enabled=False).stop is None


@pytest.mark.parametrize(
    "line",
    [
        "alice: 3",
        "alice: 12 points",
        "alice:",
        "alice: ✅",
        "- alice: hi",
        "`alice: hi`",
        "alice says: hi",
        "mika: hi",
        "Stranger: hi",
        "Note: hi",
        "J: hi",
        "Lilya: mine",
        "Tomori: mine",
        "User: admin",
        "Human: yes",
        "System: Linux",
    ],
)
def test_by_default_everything_else_goes_on(line: str) -> None:
    assert default(f"Sure.\n{line}").stop is None


def test_by_default_the_first_line_is_not_checked_either() -> None:
    config = TextConfig(known=PEOPLE)
    work = SegmentWork([TextPiece("alice: hi\nok\nalice: again")], opens_response=True)
    Normalizers(config).run(work)
    assert [piece.text for piece in work.pieces] == ["alice: hi\nok"]
