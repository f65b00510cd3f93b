"""/persona and /sprite."""

from __future__ import annotations

from pathlib import Path

import pytest

from oshaberi import Known, Message, Persona, Sprite, TextConfig, TextEngine
from oshaberi.bot.commands.command_context import CommandRefusedError
from oshaberi.bot.commands.personas.persona_changes import (
    checked_name,
    checked_sprite,
    checked_url,
    checked_words,
)
from oshaberi.bot.storage.records import PersonaRecord
from tests.bot.client_harness import ADMIN, MEMBER, ClientHarness, run_with_client

FACE = "https://pictures.test/mochi.png"
FILLED = {"prompt": "You are Mochi.", "aliases": "Mo, Mochi-chan", "triggers": "mochi"}


def test_a_persona_is_created_edited_and_deleted() -> None:
    async def scenario(harness: ClientHarness) -> None:
        told = await harness.form("persona create", {"name": " Mochi "}, FILLED, user=ADMIN)
        assert told == "**Mochi** is created, and answers from now on."
        stored = await harness.db.personas.get(harness.server_id, "mo")
        assert stored is not None
        assert (stored.name, stored.prompt, stored.is_default) == ("Mochi", "You are Mochi.", True)
        assert (stored.aliases, stored.triggers) == (("Mo", "Mochi-chan"), ("mochi",))
        assert "already a persona" in await harness.run("persona create", {"name": "mochi"})
        asked = harness.stage.people.run("persona edit", {"name": "Mochi"})
        await harness.stage.wait_for(lambda: asked.modal)
        assert asked.modal is not None
        assert "You are Mochi." in str(asked.modal)
        told = await harness.private(harness.stage.people.submit(asked, {"triggers": "rice"}))
        assert told == "**Mochi** is updated."
        stored = await harness.db.personas.get(harness.server_id, "Mochi")
        assert stored is not None
        assert (stored.prompt, stored.triggers) == ("You are Mochi.", ("rice",))
        assert await harness.run("persona list") == "- **Mochi** (default; called by rice)"
        kept = await harness.confirmed("persona delete", {"name": "Mochi"}, button="Cancel")
        assert kept == "Nothing was deleted."
        assert await harness.db.personas.get(harness.server_id, "Mochi") is not None
        told = await harness.confirmed("persona delete", {"name": "Mochi"})
        assert told == "**Mochi** is deleted. Oshaberi is now the default."

    run_with_client(scenario)


def test_another_one_becomes_the_default() -> None:
    async def scenario(harness: ClientHarness) -> None:
        for name in ("Mochi", "Anko"):
            await harness.form("persona create", {"name": name}, {})
        told = await harness.run("persona default", {"name": "anko"})
        assert told == "**Anko** is now the default: it answers when no other is called."
        assert await harness.choices("persona default", "name", "m") == ["Mochi"]
        told = await harness.confirmed("persona delete", {"name": "Anko"})
        assert "Mochi is now the default" in told
        (left,) = await harness.db.personas.of(harness.server_id)
        assert (left.name, left.is_default) == ("Mochi", True)

    run_with_client(scenario)


def test_the_built_in_persona_becomes_the_servers_own_when_it_is_changed() -> None:
    async def scenario(harness: ClientHarness) -> None:
        assert await harness.run("persona list") == "- **Sensei** (default)"
        assert "cannot be deleted" in await harness.run("persona delete", {"name": "Sensei"})
        await harness.form("persona edit", {"name": "sensei"}, {"prompt": "Be strict."})
        (stored,) = await harness.db.personas.of(harness.server_id)
        assert (stored.name, stored.prompt, stored.is_default) == ("Sensei", "Be strict.", True)

    run_with_client(scenario, persona=PersonaRecord(0, "Sensei", "Be kind.", is_default=True))


