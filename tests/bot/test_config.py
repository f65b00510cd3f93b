"""/config: shown, changed and reset, by those who may."""

from __future__ import annotations

import pytest

from oshaberi.bot.config import SERVER_KEYS, LoadedSettings
from oshaberi.bot.conversation.turn_config import TurnConfig
from oshaberi.delivery.config import LIVE_WITHOUT_GROWTH
from tests.bot.client_harness import ADMIN, MEMBER, MODERATOR, OWNER, ClientHarness, run_with_client


def test_a_setting_is_changed_shown_and_reset() -> None:
    async def scenario(harness: ClientHarness) -> None:
        told = await harness.run(
            "config set", {"key": "humanizer_degree", "value": "3"}, user=ADMIN
        )
        assert told == "`humanizer_degree` is now `3`."
        assert await harness.db.servers.config(harness.server_id) == {"humanizer_degree": 3}
        one = await harness.run("config show", {"key": "humanizer_degree"}, user=ADMIN)
        here = f"<#{harness.id_of('general')}>"
        assert f"is `3` in {here} (from this server)" in one
        assert "a whole number from 0 to 3" in one
        assert "`2`" in await harness.run("config reset", {"key": "humanizer_degree"})
        assert await harness.db.servers.config(harness.server_id) == {}

    run_with_client(scenario)


def test_settings_that_do_not_go_together_are_told() -> None:
    async def scenario(harness: ClientHarness) -> None:
        live = {"key": "delivery", "value": "live"}
        assert await harness.run("config set", live) == "`delivery` is now `live`."
        told = await harness.run("config set", {"key": "notify", "value": "last"})
        assert told == f"`notify` is now `last`.\nNote: {LIVE_WITHOUT_GROWTH}."
        assert LIVE_WITHOUT_GROWTH in await harness.run("config show", {"key": "delivery"})
        other = {"key": "humanizer_degree", "value": "0"}
        assert await harness.run("config set", other) == "`humanizer_degree` is now `0`."

    run_with_client(scenario)


def test_only_installed_display_modes_can_be_chosen() -> None:
    async def scenario(harness: ClientHarness) -> None:
        told = await harness.run("config set", {"key": "display_mode", "value": "cards"})
        assert told == "display_mode: 'cards' is not installed; installed: persona"
        told = await harness.run("config set", {"key": "display_mode", "value": "persona"})
        assert told == "`display_mode` is now `persona`."

    run_with_client(scenario)


def test_who_sets_the_language_is_told_what_stays_in_theirs() -> None:
    async def scenario(harness: ClientHarness) -> None:
        told = await harness.run("config set", {"key": "language", "value": "ja"})
        assert told == (
            "`language` is now `ja`.\n"
            "Note: answers to commands stay in the language of your Discord."
        )
        told = await harness.run("config set", {"key": "language", "value": "pt-BR"})
        assert told == (
            "`language` is now `pt-BR`.\n"
            "Note: there is no translation into pt-BR here, so the bot speaks English."
        )

    run_with_client(scenario)


def test_all_settings_fit_into_one_answer() -> None:
    async def scenario(harness: ClientHarness) -> None:
        await harness.run("config set", {"key": "notify", "value": "first"})
        told = await harness.run("config show")
        assert "* notify = first (server)" in told
        assert [key for key in SERVER_KEYS if f"{key} = " not in told] == []
        await harness.run("config reset", {"key": "all"})
        assert "* notify" not in await harness.run("config show")

    run_with_client(scenario)


def test_lists_and_mentions_are_read() -> None:
    async def scenario(harness: ClientHarness) -> None:
        place = harness.id_of("logs")
        values = {"key": "thought_log_channel_id", "value": f"<#{place}>"}
        told = await harness.run("config set", values)
        assert told == f"`thought_log_channel_id` is now <#{place}>."
        await harness.run("config set", {"key": "llm_stop_strings", "value": "END, STOP"})
        stored = await harness.db.servers.config(harness.server_id)
        assert stored == {"thought_log_channel_id": place, "llm_stop_strings": ["END", "STOP"]}
        told = await harness.run("config set", {"key": "auto_channels", "value": f"{place}, 5"})
        assert told == f"`auto_channels` is now <#{place}>, <#5>."
        assert "now `(none)`" in await harness.run(
            "config set", {"key": "blocked_users", "value": ""}
        )

    run_with_client(scenario)


