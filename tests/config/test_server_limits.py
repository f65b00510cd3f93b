"""The operator's bounds on what a server's admins may change."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from oshaberi.bot.config import SERVER_KEYS, LoadedSettings, effective, load
from oshaberi.bot.config.server_settings import allowed_here, check_limit, most_allowed
from oshaberi.bot.conversation.turn_config import TurnConfig
from oshaberi.errors import ConfigError


def settings(**turn: Any) -> LoadedSettings:
    return LoadedSettings(turn=TurnConfig(**turn))


@pytest.mark.parametrize(
    ("key", "most"),
    [
        ("max_function_call_iterations", 100),
        ("max_flush_count", 100),
        ("history_messages", 100),
        ("max_answering_personas", 5),
        ("self_trigger_limit", 5),
        ("tool_result_limit_chars", 50_000),
        ("short_memory_size", 50),
        ("inactivity_timeout_ms", 600_000),
    ],
)
def test_what_costs_money_is_bounded_without_a_word_of_the_operator(key: str, most: int) -> None:
    check_limit(LoadedSettings(), key, most)
    with pytest.raises(ConfigError) as refused:
        check_limit(LoadedSettings(), key, most + 1)
    assert str(refused.value).startswith(f"{key}: {most + 1} is more than {most}, the most")


def test_what_was_stored_before_is_cut_down_when_it_is_read() -> None:
    stored = {"max_function_call_iterations": 1000, "max_flush_count": 1000}
    now = effective(LoadedSettings(), stored)
    assert now.turn.max_function_call_iterations == 100
    assert now.stream.text.max_flush_count == 100


def test_the_operator_raises_a_bound_by_a_limit_or_by_the_setting_itself() -> None:
    stored = {"max_function_call_iterations": 1000}
    raised = replace(LoadedSettings(), server_limits={"max_function_call_iterations": 400})
    assert effective(raised, stored).turn.max_function_call_iterations == 400
    check_limit(raised, "max_function_call_iterations", 400)
    own = settings(max_function_call_iterations=300)
    assert effective(own, stored).turn.max_function_call_iterations == 300


def test_the_operator_lowers_a_bound_of_any_number() -> None:
    lowered = replace(LoadedSettings(), server_limits={"waiting_limit": 4, "history_messages": 20})
    with pytest.raises(ConfigError, match="waiting_limit: 5 is more than 4"):
        check_limit(lowered, "waiting_limit", 5)
    now = effective(lowered, {"waiting_limit": 50}).turn
    assert now.waiting_limit == 4
    assert now.history_messages == 40, "what no admin changed is the operator's own word"


@pytest.mark.parametrize("key", SERVER_KEYS)
def test_every_number_that_admins_may_change_can_be_bounded(key: str) -> None:
    setting = SERVER_KEYS[key]
    if "low" not in setting.about or "mention" in setting.about or key.startswith("quota_"):
        assert most_allowed(LoadedSettings(), setting) is None
        return
    low = setting.about["low"]
    bounded = replace(LoadedSettings(), server_limits={key: low})
    assert most_allowed(bounded, setting) == low
    with pytest.raises(ConfigError, match=f"more than {low}, the most"):
        check_limit(bounded, key, low + 1)


def test_an_admin_cannot_take_the_operators_cooldown_away() -> None:
    slow = settings(cooldown_ms=5000)
    with pytest.raises(ConfigError, match="cooldown_ms: 0 is less than 5000, the least"):
        check_limit(slow, "cooldown_ms", 0)
    check_limit(slow, "cooldown_ms", 6000)
    assert effective(slow, {"cooldown_ms": 0}).turn.cooldown_ms == 5000


def test_an_admin_cannot_answer_whom_the_operator_does_not() -> None:
    only = settings(allowed_users=(1, 2), blocked_users=(9,))
    with pytest.raises(ConfigError, match="allowed_users: 3 is not among those"):
        check_limit(only, "allowed_users", [1, 3])
    check_limit(only, "allowed_users", [1])
    assert effective(only, {"allowed_users": [1, 3]}).turn.allowed_users == (1,)
    assert effective(only, {"allowed_users": [3]}).turn.allowed_users == (1, 2)
    assert effective(only, {"allowed_users": []}).turn.allowed_users == (1, 2)
    assert effective(only, {"blocked_users": [5]}).turn.blocked_users == (9, 5)
    assert effective(LoadedSettings(), {"allowed_users": [3]}).turn.allowed_users == (3,)


def test_what_is_allowed_here_is_told() -> None:
    told = allowed_here(LoadedSettings(), SERVER_KEYS["max_function_call_iterations"])
    assert told == "a whole number from 1 to 100"
    assert allowed_here(LoadedSettings(), SERVER_KEYS["notify"]) == "one of: all, first, last"
    slow = settings(cooldown_ms=5000)
    assert allowed_here(slow, SERVER_KEYS["cooldown_ms"]) == "a whole number from 5000 to 3600000"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("max_flush_cont = 5", "server_limits.max_flush_cont: no such setting"),
        ("notify = 5", "server_limits.notify: is not a number that admins may change"),
        ("max_flush_count = 0", "server_limits.max_flush_count: 0 is not a whole number from 1"),
        ("health_port = 5", "server_limits.health_port: is not a number that admins may change"),
        ('max_flush_count = "x"', "server_limits.max_flush_count: 'x' is not"),
    ],
)
def test_a_wrong_limit_is_refused_at_the_start(tmp_path: Path, line: str, words: str) -> None:
    file = tmp_path / "oshaberi.toml"
    file.write_text(f"[server_limits]\n{line}\n", encoding="utf-8")
    with pytest.raises(ConfigError) as refused:
        load(file, {})
    assert str(refused.value).startswith(words)
    assert str(file) in str(refused.value)


def test_limits_are_read_from_the_file(tmp_path: Path) -> None:
    file = tmp_path / "oshaberi.toml"
    file.write_text("[server_limits]\nmax_flush_count = 7\n", encoding="utf-8")
    assert load(file, {}).server_limits == {"max_flush_count": 7}
