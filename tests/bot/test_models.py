"""/model: the chain of a server and its keys."""

from __future__ import annotations

import json

import pytest

from oshaberi.storage.stored_records import KeyRecord, ModelRecord
from oshaberi.turns.turn_services import OperatorModel
from tests.bot.shows import ADMIN, MEMBER, OWNER, Show, perform

SECRET = "sk-ant-0123456789-abcdefgh-WXYZ"
OPERATORS = OperatorModel(ModelRecord(0, "openai", "gpt-x"), ("sk-operators-own-key",))
GIVEN = {"provider": "anthropic", "model": "claude-x"}


def test_a_chain_is_built_and_taken_apart() -> None:
    async def act(show: Show) -> None:
        assert "No model is set" in await show.run("model show")
        assert "before its fallbacks" in await show.run("model fallback add", GIVEN)
        told = await show.run("model set", GIVEN, user=ADMIN)
        assert told.startswith("Answers now come from **anthropic/claude-x**.")
        assert "/model key add" in told
        for name in ("a", "b"):
            await show.run("model fallback add", {"provider": "ollama", "model": name})
        await show.run("model set", {"provider": "openai", "model": "gpt-y"})
        chain = await show.db.models.chain(show.server_id)
        names = [(model.provider, model.model) for model in chain]
        assert names == [("openai", "gpt-y"), ("ollama", "a"), ("ollama", "b")]
        assert await show.choices("model fallback remove", "fallback") == ["1", "2"]
        told = await show.run("model fallback remove", {"fallback": "1"})
        assert told == "**ollama/a** is no longer a fallback."
        assert await show.run("model fallback list") == "1. ollama/b"
        assert "no such fallback" in await show.run("model fallback remove", {"fallback": "2"})
        assert "No model is set" in await show.run("model reset")

    perform(act)


def test_the_operators_models_hold_until_there_are_others() -> None:
    async def act(show: Show) -> None:
        assert "Set by whoever runs the bot" in await show.run("model show")
        assert "needs a key" not in await show.run(
            "model set", {"provider": "openai", "model": "z"}
        )
        assert "Set here" in await show.run("model show")
        assert "openai/gpt-x" in await show.run("model reset")

    perform(act, models=[OPERATORS])


@pytest.mark.parametrize(
    "command", ["model set", "model fallback add", "model reset", "model key list"]
)
def test_changing_models_needs_manage_server(command: str) -> None:
    async def act(show: Show) -> None:
        given = GIVEN if command in ("model set", "model fallback add") else {}
        assert "Manage Server" in await show.run(command, given, user=MEMBER)
        assert await show.db.models.chain(show.server_id) == ()

    perform(act)


def test_another_address_is_for_the_owner_of_the_bot() -> None:
    """A server's admin must not have the operator's keys sent to an address of their choice."""

    async def act(show: Show) -> None:
        given = {"provider": "openai", "model": "x", "base_url": "https://elsewhere.test/v1"}
        told = await show.run("model set", given, user=ADMIN)
        assert told.startswith("Only the bot's owner can choose another address")
        assert await show.db.models.chain(show.server_id) == ()
        await show.run("model set", given, user=OWNER)
        (stored,) = await show.db.models.chain(show.server_id)
        assert stored.base_url == "https://elsewhere.test/v1"
        assert "elsewhere.test" in await show.run("model show", user=OWNER)
        assert "elsewhere.test" not in await show.run("model show", user=ADMIN)
        given["base_url"] = "file:///etc/passwd"
        assert "must begin with" in await show.run("model set", given, user=OWNER)

    perform(act)


def test_a_provider_that_is_unknown_is_refused_with_what_may_be_meant() -> None:
    async def act(show: Show) -> None:
        told = await show.run("model set", {"provider": "antropic", "model": "x"})
        assert "did you mean 'anthropic'" in told
        assert "replay" in await show.run("model set", {"provider": "replay", "model": "x"})
        assert await show.db.models.chain(show.server_id) == ()
        assert await show.choices("model set", "provider", "open") == ["openai", "openrouter"]
        assert "replay" not in await show.choices("model set", "provider", "r")

    perform(act)


def test_a_key_is_typed_into_a_form_and_never_seen_again() -> None:
    async def act(show: Show) -> None:
        values = {"key": f" {SECRET} ", "label": "team"}
        told = await show.form("model key add", {"provider": "anthropic"}, values, user=ADMIN)
        assert "anthropic …WXYZ (team) is stored" in told
        (stored,) = await show.db.keys.of(show.server_id, "anthropic")
        assert (stored.secret, stored.label) == (SECRET, "team")
        listed = await show.run("model key list", user=ADMIN)
        assert listed == "- anthropic …WXYZ (team)"
        everything = json.dumps(
            [m.content for there in show.stage.world.messages.values() for m in there.values()]
        )
        assert SECRET not in everything
        assert "is already stored" in await show.form(
            "model key add", {"provider": "anthropic"}, {"key": SECRET}
        )
        assert await show.choices("model key remove", "key") == [str(stored.id)]
        assert await show.choices("model key remove", "key", user=MEMBER) == []
        assert await show.run("model key remove", {"key": str(stored.id)}) == "The key is deleted."
        assert await show.db.keys.of(show.server_id, "anthropic") == ()

    perform(act)


def test_keys_of_others_stay_out_of_sight_and_reach() -> None:
    async def act(show: Show) -> None:
        shared = await show.db.keys.add(KeyRecord(0, "openai", "sk-everybodys-own-key-1234"))
        other = await show.db.keys.add(KeyRecord(777, "openai", "sk-another-servers-key-1234"))
        assert "No keys are stored here" in await show.run("model key list")
        for key in (shared, other):
            told = await show.run("model key remove", {"key": str(key.id)})
            assert "no such key" in told
        assert len(await show.db.keys.of(777, "openai")) == 2

    perform(act)


def test_who_may_not_add_a_key_gets_no_form() -> None:
    async def act(show: Show) -> None:
        told = await show.run("model key add", {"provider": "openai"}, user=MEMBER)
        assert "Manage Server" in told
        told = await show.form("model key add", {"provider": "openai"}, {"key": "two words"})
        assert "This is not an API key" in told
        assert await show.db.keys.of(show.server_id, "openai") == ()

    perform(act)
