"""What admins change: which keys, what they may type, and what becomes of it."""

from __future__ import annotations

import logging

import pytest

from oshaberi.bot.config import (
    SERVER_KEYS,
    LoadedSettings,
    check_together,
    effective,
    load,
    parse_server_value,
)
from oshaberi.errors import ConfigError


@pytest.fixture
def settings() -> LoadedSettings:
    return load(None, {"OSHABERI_HUMANIZER_DEGREE": "1", "OSHABERI_COOLDOWN_MS": "9"})


def test_the_server_goes_on_top(settings: LoadedSettings) -> None:
    changed = {"humanizer_degree": 3, "notify": "first", "auto_channels": [7]}
    found = effective(settings, changed)
    assert found.stream.text.humanizer_degree == 3
    assert found.stream.notify == "first"
    assert found.turn.auto_channels == (7,)
    assert found.turn.cooldown_ms == 9
    assert effective(settings, {}).stream is settings.stream


def test_admins_change_answers_not_the_process() -> None:
    assert {"humanizer_degree", "notify", "auto_channels", "suppress_embeds"} <= SERVER_KEYS.keys()
    assert (
        not {
            *("discord_token", "database_url", "models", "persona", "log_level", "tools"),
            *("suppress_text_output", "suppress_user_errors", "web_page_tool_enabled"),
        }
        & SERVER_KEYS.keys()
    )


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("humanizer_degree", " 3 ", 3),
        ("thinking_pause_chance", "0.5", 0.5),
        ("status_reactions", "on", True),
        ("notify", "FIRST", "first"),
        ("thought_log_channel_id", "<#123456789012345678>", 123456789012345678),
        ("auto_channels", "<#1>, <#2>", [1, 2]),
        ("blocked_users", "<@!5> 6", [5, 6]),
        ("auto_channels", "[]", []),
        ("llm_stop_strings", "###, end", ["###", "end"]),
    ],
)
def test_what_admins_type(key: str, text: str, value: object) -> None:
    assert parse_server_value(key, text) == value


@pytest.mark.parametrize(
    ("key", "text", "reason"),
    [
        ("humanizer_degree", "4", "humanizer_degree: 4 is not a whole number from 0 to 3"),
        ("humanizer_degree", "", "humanizer_degree: '' is not a whole number"),
        ("notify", "never", "notify: 'never' is not one of: all, first, last"),
        ("auto_channels", "general", "auto_channels[0]: 'general' is not a list of ids"),
        ("humaniser_degree", "1", "no such setting; did you mean 'humanizer_degree'?"),
        ("discord_token", "x", "discord_token: is set by whoever runs the bot"),
    ],
)
def test_what_admins_may_not_type(key: str, text: str, reason: str) -> None:
    with pytest.raises(ConfigError) as refused:
        parse_server_value(key, text)
    assert reason in str(refused.value)


def test_what_fits_alone_but_not_together_is_refused_before_it_is_stored(
    settings: LoadedSettings,
) -> None:
    low = {"min_random_pause_ms": parse_server_value("min_random_pause_ms", "3000")}
    with pytest.raises(ConfigError, match="min_random_pause_ms: 3000 is not at most"):
        check_together(settings, low)
    check_together(settings, {**low, "max_random_pause_ms": 4000, "of an older program": 1})


def test_a_stored_value_that_is_no_longer_allowed_does_not_silence_the_bot(
    settings: LoadedSettings, caplog: pytest.LogCaptureFixture
) -> None:
    stored = {"hold_limit": 1, "notify": "last", "gone": 5, "discord_token": "x"}
    with caplog.at_level(logging.WARNING):
        found = effective(settings, stored)
    assert (found.stream.text.hold_limit, found.stream.notify) == (500, "last")
    assert [record.getMessage() for record in caplog.records] == [
        "a stored setting is ignored: hold_limit: 1 is not a whole number from 50 to 4000"
    ]


@pytest.mark.parametrize(
    "stored",
    [{"max_random_pause_ms": 0}, {"auto_channels": 5}, {"llm_stop_strings": "abc"}],
)
def test_whatever_is_stored_there_are_settings(
    settings: LoadedSettings, stored: dict[str, object]
) -> None:
    assert effective(settings, stored) == effective(settings, {})
