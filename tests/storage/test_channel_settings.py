"""What a channel has of its own: settings, models, and what becomes of them."""

from __future__ import annotations

from oshaberi.bot.storage import Database
from oshaberi.bot.storage.records import ModelRecord, PersonaRecord
from oshaberi.bot.storage.schema.ownership import DataSubject

from .scenario_database import with_database

SERVER, OTHER = 7, 8
CHANNEL, THREAD, CATEGORY = 70, 71, 72


def test_each_place_has_its_own_values(url: str) -> None:
    async def scenario(db: Database) -> None:
        for place, degree in ((0, 1), (CHANNEL, 2), (CATEGORY, 3)):
            await db.servers.set_config(SERVER, "humanizer_degree", degree, place)
        await db.servers.set_config(OTHER, "humanizer_degree", 0, CHANNEL)
        await db.servers.set_config(SERVER, "notify", "last", CHANNEL)
        await db.servers.set_config(SERVER, "notify", "first", CHANNEL)
        stored = await db.servers.settings(SERVER)
        assert stored.server == {"humanizer_degree": 1}
        assert stored.channels == {
            CHANNEL: {"humanizer_degree": 2, "notify": "first"},
            CATEGORY: {"humanizer_degree": 3},
        }
        layers = stored.layers((THREAD, CHANNEL, CATEGORY))
        assert layers == (stored.channels[CHANNEL], stored.channels[CATEGORY], stored.server)
        await db.servers.reset_config(SERVER, "notify", CHANNEL)
        assert await db.servers.config(SERVER, CHANNEL) == {"humanizer_degree": 2}
        await db.servers.reset_config(SERVER, None, CHANNEL)
        assert await db.servers.config(SERVER, CHANNEL) == {}
        assert await db.servers.config(SERVER) == {"humanizer_degree": 1}
        await db.servers.reset_config(SERVER)
        assert await db.servers.config(SERVER, CATEGORY) == {"humanizer_degree": 3}
        assert await db.servers.config(OTHER, CHANNEL) == {"humanizer_degree": 0}

    with_database(url, scenario)


def test_each_place_has_its_own_models(url: str) -> None:
    async def scenario(db: Database) -> None:
        big, small = ModelRecord(SERVER, "openai", "big"), ModelRecord(SERVER, "openai", "small")
        await db.models.set_chain(SERVER, [big])
        await db.models.set_chain(SERVER, [small, big], channel_id=CHANNEL)
        assert [one.model for one in await db.models.chain(SERVER)] == ["big"]
        chains = await db.models.chains(SERVER)
        assert {place: [one.model for one in chains[place]] for place in chains} == {
            0: ["big"],
            CHANNEL: ["small", "big"],
        }
        await db.models.set_chain(SERVER, [])
        assert list(await db.models.chains(SERVER)) == [CHANNEL]

    with_database(url, scenario)


def test_a_deleted_channel_leaves_nothing(url: str) -> None:
    async def scenario(db: Database) -> None:
        small = ModelRecord(SERVER, "openai", "small")
        await db.models.set_chain(SERVER, [small])
        await db.models.set_chain(SERVER, [small], channel_id=CHANNEL)
        await db.servers.set_config(SERVER, "notify", "last", THREAD)
        await db.servers.set_config(SERVER, "notify", "last", CATEGORY)
        own = {SERVER: frozenset({CHANNEL, THREAD, CATEGORY})}
        assert await db.servers.channels_with_own() == own
        settings, models = (db.changes.stamp(kind, SERVER) for kind in ("settings", "models"))
        assert await db.servers.forget_channels(SERVER, (CHANNEL, THREAD)) == 2
        assert db.changes.stamp("settings", SERVER) != settings
        assert db.changes.stamp("models", SERVER) != models
        assert await db.servers.channels_with_own() == {SERVER: frozenset({CATEGORY})}
        assert list(await db.models.chains(SERVER)) == [0]
        assert await db.servers.forget_channels(SERVER, ()) == 0

    with_database(url, scenario)


def test_it_is_the_servers_own_data(url: str) -> None:
    async def scenario(db: Database) -> None:
        await db.servers.set_config(SERVER, "notify", "last", CHANNEL)
        await db.servers.set_config(OTHER, "notify", "last", CHANNEL + 5)
        small = ModelRecord(SERVER, "openai", "small")
        await db.models.set_chain(SERVER, [small], channel_id=CHANNEL)
        assert await db.departed_servers.known_servers() == {SERVER, OTHER}
        exported = await db.personal_data.export(DataSubject("server", SERVER))
        row = {"server_id": "7", "channel_id": "70", "key": "notify", "value": "last"}
        assert exported["channel_settings"] == [row]
        assert [one["channel_id"] for one in exported["models"]] == ["70"]
        stamp = db.changes.stamp("settings", SERVER)
        gone = await db.personal_data.delete(DataSubject("server", SERVER))
        assert gone == {"channel_settings": 1, "models": 1}
        assert db.changes.stamp("settings", SERVER) != stamp
        assert await db.departed_servers.known_servers() == {OTHER}

    with_database(url, scenario)


def test_a_persona_remembers_where_it_may_answer(url: str) -> None:
    async def scenario(db: Database) -> None:
        await db.personas.save(PersonaRecord(SERVER, "Mochi", is_age_restricted=True))
        await db.personas.save(PersonaRecord(SERVER, "Ren"))
        stored = {one.name: one.is_age_restricted for one in await db.personas.of(SERVER)}
        assert stored == {"Mochi": True, "Ren": False}

    with_database(url, scenario)
