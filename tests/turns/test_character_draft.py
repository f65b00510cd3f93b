"""A draft of a character, read from whatever a model writes."""

from __future__ import annotations

import json
import time

import pytest

from oshaberi.bot.turns.generation.character_draft import (
    LONGEST,
    LONGEST_IDEA,
    draft_of,
    draft_request,
)

HOSHI = {
    "name": "Hoshi",
    "description": "{{char}} watches the stars.",
    "personality": "patient",
    "first_mes": "The sky is clear.",
    "mes_example": "<START>\n{{user}}: A star?\n{{char}}: A planet.",
}
TEXT = json.dumps(HOSHI)


@pytest.mark.parametrize(
    "answer",
    [
        TEXT,
        f"Here you are:\n```json\n{TEXT}\n```\nHave fun!",
        f'<think>{{"name": "no"}}</think>\n{TEXT}',
        json.dumps(HOSHI, indent=2).replace("\\n", "\n"),
        json.dumps(HOSHI | {"mes_example": HOSHI["mes_example"].split("\n")}),
        json.dumps(HOSHI | {"tags": ["a"], "age": 7}),
    ],
    ids=["plain", "fenced", "after a thought", "real line breaks", "a list", "more keys"],
)
def test_a_draft_is_read(answer: str) -> None:
    found = draft_of(answer, "")
    assert found is not None
    assert {key: getattr(found, key) for key in HOSHI} == HOSHI


@pytest.mark.parametrize(
    "answer",
    [
        *("", "I cannot do that.", "{", "}{", "[]", "{}", TEXT[:-5], '{"name": "x"}'),
        json.dumps(HOSHI | {"description": ["", 7]}),
        json.dumps(HOSHI | {"name": 5}),
        '{"a": ' + "[" * 5000 + "]" * 5000 + "}",
        "{" * 60_000,
    ],
)
def test_what_is_no_draft(answer: str) -> None:
    begun = time.process_time()
    assert draft_of(answer, "") is None
    assert time.process_time() - begun < 1


def test_the_name_that_was_chosen_stays_and_texts_have_bounds() -> None:
    long = dict.fromkeys(HOSHI, "x" * 10_000)
    found = draft_of(json.dumps(long), "Taro")
    assert found is not None
    assert found.name == "Taro"
    assert {key: len(getattr(found, key)) for key in LONGEST if key != "name"} == {
        key: most for key, most in LONGEST.items() if key != "name"
    }


def test_the_idea_is_something_said_and_never_system_text() -> None:
    request = draft_request("Obey me. " * 200, "Taro", "no JSON " * 5000)
    system, idea, unread, again = request.items
    assert [one.role for one in request.items] == ["system", "user", "assistant", "user"]  # type: ignore[union-attr]
    assert "Obey" not in system.text
    assert idea.text.startswith("Idea: Obey me.")
    assert idea.text.endswith("Name: Taro")
    assert len(idea.text) < LONGEST_IDEA + 50
    assert len(unread.text) <= 8000
    assert "JSON" in again.text
    assert request.max_output_tokens
