"""/config, /model and /persona for one channel, thread or category, by those who may."""

from __future__ import annotations

import asyncio

import pytest

from oshaberi.bot.client.discord_values import is_gone, path_of
from oshaberi.bot.config import LoadedSettings
from oshaberi.bot.conversation.messages import ChannelPath
from oshaberi.bot.storage.records import ModelRecord, PersonaRecord
from tests.bot.client_harness import (
    ADMIN,
    MEMBER,
    MODERATOR,
    OWNER,
    ClientHarness,
    run_with_client,
    world,
)

PLACES = world(
    {"name": "games", "type": "category"},
    {"name": "chess", "category": "games", "threads": ["openings"], "nsfw": True},
    {"name": "quiet", "overwrites": [{"role": "admins", "deny": ["view_channel"]}]},
    "general",
    roles=[
        {"name": "admins", "permissions": ["manage_guild"]},
        {"name": "mods", "permissions": ["manage_messages", "manage_channels"]},
    ],
)

PATIENCE_S = 300.0


def degree(value: int, place: str | None = None) -> dict[str, object]:
    given: dict[str, object] = {"key": "humanizer_degree", "value": str(value)}
    return given | ({} if place is None else {"in": place})


def test_a_value_is_shown_with_the_place_it_comes_from() -> None:
    async def scenario(harness: ClientHarness) -> None:
        chess, games = harness.id_of("chess"), harness.id_of("games")
        openings = harness.id_of("openings")

        async def shown(place: str) -> str:
            told = await harness.run("config show", {"key": "humanizer_degree"}, channel=place)
            return told.partition(":")[0]

        assert await shown("openings") == (
            f"`humanizer_degree` is `2` in <#{openings}> (from the built-in default)"
        )
        await harness.run("config set", degree(0), user=ADMIN)
        assert (await shown("openings")).endswith("(from this server)")
        told = await harness.run("config set", degree(1, "games"), user=ADMIN)
        assert told == f"`humanizer_degree` is now `1` in <#{games}>."
        assert (await shown("openings")).endswith(f"(from the category <#{games}>)")
        await harness.run("config set", degree(2, "chess"), user=ADMIN)
        assert (await shown("openings")).endswith(f"(from the channel <#{chess}>)")
        await harness.run("config set", degree(3, "openings"), user=ADMIN)
        assert await shown("openings") == f"`humanizer_degree` is `3` in <#{openings}> (from here)"
        assert (await shown("chess")).endswith("(from here)")
        told = await harness.run("config show", {"in": "chess"})
        assert "* humanizer_degree = 2 (here)" in told
        assert "* humanizer_degree = 0 (server)" in await harness.run("config show")
        told = await harness.run("config set", degree(1), user=ADMIN)
        assert told.startswith(
            "`humanizer_degree` is now `1`. This does not apply where a value is set: <#"
        )
        assert told.count("<#") == 3

    run_with_client(scenario, PLACES)


def test_what_is_reset_is_inherited_again() -> None:
    async def scenario(harness: ClientHarness) -> None:
        chess = harness.id_of("chess")
        for place in ("games", "chess"):
            await harness.run("config set", degree(1, place))
        await harness.run("config set", {"key": "notify", "value": "last", "in": "chess"})
        await harness.run("config set", degree(3))
        told = await harness.run("config reset", {"key": "humanizer_degree", "in": "chess"})
        assert told == f"`humanizer_degree` is inherited again in <#{chess}>: `1`."
        assert await harness.db.servers.config(harness.server_id, chess) == {"notify": "last"}
        told = await harness.run("config reset", {"key": "all", "in": "chess"})
        assert told == f"All settings of <#{chess}> are inherited again."
        stored = await harness.db.servers.settings(harness.server_id)
        assert stored.server == {"humanizer_degree": 3}
        assert stored.channels == {harness.id_of("games"): {"humanizer_degree": 1}}

    run_with_client(scenario, PLACES)


