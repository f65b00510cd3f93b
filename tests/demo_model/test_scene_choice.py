"""Which words lead to which scene, and what is said when none does."""

from __future__ import annotations

from random import Random

import pytest

from oshaberi.stage.demo_model.request_reading import DemoRequest
from oshaberi.stage.demo_model.scene_choice import scene_for
from oshaberi.stage.demo_model.small_talk import talk
from tests.demo_model.demo_questions import answer, text


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("a TABLE, please", "table"),
        ("表を作って", "table"),
        ("think", "thinking"),
        ("what do you think about cats?", None),
        ("Time?", "time"),
        ("it's time to go", None),
        ("tell me two stories... no, one story", "story"),
        ("spoilers!", "spoiler"),
        ("vegetables are unfashionable", None),
        ("give me a 429", "rate-limit"),
        ("What can you do?", "help"),
        ("you really helped me", None),
        ("", None),
        ("?!", None),
        ("数えて！", "count"),
        ("おしゃべりって何？", "about"),
    ],
)
def test_which_scene(words: str, name: str | None) -> None:
    scene = scene_for(words)
    assert (scene.name if scene else None) == name


def said(words: str, user: str = "Ren", turns: int = 3) -> str:
    asked = DemoRequest(words, user=user, turns=turns)
    return talk(asked, Random(f"{words}\n{turns}"))


def test_it_greets_by_name() -> None:
    assert ", Ren" in said("hello!")
    assert "Ren" not in said("hello!", user="")


@pytest.mark.parametrize(
    "words", ["Why do penguins swim?", "how do I draw penguins", "penguins..."]
)
def test_it_talks_about_what_it_was_asked(words: str) -> None:
    answers = {said(words, turns=turns) for turns in range(1, 9)}
    assert any("penguins" in one.lower() for one in answers)
    assert len(answers) >= 4
    assert all(len(one.splitlines()) >= 3 for one in answers)
    assert all("{{" not in one for one in answers)


def test_it_says_what_it_is() -> None:
    first = said("penguins!", turns=1)
    assert any(word in first for word in ("demo model", "script", "handwriting"))
    assert "「" in said("ペンギンは泳ぎますか？")


def test_the_same_words_get_the_same_answer() -> None:
    assert text(answer("Do you like penguins?")) == text(answer("Do you like penguins?"))


def test_help_names_the_prompts() -> None:
    assert "Compare three kinds of tea" in text(answer("what can you do?"))
