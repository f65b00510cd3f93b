"""Settings of a thread, its channel, its category and the server: the nearest value applies."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from oshaberi.bot.config import SERVER_KEYS, LoadedSettings, check_together, effective
from oshaberi.bot.config.all_settings import SERVER_ONLY_KEYS
from oshaberi.bot.config.server_settings import (
    check_limit,
    nearest_values,
    origin,
)
from oshaberi.bot.conversation.turn_config import TurnConfig
from oshaberi.errors import ConfigError

THREAD = {"humanizer_degree": 0}
CHANNEL = {"humanizer_degree": 1, "notify": "first"}
CATEGORY = {"notify": "last", "history_messages": 7}
SERVER = {"humanizer_degree": 3, "history_messages": 9, "cooldown_ms": 50}


def only(**turn: Any) -> LoadedSettings:
    return LoadedSettings(turn=TurnConfig(**turn))


def test_the_nearest_value_applies() -> None:
    here = effective(LoadedSettings(), THREAD, CHANNEL, CATEGORY, SERVER)
    assert here.stream.text.humanizer_degree == 0
    assert here.stream.notify == "first"
    assert (here.turn.history_messages, here.turn.cooldown_ms) == (7, 50)
    assert effective(LoadedSettings(), CHANNEL, SERVER).stream.text.humanizer_degree == 1
    assert effective(LoadedSettings(), SERVER).stream.text.humanizer_degree == 3


def test_where_a_value_comes_from() -> None:
    layers = (THREAD, CHANNEL, CATEGORY, SERVER)
    keys = ("humanizer_degree", "notify", "history_messages", "cooldown_ms", "reply_mode")
    assert [origin(layers, key) for key in keys] == [0, 1, 2, 3, None]
    assert nearest_values(*layers) == {
        "humanizer_degree": 0,
        "notify": "first",
        "history_messages": 7,
        "cooldown_ms": 50,
    }


def test_a_list_replaces_the_one_above_it() -> None:
    here = effective(LoadedSettings(), {"blocked_users": [1]}, {"blocked_users": [2, 3]})
    assert here.turn.blocked_users == (1,)


def test_a_value_that_is_not_valid_any_more_gives_way_to_the_next(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING):
        here = effective(LoadedSettings(), {"notify": "nobody"}, CATEGORY, SERVER)
    assert here.stream.notify == "last"
    assert len(caplog.records) == 1


def test_values_of_different_places_may_contradict_each_other() -> None:
    above = {"max_random_pause_ms": 400}
    check_together(LoadedSettings(), {"min_random_pause_ms": 400}, above)
    with pytest.raises(ConfigError, match="min_random_pause_ms"):
        check_together(LoadedSettings(), {"min_random_pause_ms": 500}, above)


def test_the_operators_bounds_hold_in_every_place() -> None:
    here = effective(LoadedSettings(), {"max_function_call_iterations": 1000}, {}, SERVER)
    assert here.turn.max_function_call_iterations == 100
    bounded = only(cooldown_ms=5000, blocked_users=(9,), allowed_channels=(70,))
    layers = ({"cooldown_ms": 0, "blocked_users": [], "allowed_channels": [71]}, SERVER)
    turn = effective(bounded, *layers).turn
    assert (turn.cooldown_ms, turn.blocked_users, turn.allowed_channels) == (5000, (9,), (70,))


def test_users_and_roles_are_one_list_of_whom_the_operator_allows() -> None:
    users, roles = only(allowed_users=(1, 2)), only(allowed_roles=(50,))
    for operators, stored in ((users, {"allowed_roles": [60]}), (roles, {"allowed_users": [3]})):
        (key,) = stored
        with pytest.raises(ConfigError, match="is not among those"):
            check_limit(operators, key, stored[key])
        turn = effective(operators, stored).turn
        assert turn.allowed_users == operators.turn.allowed_users
        assert turn.allowed_roles == operators.turn.allowed_roles
    both = only(allowed_users=(1, 2), allowed_roles=(50, 60))
    turn = effective(both, {"allowed_roles": [60, 70], "allowed_users": [2]}).turn
    assert (turn.allowed_users, turn.allowed_roles) == ((2,), (60,))
    blocked = effective(only(blocked_roles=(9,)), {"blocked_roles": [5]}).turn
    assert blocked.blocked_roles == (9, 5)


def test_what_counts_or_names_channels_itself_is_the_servers_alone() -> None:
    assert sorted(SERVER_ONLY_KEYS) == [
        "allowed_channels",
        "auto_channels",
        "birthday_channel_id",
        "blocked_channels",
        "event_channel_id",
        "picture_channel_id",
        "quota_requests_per_server_day",
        "quota_tokens_per_server_day",
        "schedules_per_server",
    ]
    assert set(SERVER_KEYS) > SERVER_ONLY_KEYS
