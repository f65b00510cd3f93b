"""The world of the local stage: the same one at every visit, its settings the visitor's own."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from discord_stage.cdn import drawn_avatars
from oshaberi.bot.config import PersonaEntry, load
from oshaberi.bot.local_run.demo_world import ATTENTION_MS, FACES, MAIN, settle_in, world
from oshaberi.bot.local_run.startup import _with_settings_of
from oshaberi.bot.storage import Database, SecretVault
from oshaberi.bot.storage.records import SpriteRecord

STAGE, MOVED = "http://127.0.0.1:1", "http://127.0.0.1:2"


def test_the_same_world_has_the_same_ids() -> None:
    first, second = world(), world()
    assert list(first.guilds) == list(second.guilds)
    assert list(first.channels) == list(second.channels)
    assert first.bot.id == second.bot.id
    assert first.application.token != second.application.token


def test_no_face_of_the_cast_is_the_usual_one() -> None:
    assert len({drawn_avatars.mascot(), *map(drawn_avatars.mascot, FACES)}) == len(FACES) + 1


def test_the_bot_goes_on_listening_unless_the_visitor_chose_otherwise() -> None:
    home = {"HOME": "/nowhere"}
    settings, variables = _with_settings_of(world(), load(None, home), home)
    assert settings.turn.attention_ms == ATTENTION_MS
    assert variables["OSHABERI_ATTENTION_MS"] == str(ATTENTION_MS)
    chosen = {**home, "OSHABERI_ATTENTION_MS": "0"}
    settings, variables = _with_settings_of(world(), load(None, chosen), chosen)
    assert settings.turn.attention_ms == 0
    assert variables["OSHABERI_ATTENTION_MS"] == "0"


def test_a_second_visit_keeps_what_was_changed(tmp_path: Path) -> None:
    async def visits() -> None:
        place = world()
        server = next(iter(place.guilds))
        url, vault = f"sqlite:///{tmp_path / 'bot.db'}", SecretVault([SecretVault.new_key()])
        async with Database.open(url, vault) as db:
            await settle_in(db, STAGE, place)
            mochi = await db.personas.get(server, MAIN)
            assert mochi is not None
            assert [sprite.name for sprite in mochi.sprites] == list(FACES)
            own = SpriteRecord("own", "https://x.test/own.png")
            await db.personas.save(replace(mochi, prompt="mine now", sprites=(own,)))
            await db.personas.delete(server, "Yuki")
            await settle_in(db, MOVED, place)
            again = await db.personas.get(server, MAIN)
            assert again is not None
            assert again.prompt == "mine now"
            faces = {sprite.name: sprite.avatar_url for sprite in again.sprites}
            assert faces["own"] == "https://x.test/own.png"
            assert str(faces["happy"]).startswith(MOVED)
            assert await db.personas.get(server, "Yuki") is None

    asyncio.run(visits())


def test_a_persona_of_ones_own_has_a_server_to_itself(tmp_path: Path) -> None:
    """With nobody in the server's own cast, the one of the settings answers there."""
    aiko = PersonaEntry("Aiko")

    async def visit() -> None:
        place = world(aiko)
        server = next(iter(place.guilds))
        assert place.bot.name == "Aiko"
        assert server not in world().guilds
        assert list(place.guilds) == list(world(aiko).guilds)
        url, vault = f"sqlite:///{tmp_path / 'bot.db'}", SecretVault([SecretVault.new_key()])
        async with Database.open(url, vault) as db:
            await settle_in(db, STAGE, place, aiko)
            assert await db.personas.of(server) == ()
            assert await db.servers.config(server) == {}

    asyncio.run(visit())


@pytest.mark.parametrize("name", ["Mika", " A  name\nthat is far longer than others are ", "x"])
def test_any_persona_has_a_place(name: str) -> None:
    place = world(PersonaEntry(name))
    assert place.bot.name == " ".join(name.split())[:32].strip()
    names = [
        member.user.name.lower() for member in next(iter(place.guilds.values())).members.values()
    ]
    assert names.count(place.bot.name.lower()) == 1