@pytest.mark.parametrize("user", [MEMBER, MODERATOR])
def test_changing_needs_manage_server(user: str) -> None:
    async def scenario(harness: ClientHarness) -> None:
        asked = {"key": "notify", "value": "first"}
        for refusal in (
            await harness.run("config set", asked, user=user),
            await harness.run("config reset", {"key": "all"}, user=user),
        ):
            assert refusal == "Only members with the permission Manage Server can change this."
        assert await harness.db.servers.config(harness.server_id) == {}
        assert "notify = all" in await harness.run("config show", user=user)

    run_with_client(scenario)


def test_in_direct_messages_only_the_owner_changes_things() -> None:
    async def scenario(harness: ClientHarness) -> None:
        asked = {"key": "notify", "value": "first"}
        for user in (MEMBER, ADMIN, OWNER):
            harness.stage.people.dm("hi", user=user)
        for user in (MEMBER, ADMIN):
            told = await harness.run("config set", asked, user=user, channel=f"@{user}")
            assert "only the bot's owner" in told
        assert await harness.db.servers.config(0) == {}
        await harness.run("config set", asked, user=OWNER, channel=f"@{OWNER}")
        assert await harness.db.servers.config(0) == {"notify": "first"}

    run_with_client(scenario)


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("humanizer_degree", "9", "humanizer_degree: 9 is not a whole number from 0 to 3"),
        ("humaniser_degree", "2", "did you mean 'humanizer_degree'?"),
        ("degree", "2", "degree: no such setting; did you mean 'humanizer_degree'?"),
        ("emoji_usage", "2", "did you mean 'emoji_usage_enabled'?"),
        ("nonsense", "2", "nonsense: no such setting; `/config show` lists them"),
        ("typing_ms", "2", "did you mean 'max_typing_time_ms'?"),
        ("a\nb" + "c" * 80, "2", f"a b{'c' * 57}: no such setting; `/config show` lists them"),
        ("discord_token", "x", "is set by whoever runs the bot"),
        ("suppress_user_errors", "true", "is set by whoever runs the bot"),
        ("thought_log_channel_id", "123", "is not a channel of this server"),
        ("min_random_pause_ms", "9000", "max_random_pause_ms"),
    ],
)
def test_what_is_not_allowed_is_refused_with_its_reason(key: str, value: str, told: str) -> None:
    async def scenario(harness: ClientHarness) -> None:
        assert told in await harness.run("config set", {"key": key, "value": value})
        assert await harness.db.servers.config(harness.server_id) == {}

    run_with_client(scenario)


def test_keys_and_values_are_offered() -> None:
    async def scenario(harness: ClientHarness) -> None:
        keys = await harness.choices("config set", "key", "emoji")
        assert keys[0].startswith("emoji")
        assert set(keys) <= set(SERVER_KEYS)
        assert len(await harness.choices("config show", "key")) == 25
        values = await harness.choices("config set", "value", options={"key": "delivery"})
        assert values == ["messages", "live"]
        values = await harness.choices(
            "config set", "value", "t", options={"key": "suppress_embeds"}
        )
        assert values == ["true"]
        assert await harness.choices("config set", "value", "3", options={"key": "nothing"}) == []

    run_with_client(scenario)


def test_what_is_beyond_the_operators_bound_is_refused_with_the_bound() -> None:
    async def scenario(harness: ClientHarness) -> None:
        values = {"key": "max_function_call_iterations", "value": "1000"}
        told = await harness.run("config set", values, user=ADMIN)
        assert told == (
            "max_function_call_iterations: 1000 is more than 100, "
            "the most that whoever runs the bot allows"
        )
        assert await harness.db.servers.config(harness.server_id) == {}
        told = await harness.run("config show", {"key": "max_function_call_iterations"})
        assert "Allowed: a whole number from 1 to 100." in told
        values = {"key": "waiting_limit", "value": "5"}
        assert "more than 4" in await harness.run("config set", values, user=ADMIN)

    run_with_client(scenario, own=LoadedSettings(server_limits={"waiting_limit": 4}))


def test_the_operators_quota_is_told_beside_the_servers_own() -> None:
    async def scenario(harness: ClientHarness) -> None:
        values = {"key": "quota_requests_per_user_day", "value": "900"}
        assert "is now `900`" in await harness.run("config set", values, user=ADMIN)
        told = await harness.run("config show", {"key": "quota_requests_per_user_day"})
        assert "is `900` in <#" in told
        assert "(from this server)" in told
        assert "On the keys of whoever runs the bot: 50 at most." in told

    run_with_client(scenario, own=LoadedSettings(turn=TurnConfig(quota_requests_per_user_day=50)))
