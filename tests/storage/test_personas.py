"""Personas and sprites: found whatever their case, one default, nothing removed by accident."""

from __future__ import annotations

from dataclasses import replace

import pytest

from oshaberi.bot.storage import Database, StorageError
from oshaberi.bot.storage.records import PersonaRecord, SpriteRecord

from .scenario_database import ask, with_database

SERVER = 77
HAPPY = SpriteRecord("happy", "https://x.test/happy.png")
EVIL = SpriteRecord("evil", None, is_identity=True)
REN = PersonaRecord(
    SERVER,
    "Ren",
    prompt="You are Ren.",
    aliases=("the fox", "狐"),
    triggers=("hey ren",),
    avatar_url="https://x.test/ren.png",
    samples=(("hi", "hello"), ("bye", "no")),
    sprites=(HAPPY, EVIL),
)


def test_a_persona_comes_back_whole(url: str) -> None:
    async def scenario(db: Database) -> None:
        saved = await db.personas.save(REN)
        assert saved == replace(REN, id=saved.id)
        assert saved.id > 0
        for name in ("Ren", "REN", " ren ", "The Fox", "狐"):
            assert await db.personas.get(SERVER, name) == saved, name
        assert await db.personas.get(SERVER, "Rena") is None
        assert await db.personas.get(0, "Ren") is None

    with_database(url, scenario)


def test_a_name_comes_before_an_alias(url: str) -> None:
    async def scenario(db: Database) -> None:
        await db.personas.save(replace(REN, aliases=("Éva",)))
        await db.personas.save(PersonaRecord(SERVER, "éva"))
        found = await db.personas.get(SERVER, "ÉVA")
        assert found is not None
        assert found.name == "éva"

    with_database(url, scenario)


def test_saving_again_changes_it_and_keeps_its_sprites(url: str) -> None:
    async def scenario(db: Database) -> None:
        saved = await db.personas.save(REN)
        renamed = await db.personas.save(replace(saved, name="Renard", sprites=()))
        assert renamed == replace(saved, name="Renard")
        by_name = await db.personas.save(PersonaRecord(SERVER, "RENARD", prompt="new"))
        assert (by_name.id, by_name.prompt) == (saved.id, "new")
        assert by_name.sprites == REN.sprites
        assert await db.personas.of(SERVER) == (by_name,)

    with_database(url, scenario)


def test_two_cannot_have_one_name(url: str) -> None:
    async def scenario(db: Database) -> None:
        await db.personas.save(REN)
        other = await db.personas.save(PersonaRecord(SERVER, "Mia"))
        with pytest.raises(StorageError, match="already a persona named 'Ren'"):
            await db.personas.save(replace(other, name="rEN"))
        assert await db.personas.delete(SERVER, "mia")
        with pytest.raises(StorageError, match="'Mia' is gone"):
            await db.personas.save(other)

    with_database(url, scenario)


def test_there_is_one_default_and_it_comes_first(url: str) -> None:
    async def scenario(db: Database) -> None:
        for name in ("a", "b", "c"):
            await db.personas.save(PersonaRecord(SERVER, name, is_default=name != "c"))
        await db.personas.save(PersonaRecord(0, "elsewhere", is_default=True))
        assert await defaults(db) == [("b", True), ("a", False), ("c", False)]
        assert await db.personas.make_default(SERVER, "C")
        assert await defaults(db) == [("c", True), ("a", False), ("b", False)]
        assert not await db.personas.make_default(SERVER, "nobody")
        assert (await defaults(db))[0] == ("c", True)
        assert [p.is_default for p in await db.personas.of(0)] == [True]

    async def defaults(db: Database) -> list[tuple[str, bool]]:
        return [(one.name, one.is_default) for one in await db.personas.of(SERVER)]

    with_database(url, scenario)


def test_sprites(url: str) -> None:
    async def scenario(db: Database) -> None:
        await db.personas.save(PersonaRecord(SERVER, "Ren"))
        await db.personas.save_sprite(SERVER, "ren", HAPPY)
        await db.personas.save_sprite(SERVER, "ren", EVIL)
        await db.personas.save_sprite(SERVER, "ren", SpriteRecord("Happy", "https://x.test/2"))
        found = await db.personas.get(SERVER, "ren")
        assert found is not None
        assert found.sprites == (SpriteRecord("Happy", "https://x.test/2"), EVIL)
        assert await db.personas.delete_sprite(SERVER, "ren", "HAPPY")
        assert not await db.personas.delete_sprite(SERVER, "ren", "HAPPY")
        assert not await db.personas.delete_sprite(SERVER, "nobody", "evil")
        with pytest.raises(StorageError, match="no persona named 'nobody'"):
            await db.personas.save_sprite(SERVER, "nobody", HAPPY)

    with_database(url, scenario)
    assert ask(url, "SELECT name FROM sprites") == [("evil",)]


def test_deleting_takes_the_sprites_along(url: str) -> None:
    async def scenario(db: Database) -> None:
        await db.personas.save(REN)
        assert await db.personas.delete(SERVER, "REN")
        assert not await db.personas.delete(SERVER, "REN")
        assert not await db.personas.delete(SERVER, "the fox"), "an alias deletes nothing"

    with_database(url, scenario)
    assert ask(url, "SELECT count(*) FROM sprites") == [(0,)]
