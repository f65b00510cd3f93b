"""The token budget: oldest first, the system and the current turn never."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from oshaberi.chunks import ToolCall
from oshaberi.providers.request.model_request import (
    ContextItem,
    ImagePart,
    Item,
    Request,
    ToolDeclaration,
    ToolResult,
    ToolRound,
    said,
)
from oshaberi.providers.request.preparation import trimmed
from oshaberi.providers.request.token_estimate import PER_IMAGE, item_tokens, text_tokens

LONG = "word " * 60
SYSTEM = said("system", LONG, "persona")
SAMPLE = said("user", LONG, "sample")
OLD = [said("user", f"{n} {LONG}") for n in range(4)]
ROUND = ToolRound((ToolCall("look", {"x": LONG}),), (ToolResult(LONG),))
NOW = said("user", LONG, "current")
LATER = ToolRound((ToolCall("now"),), (ToolResult(LONG * 5),))
ITEMS: tuple[Item, ...] = (SYSTEM, SAMPLE, *OLD[:2], ROUND, *OLD[2:], NOW, LATER)


def _fit(window: int, **fields: object) -> list[Item]:
    request = replace(Request(ITEMS, max_output_tokens=10), **fields)  # type: ignore[arg-type]
    return list(trimmed(request, window))


def _total(items: list[Item]) -> int:
    return sum(map(item_tokens, items))


def test_without_a_window_everything_stays() -> None:
    assert trimmed(Request(ITEMS), None) == ITEMS


def test_what_fits_stays() -> None:
    assert _fit(_total(list(ITEMS)) + 10) == list(ITEMS)


def test_samples_go_first_then_the_oldest() -> None:
    whole = _total(list(ITEMS)) + 10
    assert _fit(whole - 5) == [item for item in ITEMS if item is not SAMPLE]
    kept = _fit(whole - 5 - item_tokens(SAMPLE))
    assert kept == [item for item in ITEMS if item is not SAMPLE and item is not OLD[0]]


def test_a_growing_history_is_cut_in_steps() -> None:
    window, begins = 3000, []
    for size in range(30, 60):
        said_so_far = [said("user", f"{n} {LONG}") for n in range(size)]
        (first, *_) = trimmed(Request((*said_so_far, NOW), max_output_tokens=10), window)
        begins.append(first)
    cuts = sum(one != other for one, other in pairwise(begins))
    assert 5 <= cuts <= 10, "without steps nearly every request would begin later"


def test_then_rounds_but_never_the_system_or_the_current_turn() -> None:
    assert _fit(1) == [SYSTEM, NOW, LATER]


def test_what_was_said_after_the_question_goes_last_and_the_note_stays() -> None:
    since = [said("user", f"since {n} {LONG}") for n in range(3)]
    note = said("user", "(Now answer what Ren wrote.)", "current")
    items: tuple[Item, ...] = (SYSTEM, SAMPLE, *OLD, NOW, *since, note, LATER)
    whole = Request(items, max_output_tokens=10)
    room = _total([SYSTEM, NOW, *since, note, LATER])
    assert trimmed(whole, room + 10) == (SYSTEM, NOW, *since, note, LATER)
    assert trimmed(whole, room + 5) == (SYSTEM, NOW, *since[1:], note, LATER)
    assert trimmed(whole, 1) == (SYSTEM, NOW, note, LATER)


def test_a_system_item_stays_whatever_its_tag() -> None:
    items = (said("system", LONG, "history"), said("system", LONG, "sample"), OLD[0], NOW)
    assert trimmed(Request(items, max_output_tokens=1), 1) == (*items[:2], NOW)


def test_without_a_tag_the_last_question_is_the_current_one() -> None:
    items: tuple[Item, ...] = (SYSTEM, *OLD, LATER)
    request = Request(items, max_output_tokens=1)
    assert trimmed(request, 1) == (SYSTEM, OLD[3], LATER)


def test_tools_and_the_answer_take_room_too() -> None:
    window = _total(list(ITEMS)) + 10
    assert len(_fit(window, max_output_tokens=20)) == len(ITEMS) - 1
    tool = ToolDeclaration("look", parameters={"type": "object", "about": LONG})
    assert len(_fit(window, tools=(tool,))) < len(ITEMS)


def test_images_count() -> None:
    assert item_tokens(ContextItem("user", (ImagePart(url="https://x.y/z.png"),))) > PER_IMAGE


def test_a_tokenizer_may_be_handed_in() -> None:
    request = Request(ITEMS, max_output_tokens=1)
    assert len(trimmed(request, 1200, lambda text: len(text.split()))) == len(ITEMS)
    assert len(trimmed(request, 1200)) < len(ITEMS)


@given(st.integers(0, 3000))
def test_it_fits_if_it_can(window: int) -> None:
    kept = _fit(window)
    assert [item for item in kept if item in (SYSTEM, NOW, LATER)] == [SYSTEM, NOW, LATER]
    assert _total(kept) + 10 <= window or kept == [SYSTEM, NOW, LATER]
    assert kept == [item for item in ITEMS if item in kept]


def test_the_estimate_is_safe() -> None:
    assert text_tokens("The lighthouse keeper wrote every evening.") >= 8
    assert text_tokens("灯台守は毎晩、日記を書いた。") >= 14
    assert text_tokens("👋👋👋") >= 4
    assert text_tokens("\ud83d") >= 1
