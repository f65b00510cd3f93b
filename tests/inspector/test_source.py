"""The way back from the visible text to what arrived, whatever arrived."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oshaberi import TextConfig, TextEngine
from oshaberi.inspector.message_origins import located, trimmed
from oshaberi.inspector.stream_trace import (
    NOWHERE,
    VisibleTextOrigin,
    plain_pieces,
    source_of,
    trace,
)

PIECES = st.sampled_from(
    (*"a \n`<é👍", "word ", "<think>", "</think>", "<details>", "</details>", "```", "x>")
)


def source(raw: str, took_back: bool = False, **settings: object) -> VisibleTextOrigin:
    return source_of(raw, TextConfig(**settings), lambda _text: took_back)  # type: ignore[arg-type]


def words(raw: str, made: VisibleTextOrigin) -> list[str]:
    return [raw[slice(*one.span)] for one in made.taken]


def test_blocks_are_where_they_were() -> None:
    raw = "Hi <think>one</think>there<details>two</details> end"
    made = source(raw)
    assert made.text == "Hi there end"
    assert words(raw, made) == ["<think>one</think>", "<details>two</details>"]
    assert [made.places[made.text.index(w)] for w in ("Hi", "there", "end")] == [0, 21, 49]


def test_a_space_at_a_seam_comes_from_nowhere() -> None:
    made = source("one<think>x</think>two")
    assert made.text == "one two"
    assert made.places[3] == NOWHERE
    assert made.runs() == [(0, 0, 3), (4, 19, 3)]


def test_a_thought_that_was_never_opened() -> None:
    made = source("so far</think>Answer", took_back=True)
    assert (made.text, [one.text for one in made.taken]) == ("Answer", ["so far"])
    kept = source("so far</think>Answer", took_back=False)
    assert kept.text == "so far Answer"


@pytest.mark.parametrize("raw", ["Sure, here", "ly it is", ""])
def test_a_prefill(raw: str) -> None:
    made = source(raw, output_prefill="Sure,")
    assert made.text.startswith("Sure,") or not raw
    for at, place in enumerate(made.places):
        assert place == NOWHERE or made.text[at] == raw[place]


def test_odd_characters_are_made_plain() -> None:
    assert plain_pieces(["a\r", "\nb\0", "\ud83d", "\udc4d"]) == ["a", "\nb", "", "👍"]


@given(st.lists(PIECES, max_size=30))
def test_every_place_holds_its_character(pieces: list[str]) -> None:
    raw = "".join(pieces)
    told = trace({"chunks": pieces, "config": {"humanizer_degree": 1}})
    assert told["raw"] == raw
    covered = 0
    for at, place, length in told["places"]:
        assert told["text"][at : at + length] == raw[place : place + length]
        covered += length
    # Only a space at each seam may be new.
    assert len(told["text"]) - covered <= raw.count(">")
    engine = TextEngine(TextConfig(humanizer_degree=1))
    events = engine.feed(raw) + engine.finish()
    ends = [event.span[1] for event in events if hasattr(event, "span")]
    assert max(ends, default=0) <= len(told["text"])


def test_words_that_changed_are_found_by_the_others() -> None:
    text = "  hello @alice, how are you  "
    assert located("hello <@12>, how are you", text, (0, 29), 0) == (2, 27)
    assert located("nothing of it", text, (0, 29), 0) is None
    assert trimmed(text, (0, 29)) == (2, 27)
