"""What one persona does differently: which values are allowed, and when they apply."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from oshaberi.bot.conversation.persona_options import (
    checked_options,
    is_awake,
    options_of,
    parsed_option,
    settings_of_persona,
)
from oshaberi.bot.conversation.turn_config import EffectiveSettings, TurnConfig
from oshaberi.bot.storage.records import PersonaRecord
from oshaberi.delivery.config import StreamConfig
from oshaberi.errors import ConfigError

MOCHI = PersonaRecord(7, "Mochi", id=3)


def at(hours: int, minutes: int = 0) -> datetime:
    return datetime(2026, 11, 19, hours, minutes, tzinfo=UTC)


@pytest.mark.parametrize(
    ("option", "text", "value"),
    [
        ("models", "openai/gpt-5.6, ollama/qwen3:4b", ("openai/gpt-5.6", "ollama/qwen3:4b")),
        ("humanizer_degree", "3", 3),
        ("channels", "<#5>, 6", (5, 6)),
        ("awake_hours", " 8 -23:30  Asia/Tokyo ", "8 -23:30 Asia/Tokyo"),
        ("awake_hours", "7-9, 18-24", "7-9, 18-24"),
        ("greeting", "any", "any"),
        ("blocked_tools", "*", ("*",)),
        ("blocked_tools", "react, my files/*, react", ("react", "my files/*")),
        ("colour", "FF8800", "#ff8800"),
    ],
)
def test_what_is_allowed(option: str, text: str, value: Any) -> None:
    assert parsed_option(option, text) == value


@pytest.mark.parametrize(
    ("option", "text", "words"),
    [
        ("models", "gpt-5.6", "as `provider/model`"),
        ("models", ",".join(f"openai/m{n}" for n in range(6)), "at most 5"),
        ("humanizer_degree", "4", "a whole number from 0 to 3"),
        ("base_type_speed_ms_per_char", "fast", "a whole number from 0 to 200"),
        ("channels", "games", "a list of channels"),
        ("awake_hours", "always", "hours such as 8-23:30 Asia/Tokyo"),
        ("awake_hours", "8-25 Asia/Tokyo", "hours such as"),
        ("awake_hours", "8-8", "hours such as"),
        ("awake_hours", "8-23 Asia/Tokio", "did you mean: Asia/Tokyo"),
        ("awake_hours", "8-23 ../../etc/passwd", "a time zone"),
        ("awake_hours", "8-9," * 40, "hours such as"),
        ("greeting", "loud", "one of: off, first, any"),
        ("colour", "red", "a colour such as #ff8800"),
        ("mood", "good", "there is no such option"),
    ],
)
def test_what_is_not_allowed_is_one_line(option: str, text: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words) as error:
        parsed_option(option, text)
    assert "\n" not in str(error.value)


def test_what_another_version_stored_is_left_out() -> None:
    stored = {"humanizer_degree": 9, "greeting": "first", "mood": "good", "channels": ["x"]}
    options = options_of(replace(MOCHI, options=stored))
    assert (options.humanizer_degree, options.greeting, options.channels) == (None, "first", ())


def test_only_what_differs_is_stored() -> None:
    given = {"humanizer_degree": None, "memory": "server", "channels": (5,), "colour": ""}
    assert checked_options(given) == {"channels": [5]}


@pytest.mark.parametrize(
    ("hours", "awake", "asleep"),
    [
        ("8-23:30 UTC", [at(8), at(23, 29)], [at(7, 59), at(23, 30)]),
        ("8-23:30", [at(8)], [at(3)]),
        ("22-6 Asia/Tokyo", [at(13), at(20, 59)], [at(12, 59), at(21)]),
        ("9-12, 14-24 UTC", [at(9), at(14), at(23, 59)], [at(12), at(13), at(0)]),
    ],
)
def test_hours(hours: str, awake: list[datetime], asleep: list[datetime]) -> None:
    mochi = replace(MOCHI, options={"awake_hours": hours})
    assert [is_awake(mochi, one) for one in awake] == [True] * len(awake)
    assert [is_awake(mochi, one) for one in asleep] == [False] * len(asleep)


def test_without_hours_or_with_wrong_ones_it_is_awake() -> None:
    assert is_awake(MOCHI, at(3))
    assert is_awake(replace(MOCHI, options={"awake_hours": "8-23 Nowhere/Land"}), at(3))


def test_summer_time_is_that_of_the_zone() -> None:
    mochi = replace(MOCHI, options={"awake_hours": "8-9 Europe/Berlin"})
    assert is_awake(mochi, datetime(2026, 7, 1, 6, 30, tzinfo=UTC))
    assert is_awake(mochi, datetime(2026, 12, 1, 7, 30, tzinfo=UTC))


def test_a_channel_is_nearer_than_a_persona_and_a_persona_nearer_than_its_server() -> None:
    mochi = replace(MOCHI, options={"humanizer_degree": 3, "base_type_speed_ms_per_char": 50})
    settings = EffectiveSettings(StreamConfig(), TurnConfig())
    of_server = settings_of_persona(settings, mochi).stream
    assert (of_server.text.humanizer_degree, of_server.base_type_speed_ms_per_char) == (3, 50)
    chosen = replace(settings, of_channel=frozenset({"humanizer_degree"}))
    of_channel = settings_of_persona(chosen, mochi).stream
    assert (of_channel.text.humanizer_degree, of_channel.base_type_speed_ms_per_char) == (2, 50)
    assert settings_of_persona(settings, MOCHI) is settings
