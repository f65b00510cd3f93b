"""Macros, and what a model is told of a character."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest

from oshaberi.bot.characters.cards import DepthNote, card_from
from oshaberi.bot.characters.macros import MacroValues, expanded, hidden_keys, is_volatile
from oshaberi.bot.characters.prompt import character_prompt

from .made_cards import DATA_V3, as_v3

VALUES = MacroValues("Mo", "Alice", datetime(2026, 11, 18, 9, 5, tzinfo=UTC), seed=7)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{char}} and <USER>, {{User}}, <BOT>", "Mo and Alice, Alice, Mo"),
        ("{{// a note}}a{{comment: b}}b{{hidden_key:c}}", "ab"),
        ("{{reverse:abc}}", "cba"),
        ("{{roll:1}} {{roll:d1}} {{roll::3d1+2}}", "1 1 5"),
        ("{{random:a}}{{random::b}}{{pick:c}}", "abc"),
        (r"{{random:a\, b}}", "a, b"),
        ("{{random:{{user}}}}", "Alice"),
        ("{{date}}, {{weekday}}, {{time}}", "18 November 2026, Wednesday, 09:05"),
        (
            "{{roll:0}} {{roll:x}} {{unknown}} {{}} }}{{",
            "{{roll:0}} {{roll:x}} {{unknown}} {{}} }}{{",
        ),
    ],
)
def test_macros(text: str, expected: str) -> None:
    assert expanded(text, VALUES) == expected


def test_dice_are_thrown_by_the_message() -> None:
    """Another attempt at the same answer is told the same; another message something else."""
    text = "{{random:a,b,c,d,e,f,g,h}}{{roll:1000}}"
    assert expanded(text, VALUES) == expanded(text, VALUES)
    other = MacroValues("Mo", "Alice", VALUES.now, seed=8)
    assert expanded(text, VALUES) != expanded(text, other)
    assert expanded("{{pick:a,b,c,d,e}}", VALUES) == expanded("{{pick:a,b,c,d,e}}", other)


def test_many_dice_are_thrown_in_little_time() -> None:
    begun = time.process_time()
    assert expanded("{{roll:1000d9}}", VALUES) == "{{roll:1000d9}}"
    expanded("{{roll:999d9}}" * 7000, VALUES)
    expanded("{{roll:100d9}}" * 7000, VALUES)
    assert time.process_time() - begun < 1


def test_an_outlet_shows_its_lore_and_many_of_them_stay_within_bounds() -> None:
    values = MacroValues("Mo", "Alice", VALUES.now, outlets={"World": "{{char}}'s tea."})
    assert expanded("a {{outlet::World}} {{outlet::none}}b", values) == "a Mo's tea. b"
    large = MacroValues("Mo", "Alice", VALUES.now, outlets={"w": "{{outlet::w}}" + "x" * 90_000})
    begun = time.process_time()
    assert len(expanded("{{outlet::w}}" * 7000, large)) <= 200_000
    assert time.process_time() - begun < 1


def test_a_name_is_no_macro() -> None:
    tricky = MacroValues("Mo", "{{char}}", VALUES.now)
    assert expanded("{{user}}", tricky) == "((char))"


def test_many_macros_stay_within_bounds() -> None:
    assert len(expanded("{{char}}" * 50_000, MacroValues("x" * 80, "", VALUES.now))) <= 200_000
    assert expanded("{{" * 100_000, VALUES) == "{{" * 100_000


def test_hidden_keys_and_volatile_lines() -> None:
    assert hidden_keys("{{hidden_key:tea, cake}}") == "tea, cake"
    assert is_volatile("It is {{time}}")
    assert is_volatile("{{outlet::World}}")
    assert not is_volatile("{{char}} {{pick:a,b}}")


def test_the_prompt_of_a_card() -> None:
    prompt = character_prompt(card_from(as_v3()), VALUES)
    assert prompt.system == (
        "Speak softly.\n\nMo is a sleepy cat who keeps a tea house.\n\n"
        "Personality: drowsy, kind\n\nScenario: A rainy afternoon in the tea house."
    )
    assert prompt.notes == (DepthNote("Mo is nearly asleep.", 2),)
    assert prompt.last == "Stay drowsy."
    told = [[(one.is_own, one.text) for one in block] for block in prompt.examples]
    assert told == [[(False, "Tea?"), (True, "Always tea.")], [(True, "Zzz.")]]


def test_notes_for_people_never_reach_the_model() -> None:
    assert "warm drink" not in repr(character_prompt(card_from(as_v3()), VALUES))


def test_what_changes_in_each_turn_stands_low() -> None:
    """The head of the prompt is the same in each turn, so that a provider can cache it."""
    data = DATA_V3 | {
        "description": "A cat.\nIn the mood for {{random:tea,cake,sleep}}.",
        "mes_example": "{{char}}: {{roll:1000000}}",
    }
    one = character_prompt(card_from(as_v3(data)), VALUES)
    other = character_prompt(card_from(as_v3(data)), MacroValues("Mo", "Alice", VALUES.now, 12))
    assert (one.system, one.examples) == (other.system, other.examples)
    assert "mood" not in one.system
    assert one.notes[0].text.startswith("In the mood for ")
    assert one.notes[0].depth == 1