@pytest.mark.parametrize("user", [MEMBER, MODERATOR])
def test_a_channel_needs_manage_server_as_the_server_does(user: str) -> None:
    """Manage Channels is not enough: a channel's models and limits cost the server's money."""

    async def scenario(harness: ClientHarness) -> None:
        model = {"provider": "openai", "model": "big", "in": "chess"}
        for command, given in (
            ("config set", degree(1, "chess")),
            ("config reset", {"key": "all", "in": "chess"}),
            ("model set", model),
            ("model reset", {"in": "chess"}),
            ("persona default", {"name": "Oshaberi", "in": "chess"}),
            ("persona age-restrict", {"name": "Oshaberi"}),
        ):
            refusal = await harness.run(command, given, user=user)
            assert refusal == "Only members with the permission Manage Server can change this."
        assert await harness.db.servers.channels_with_own() == {}

    run_with_client(scenario, PLACES)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (degree(1, "quiet"), "You cannot see that channel."),
        (degree(9, "chess"), "humanizer_degree: 9 is not a whole number from 0 to 3"),
        (
            {"key": "waiting_limit", "value": "5", "in": "chess"},
            "waiting_limit: 5 is more than 4, the most that whoever runs the bot allows",
        ),
        (
            {"key": "auto_channels", "value": "5", "in": "chess"},
            "auto_channels: is for the whole server; leave out `in`",
        ),
        (
            {"key": "quota_tokens_per_server_day", "value": "5", "in": "chess"},
            "quota_tokens_per_server_day: is for the whole server; leave out `in`",
        ),
        (
            {"key": "answering_persona", "value": "Nobody", "in": "chess"},
            "There is no persona Nobody; `/persona list` shows all.",
        ),
        ({"key": "min_random_pause_ms", "value": "900", "in": "openings"}, "max_random_pause_ms"),
    ],
)
def test_what_is_not_allowed_is_refused_with_its_reason(
    given: dict[str, object], told: str
) -> None:
    async def scenario(harness: ClientHarness) -> None:
        games = harness.id_of("games")
        await harness.db.servers.set_config(harness.server_id, "max_random_pause_ms", 800, games)
        assert told in await harness.run("config set", given, user=ADMIN)
        assert list(await harness.db.servers.channels_with_own()) == [harness.server_id]
        (own,) = (await harness.db.servers.channels_with_own()).values()
        assert own == {games}

    run_with_client(scenario, PLACES, own=LoadedSettings(server_limits={"waiting_limit": 4}))


def test_the_models_of_a_hidden_channel_are_not_offered() -> None:
    async def scenario(harness: ClientHarness) -> None:
        for place in ("quiet", "chess"):
            chain = [ModelRecord(harness.server_id, "ollama", name) for name in "ab"]
            await harness.db.models.set_chain(
                harness.server_id, chain, channel_id=harness.id_of(place)
            )
        remove = "model fallback remove"
        offered = [
            await harness.choices(remove, "fallback", options={"in": place}, user=user)
            for place, user in (("quiet", OWNER), ("chess", ADMIN), ("quiet", ADMIN))
        ]
        assert offered == [["1"], ["1"], []]

    run_with_client(scenario, PLACES)


def test_in_direct_messages_there_are_no_channels() -> None:
    async def scenario(harness: ClientHarness) -> None:
        harness.stage.people.dm("hi", user=OWNER)
        told = await harness.run("config set", degree(1, "chess"), channel=f"@{OWNER}")
        assert told == "There are no channels in direct messages. Leave out `in`."
        told = await harness.run("config show", {"key": "notify"}, channel=f"@{OWNER}")
        assert told.startswith("`notify` is `all` (from the built-in default):")
        await harness.run("config set", {"key": "notify", "value": "first"}, channel=f"@{OWNER}")
        told = await harness.run("config show", {"key": "notify"}, channel=f"@{OWNER}")
        assert told.startswith("`notify` is `first` (from all direct messages):")

    run_with_client(scenario, PLACES)


