"""/model: the chain of a server and its keys."""

from __future__ import annotations

import json

import pytest

from oshaberi.config import LoadedSettings
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
        await show.form("model key add", {"provider": "anthropic"}, {"key": SECRET}, user=ADMIN)
        await show.form("model key add", {"provider": "openai"}, {"key": SECRET}, user=ADMIN)
        told = await show.run("model set", GIVEN, user=ADMIN)
        assert told == "Answers now come from **anthropic/claude-x**."
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

    perform(act, own=LoadedSettings(allow_local_models=True))


def test_the_operators_models_hold_until_there_are_others() -> None:
    async def act(show: Show) -> None:
        assert "Set by whoever runs the bot" in await show.run("model show")
        told = await show.run("model set", {"provider": "openai", "model": "gpt-x"}, user=ADMIN)
        assert told == "Answers now come from **openai/gpt-x**."
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
        person = show.stage.world.user(OWNER).id
        direct = await show.db.keys.add(
            KeyRecord(0, "openai", "sk-of-direct-messages-1234", user_id=person)
        )
        other = await show.db.keys.add(KeyRecord(777, "openai", "sk-another-servers-key-1234"))
        assert "No keys are stored here" in await show.run("model key list")
        for key in (direct, other):
            told = await show.run("model key remove", {"key": str(key.id)})
            assert "no such key" in told
        assert len(await show.db.keys.of(777, "openai")) == 1
        assert len(await show.db.keys.of(0, "openai", person)) == 1

    perform(act)


def test_who_may_not_add_a_key_gets_no_form() -> None:
    async def act(show: Show) -> None:
        told = await show.run("model key add", {"provider": "openai"}, user=MEMBER)
        assert "Manage Server" in told
        told = await show.form("model key add", {"provider": "openai"}, {"key": "two words"})
        assert "This is not an API key" in told
        assert await show.db.keys.of(show.server_id, "openai") == ()

    perform(act)


LOCAL = {"provider": "llamacpp", "model": "x"}
INSIDE = (
    "http://127.0.0.1:8080/v1",
    "http://localhost:8080/v1",
    "http://[::1]/v1",
    "http://10.0.0.5/v1",
    "http://169.254.169.254/v1",
)


@pytest.mark.parametrize("user", [ADMIN, OWNER])
@pytest.mark.parametrize("command", ["model set", "model fallback add"])
def test_no_command_reaches_the_operators_own_network(command: str, user: str) -> None:
    """Not by a preset, not by an address, not by the bot's owner either."""

    async def act(show: Show) -> None:
        first = ModelRecord(show.server_id, "anthropic", "claude-x")
        await show.db.models.set_chain(show.server_id, [first])
        told = await show.run(command, LOCAL, user=user)
        assert told.startswith("This model is on the machine or in the network of the bot")
        assert "allow_local_models" in told
        for url in INSIDE if user == OWNER else ():
            given = {"provider": "openai", "model": "x", "base_url": url}
            assert "allow_local_models" in await show.run(command, given, user=user)
        (kept,) = await show.db.models.chain(show.server_id)
        assert (kept.provider, kept.model) == ("anthropic", "claude-x")

    perform(act)


def test_local_models_are_there_where_the_operator_allows_them() -> None:
    async def act(show: Show) -> None:
        assert "llamacpp/x" in await show.run("model set", LOCAL, user=ADMIN)
        given = {"provider": "openai", "model": "x", "base_url": "http://127.0.0.1:9/v1"}
        assert "openai/x" in await show.run("model set", given, user=OWNER)
        assert "Only the bot's owner" in await show.run("model set", given, user=ADMIN)

    perform(act, own=LoadedSettings(allow_local_models=True))


def test_a_local_model_of_the_settings_file_can_be_chosen_and_no_other() -> None:
    async def act(show: Show) -> None:
        assert "llamacpp/x" in await show.run("model set", LOCAL, user=ADMIN)
        other = {**LOCAL, "model": "y"}
        assert "allow_local_models" in await show.run("model set", other, user=ADMIN)

    perform(act, models=[OperatorModel(ModelRecord(0, "llamacpp", "x"))])


@pytest.mark.parametrize("command", ["model set", "model fallback add"])
def test_a_model_that_is_not_the_operators_needs_a_key_of_the_server(command: str) -> None:
    """Else an admin could choose the dearest model there is, and the operator would pay."""

    async def act(show: Show) -> None:
        await show.run("model set", {"provider": "openai", "model": "gpt-x"}, user=ADMIN)
        dear = {"provider": "openai", "model": "o1-pro"}
        told = await show.run(command, dear, user=ADMIN)
        assert "openai/o1-pro needs an API key of this server" in told
        assert told.endswith("Without one you can use: openai/gpt-x.")
        assert "\n" not in told
        assert [one.model for one in await show.db.models.chain(show.server_id)] == ["gpt-x"]
        await show.form("model key add", {"provider": "openai"}, {"key": SECRET}, user=ADMIN)
        assert "**openai/o1-pro**" in await show.run(command, dear, user=ADMIN)

    perform(act, models=[OPERATORS])


def test_a_key_added_in_direct_messages_is_for_that_person_alone() -> None:
    async def act(show: Show) -> None:
        show.stage.people.dm("hi", user=OWNER)
        here = f"@{OWNER}"
        options = {"provider": "openai"}
        asked = show.stage.people.run("model key add", options, user=OWNER, channel=here)
        await show.stage.wait_for(lambda: asked.reply)
        told = await show.private(show.stage.people.submit(asked, {"key": SECRET}))
        assert told.endswith("Only your direct messages use it.")
        person = show.stage.world.user(OWNER).id
        (key,) = await show.db.keys.of(0, "openai", person)
        assert (key.server_id, key.user_id) == (0, person)
        assert await show.db.keys.of(show.server_id, "openai", person) == ()
        assert await show.db.keys.of(0, "openai", person + 1) == ()
        given = {"provider": "openai", "model": "o1-pro"}
        assert "o1-pro" in await show.run("model set", given, user=OWNER, channel=here)
        assert await show.db.models.chain(show.server_id) == ()
        assert "Set here" in await show.run("model show", channel=here)
        assert "…WXYZ" in await show.run("model key list", channel=here)
        assert "No keys are stored here" in await show.run("model key list")
        assert await show.run("model key remove", {"key": str(key.id)}, channel=here) == (
            "The key is deleted."
        )

    perform(act, models=[OPERATORS])