def test_no_alias_is_somebody_elses_name() -> None:
    async def scenario(harness: ClientHarness) -> None:
        await harness.form("persona create", {"name": "Mochi"}, FILLED)
        told = await harness.form("persona create", {"name": "Anko"}, {"aliases": "mo"})
        assert told == "mo is already a name of Mochi."
        assert len(await harness.db.personas.of(harness.server_id)) == 1

    run_with_client(scenario)


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("persona create", {"name": "Anko"}),
        ("persona edit", {"name": "Mochi"}),
        ("persona avatar", {"name": "Mochi"}),
        ("persona delete", {"name": "Mochi"}),
        ("persona default", {"name": "Mochi"}),
        ("sprite add", {"persona": "Mochi", "name": "x", "url": FACE}),
        ("sprite remove", {"persona": "Mochi", "name": "x"}),
    ],
)
def test_changing_personas_needs_manage_server(command: str, options: dict[str, object]) -> None:
    async def scenario(harness: ClientHarness) -> None:
        before = await harness.db.personas.save(PersonaRecord(harness.server_id, "Mochi"))
        assert "Manage Server" in await harness.run(command, options, user=MEMBER)
        assert await harness.db.personas.of(harness.server_id) == (before,)

    run_with_client(scenario)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("  ", "it is empty"),
        ("\u200b", "it is empty"),
        ("x" * 81, "longer than 80"),
        ("😀" * 41, "longer than 80"),
        ("Clyde", "the word 'clyde'"),
        ("my DISCORD friend", "the word 'discord'"),
        ("dis\u200dcord", "the word 'discord'"),
        ("everyone", "does not allow 'everyone'"),
        ("@here", "does not allow '@here'"),
        ("a@b", "contains an @"),
        ("a: b", "a colon"),
        ("a\u200bb", "cannot be seen"),
        ("a\x07b", "cannot be seen"),
    ],
)
def test_a_name_that_discord_refuses_is_refused_with_the_reason(name: str, reason: str) -> None:
    with pytest.raises(CommandRefusedError, match="cannot be called that") as refused:
        checked_name(name)
    assert reason in str(refused.value)


@pytest.mark.parametrize("name", ["Tomori", "Dr. Müller (old)", "灯", "👩‍🚀 Ada", "x" * 80])
def test_other_names_are_taken_as_they_are(name: str) -> None:
    assert checked_name(f" {name}  ") == name


def test_needless_blanks_are_dropped() -> None:
    assert checked_name(" Dr.  Who\n") == "Dr. Who"


def test_sprites_pictures_and_words_have_limits_too() -> None:
    for wrong in ("", "a(b)", "x" * 33):
        with pytest.raises(CommandRefusedError):
            checked_sprite(wrong)
    for wrong in (
        "",
        "ftp://a.b/c",
        "https://",
        "https://a b/c",
        "https://a.b/" + "c" * 2048,
    ):
        with pytest.raises(CommandRefusedError):
            checked_url(wrong)
    assert checked_words(" a, b,,a ", "Words") == ("a", "b")
    with pytest.raises(CommandRefusedError, match="at most 20"):
        checked_words(",".join(map(str, range(21))), "Words")
    with pytest.raises(CommandRefusedError, match="80 characters"):
        checked_words("x" * 81, "Words")


def test_a_refused_name_opens_no_form() -> None:
    async def scenario(harness: ClientHarness) -> None:
        told = await harness.run("persona create", {"name": "Clyde"})
        assert "does not allow the word 'clyde'" in told

    run_with_client(scenario)


@pytest.mark.parametrize("name", ["ghost", "Alice"])
def test_the_page_about_personas_shows_the_names_as_they_are(name: str) -> None:
    mochi = Persona("Mochi", sprites=(Sprite("ghost", FACE, is_identity=True),))
    config = TextConfig(humanizer_degree=1, persona=mochi, known=(Known("Alice", avatar_url=FACE),))
    engine = TextEngine(config)
    shown = [*engine.feed(f"Mochi ({name}): boo"), *engine.finish()]
    (message,) = (one for one in shown if isinstance(one, Message))
    assert message.identity is not None
    username = message.identity.username
    page = (Path(__file__).parents[2] / "docs" / "personas.md").read_text(encoding="utf-8")
    assert f"`{username}`" in page
    assert username == f"{name} (Mochi)"


def test_personas_with_cards_can_be_told_apart() -> None:
    """Admission puts the personas that a message calls into one row, each once."""
    from_card = PersonaRecord(1, "Hoshi", card={"first_mes": "Hello."})
    assert list(dict.fromkeys([from_card, from_card])) == [from_card]
