"""`/persona create` from one sentence: the model drafts, a person edits, then it is stored."""

from __future__ import annotations

import json
from typing import Any

from discord_stage.model_servers.scripts import Refuse
from discord_stage.world.records import Interaction
from oshaberi.bot.storage.records import PersonaRecord
from tests.bot.client_harness import ADMIN, MEMBER
from tests.e2e.bot_harness import BotHarness, run_with_bot
from tests.turns.test_character_draft import HOSHI, TEXT

IDEA = {"idea": "a stargazer who runs a small observatory"}
REFUSED = "Only members with the permission Manage Server can change this."


async def drafted(here: BotHarness, **more: Any) -> Interaction:
    asked = here.stage.people.run("persona create", IDEA | more, user=ADMIN, channel="general")
    await here.private(asked)
    return asked


async def opened(here: BotHarness, asked: Interaction) -> Interaction:
    message = here._reply(asked)
    assert message is not None
    pressed = here.stage.people.press(message, "Edit and create", user=ADMIN)
    await here.wait_for(lambda: pressed.modal)
    return pressed


def fields_of(form: Interaction) -> dict[str, str]:
    assert form.modal is not None
    rows = form.modal["components"]
    inputs = [one for row in rows for one in row.get("components", [row.get("component")])]
    return {one["custom_id"]: one.get("value", "") for one in inputs}


def test_a_character_is_drafted_edited_stored_and_talks() -> None:
    async def scenario(here: BotHarness) -> None:
        asked = await drafted(here)
        message = here._reply(asked)
        assert message is not None
        assert "A draft of **Hoshi**:\n> Hoshi watches the stars." in message.content
        assert "Nothing is stored yet." in message.content
        assert await here.db.personas.of(here.server_id) == ()
        request = here.asked()
        assert "stargazer" in request.text
        assert "stargazer" not in request.system
        form = await opened(here, asked)
        assert fields_of(form) == HOSHI
        edited = HOSHI | {"name": "Hoshiko", "description": "{{char}} counts the stars."}
        told = await here.private(here.stage.people.submit(form, edited))
        assert told.startswith("**Hoshiko** is here, and answers from now on.")
        await here.wait_for(lambda: not message.components)
        assert "Hoshiko counts the stars." in message.content
        assert "Nothing is stored yet." not in message.content
        here.ask("who are you?")
        await here.says("The sky is clear.", "I am.")
        assert "Hoshiko counts the stars." in here.asked().system

    run_with_bot(scenario, TEXT, "I am.")


def test_the_chosen_name_stays_and_the_form_keeps_what_was_typed() -> None:
    async def scenario(here: BotHarness) -> None:
        asked = await drafted(here, name="Taro")
        form = await opened(here, asked)
        assert fields_of(form)["name"] == "Taro"
        await here.db.personas.save(PersonaRecord(here.server_id, "Taro"))
        typed = HOSHI | {"name": "Taro", "personality": "typed by hand"}
        told = await here.private(here.stage.people.submit(form, typed))
        assert told == "There is already a persona Taro; use `/persona edit`."
        again = await opened(here, asked)
        assert fields_of(again) == typed
        told = await here.private(here.stage.people.submit(again, typed | {"name": "Jiro"}))
        assert told.startswith("**Jiro** is here.")

    run_with_bot(scenario, TEXT)


def test_a_draft_that_cannot_be_read_is_asked_for_once_more() -> None:
    async def scenario(here: BotHarness) -> None:
        asked = await drafted(here)
        message = here._reply(asked)
        assert message is not None
        assert "A draft of **Hoshi**:" in message.content
        assert len(here.model.requests) == 2
        told = await here.run("persona create", IDEA, user=ADMIN)
        assert told.startswith("The model wrote no draft that I can read.")
        assert len(here.model.requests) == 4

    run_with_bot(scenario, "A stargazer!", TEXT, "no", "never")


def test_a_model_that_fails_is_followed_by_the_next_and_then_by_a_clear_line() -> None:
    async def scenario(here: BotHarness) -> None:
        asked = await drafted(here)
        message = here._reply(asked)
        assert message is not None
        assert "A draft of **Hoshi**:" in message.content
        told = await here.run("persona create", IDEA, user=ADMIN)
        assert told.startswith("No model answered.")

    away = Refuse("provider_overloaded")
    run_with_bot(scenario, away, away, scripts=[(TEXT, away)])


def test_only_those_who_may_create_personas_and_at_every_step() -> None:
    async def scenario(here: BotHarness) -> None:
        assert await here.run("persona create", IDEA, user=MEMBER) == REFUSED
        assert here.model.requests == []
        asked = await drafted(here)
        form = await opened(here, asked)
        message = here._reply(asked)
        assert message is not None
        world = here.stage.world
        world.guilds[here.server_id].members[world.user(ADMIN).id].roles.clear()
        assert await here.private(here.stage.people.submit(form, HOSHI)) == REFUSED
        pressed = here.stage.people.press(message, "Edit and create", user=ADMIN)
        assert await here.private(pressed) == REFUSED
        assert await here.db.personas.of(here.server_id) == ()

    run_with_bot(scenario, TEXT)


def test_a_draft_counts_towards_the_quota() -> None:
    async def scenario(here: BotHarness) -> None:
        quota = {"key": "quota_requests_per_user_day", "value": "1"}
        await here.run("config set", quota)
        await drafted(here)
        told = await here.run("persona create", IDEA, user=ADMIN)
        assert "all of today's requests (1)" in told
        assert len(here.model.requests) == 1

    run_with_bot(scenario, TEXT, TEXT)


def test_neither_a_name_nor_an_idea_and_thrown_away() -> None:
    async def scenario(here: BotHarness) -> None:
        told = await here.run("persona create", {}, user=ADMIN)
        assert told == "Give it a `name`, or an `idea` from which the model drafts it."
        asked = await drafted(here)
        message = here._reply(asked)
        assert message is not None
        here.stage.people.press(message, "Throw it away", user=ADMIN)
        await here.wait_for(lambda: not message.components)
        assert message.content == "Nothing was changed."

    run_with_bot(scenario, json.dumps(HOSHI))
