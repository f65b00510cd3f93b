"""Wrong values are refused with the key, the value and what is allowed."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields
from typing import Any

import pytest

from oshaberi import ConfigError, Known, Persona, Sprite, TextConfig

NUMBERS = {
    "humanizer_degree": (2, 0, 3),
    "max_single_message_length": (1950, 100, 2000),
    "flush_buffer_size": (1000, 100, 4000),
    "flush_buffer_size_code_block": (15000, 1000, 100_000),
    "hold_limit": (500, 50, 4000),
    "max_flush_count": (40, 1, 1000),
    "whole_above_chars": (0, 0, 100_000),
    "emoji_unique_lookback": (5, 0, 50),
    "emoji_run_prefix_length": (3, 1, 32),
}
SWITCHES = {
    "emoji_usage_enabled": True,
    "emoji_preserve_unresolved_shortcodes": False,
    "participant_guard_enabled": True,
    "llm_stop_speaker_pattern_enabled": False,
    "registered_speaker_guard_enabled": False,
    "uncensor_unicode_space_enabled": False,
    "uncensor_sanitize_enabled": False,
    "prefill_visible": True,
}
CHOICES = {
    "paragraph_mode": ("blocks", "lines"),
    "aggregate_join": ("blank_line", "preserve"),
}


def made(key: str, value: Any) -> Any:
    return getattr(TextConfig(**{key: value}), key)


@pytest.mark.parametrize("key", NUMBERS)
def test_numbers(key: str) -> None:
    """Defaults and ranges of spec 09."""
    default, low, high = NUMBERS[key]
    assert getattr(TextConfig(), key) == default
    assert (made(key, low), made(key, high)) == (low, high)
    for wrong in (low - 1, high + 1, str(default), float(default), True, None):
        with pytest.raises(ConfigError) as refused:
            made(key, wrong)
        assert str(refused.value) == f"{key}: {wrong!r} is not a whole number from {low} to {high}"


@pytest.mark.parametrize("key", SWITCHES)
def test_switches(key: str) -> None:
    assert getattr(TextConfig(), key) is SWITCHES[key]
    assert made(key, not SWITCHES[key]) is not SWITCHES[key]
    for wrong in (1, 0, "yes", None):
        with pytest.raises(ConfigError, match=f"^{key}: {wrong!r} is neither true nor false$"):
            made(key, wrong)


@pytest.mark.parametrize("key", CHOICES)
def test_choices(key: str) -> None:
    allowed = CHOICES[key]
    assert getattr(TextConfig(), key) == allowed[0]
    assert [made(key, value) for value in allowed] == list(allowed)
    for wrong in ("", "LINES", None, ["lines"]):
        with pytest.raises(ConfigError) as refused:
            made(key, wrong)
        assert str(refused.value) == f"{key}: {wrong!r} is not one of: {', '.join(allowed)}"


def test_every_setting_says_what_it_does() -> None:
    declared = {setting.name for setting in fields(TextConfig) if "what" in setting.metadata}
    assert declared == {*NUMBERS, *SWITCHES, *CHOICES}


def test_mappings_become_values() -> None:
    config = TextConfig(
        persona={  # type: ignore[arg-type]
            "name": "Tomori",
            "aliases": ["Lilya"],
            "sprites": [{"name": "mad", "avatar_url": "u", "is_identity": True}],
        },
        known=[{"name": "bob", "kind": "user", "id": "12", "aliases": ["b"]}],  # type: ignore[arg-type]
        emojis=["<:soup:1>"],  # type: ignore[arg-type]
        recent_bot_messages=["hi"],  # type: ignore[arg-type]
    )
    assert config.persona == Persona("Tomori", ("Lilya",), sprites=(Sprite("mad", "u", True),))
    assert config.known == (Known("bob", "user", "12", ("b",)),)
    assert (config.emojis, config.recent_bot_messages) == (("<:soup:1>",), ("hi",))
    assert hash(config) == hash(config)


def test_names() -> None:
    assert Persona("Tomori", ("Lilya",)).names == ("Tomori", "Lilya")
    assert Known("bob", aliases=("b",)).names == ("bob", "b")


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"persona": {"name": "a", "x": 1}}, "persona.x: no such key"),
        ({"persona": {}}, "persona.name: is missing"),
        ({"persona": "Bob"}, "persona: 'Bob' is not a description of a persona"),
        ({"persona": {"name": "a", "aliases": "bob"}}, "persona.aliases: 'bob' is not a list"),
        ({"persona": {"name": "a", "aliases": [1]}}, "persona.aliases: 1 is not a text"),
        ({"persona": {"name": "a", "sprites": [{"nme": "x"}]}}, "persona.sprites.nme: no such key"),
        ({"persona": {"name": "a", "sprites": [{}]}}, "persona.sprites.name: is missing"),
        ({"known": {"name": "x"}}, "known: {'name': 'x'} is not a list"),
        ({"known": None}, "known: None is not a list"),
        ({"known": ["x"]}, "known: 'x' is not a description of a known"),
        ({"known": [{"name": "x", "kind": "bot"}]}, "known.kind: 'bot' is not allowed"),
        ({"emojis": "abc"}, "emojis: 'abc' is not a list of texts"),
        ({"emojis": [1]}, "emojis: 1 is not a text"),
        ({"recent_bot_messages": None}, "recent_bot_messages: None is not a list of texts"),
    ],
)
def test_wrong_descriptions_are_named(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError) as refused:
        TextConfig(**settings)
    assert says in str(refused.value)


def test_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        TextConfig().humanizer_degree = 1  # type: ignore[misc]