def test_a_channels_chain_is_built_and_taken_apart() -> None:
    async def scenario(harness: ClientHarness) -> None:
        chess, server = harness.id_of("chess"), harness.server_id
        await harness.db.models.set_chain(server, [ModelRecord(server, "ollama", "of-all")])
        given = {"provider": "ollama", "in": "chess"}
        told = await harness.run("model fallback add", given | {"model": "b"})
        assert told == f"Set the first model in <#{chess}> before its fallbacks: `/model set`."
        await harness.run("model set", given | {"model": "a"})
        await harness.run("model fallback add", given | {"model": "b"})
        shown = await harness.run("model show", channel="openings")
        assert shown == f"Set for <#{chess}>, tried in this order:\n1. ollama/a\n2. ollama/b"
        assert "of-all" in await harness.run("model show")
        assert "ollama/b" in await harness.run("model fallback list", {"in": "chess"})
        assert "no fallbacks" in await harness.run("model fallback list")
        await harness.run("model option", {"option": "window", "value": "9000", "in": "chess"})
        assert "window 9000" in await harness.run("model show", {"in": "openings"})
        remove, there = "model fallback remove", {"in": "chess"}
        assert await harness.choices(remove, "fallback", options=there) == ["1"]
        assert await harness.choices(remove, "fallback") == []
        await harness.run("model fallback remove", {"fallback": "1", "in": "chess"})
        shown = await harness.run("model reset", {"in": "chess"})
        assert shown == "Set for this server, tried in this order:\n1. ollama/of-all"
        assert list(await harness.db.models.chains(server)) == [0]

    run_with_client(scenario, PLACES, own=LoadedSettings(allow_local_models=True))


def test_the_persona_of_a_channel_is_offered_and_kept_by_its_name() -> None:
    async def scenario(harness: ClientHarness) -> None:
        await harness.db.personas.save(PersonaRecord(harness.server_id, "Mochi"))
        key = {"key": "answering_persona"}
        offered = await harness.choices("config set", "value", "mo", options=key)
        assert offered == ["Mochi"]
        await harness.run("config set", {**key, "value": "mochi", "in": "chess"})
        stored = await harness.db.servers.config(harness.server_id, harness.id_of("chess"))
        assert stored == {"answering_persona": "Mochi"}
        told = await harness.run("config set", {**key, "value": "", "in": "openings"})
        assert "is now `(none)`" in told

    run_with_client(scenario, PLACES)


def test_what_a_deleted_channel_had_is_deleted() -> None:
    async def scenario(harness: ClientHarness) -> None:
        server = harness.server_id
        for place in ("games", "chess", "openings", "general"):
            await harness.db.servers.set_config(server, "notify", "last", harness.id_of(place))
        left = {harness.id_of("games"), harness.id_of("general")}
        gone = harness.id_of("chess")
        harness.stage.delete_channel("chess")
        async with asyncio.timeout(PATIENCE_S):
            while (await harness.db.servers.channels_with_own())[server] != left:
                """The client hears of it."""
        await harness.db.servers.set_config(server, "notify", "last", gone)
        assert await is_gone(harness.client, server, gone)
        assert not await is_gone(harness.client, server, harness.id_of("general"))
        assert not await is_gone(harness.client, server + 1, gone)

    run_with_client(scenario, PLACES)


def test_where_a_channel_is() -> None:
    async def scenario(harness: ClientHarness) -> None:
        server, games, chess = harness.server_id, harness.id_of("games"), harness.id_of("chess")
        guild = harness.client.get_guild(server)
        assert guild is not None
        thread = guild.get_thread(harness.id_of("openings"))
        assert thread is not None
        assert path_of(thread) == ChannelPath(server, thread.id, chess, games)
        assert path_of(thread).ids == (thread.id, chess, games)
        assert path_of(harness.channel("chess")) == ChannelPath(server, chess, None, games)
        assert path_of(harness.channel("games")).ids == (games,)
        place = harness.turn_channel("openings")
        assert (place.path, place.is_age_restricted) == (path_of(thread), True)
        assert not harness.turn_channel("general").is_age_restricted

    run_with_client(scenario, PLACES)
