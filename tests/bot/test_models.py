"""/model: the chain of a server and its keys."""

from __future__ import annotations

import json
from functools import partial

import pytest

from oshaberi.bot.config import LoadedSettings
from oshaberi.bot.storage.changes import ChangeFeed, StoredChange
from oshaberi.bot.storage.records import KeyRecord, ModelRecord
from oshaberi.bot.turns.services.model_access import OperatorModel, forget_lessons
from oshaberi.providers.capabilities.learned import LearnedLimits, Lesson, ModelPlace
from tests.bot.client_harness import ADMIN, MEMBER, OWNER, ClientHarness, run_with_client

SECRET = "sk-ant-0123456789-abcdefgh-WXYZ"
OPERATORS = OperatorModel(ModelRecord(0, "openai", "gpt-x"), ("sk-operators-own-key",))
GIVEN = {"provider": "anthropic", "model": "claude-x"}


def test_a_chain_is_built_and_taken_apart() -> None:
    async def scenario(harness: ClientHarness) -> None:
        assert "No model is set" in await harness.run("model show")
        assert "before its fallbacks" in await harness.run("model fallback add", GIVEN)
        await harness.form("model key add", {"provider": "anthropic"}, {"key": SECRET}, user=ADMIN)
        await harness.form("model key add", {"provider": "openai"}, {"key": SECRET}, user=ADMIN)
        told = await harness.run("model set", GIVEN, user=ADMIN)
        assert told == "Answers now come from **anthropic/claude-x**."
        for name in ("a", "b"):
            await harness.run("model fallback add", {"provider": "ollama", "model": name})
        await harness.run("model set", {"provider": "openai", "model": "gpt-y"})
        chain = await harness.db.models.chain(harness.server_id)
        names = [(model.provider, model.model) for model in chain]
        assert names == [("openai", "gpt-y"), ("ollama", "a"), ("ollama", "b")]
        assert await harness.choices("model fallback remove", "fallback") == ["1", "2"]
        told = await harness.run("model fallback remove", {"fallback": "1"})
        assert told == "**ollama/a** is no longer a fallback."
        assert await harness.run("model fallback list") == "1. ollama/b"
        assert "no such fallback" in await harness.run("model fallback remove", {"fallback": "2"})
        assert "No model is set" in await harness.run("model reset")

    run_with_client(scenario, own=LoadedSettings(allow_local_models=True))


def test_the_operators_models_hold_until_there_are_others() -> None:
    async def scenario(harness: ClientHarness) -> None:
        assert "Set by whoever runs the bot" in await harness.run("model show")
        told = await harness.run("model set", {"provider": "openai", "model": "gpt-x"}, user=ADMIN)
        assert told == "Answers now come from **openai/gpt-x**."
        assert "Set for this server" in await harness.run("model show")
        assert "openai/gpt-x" in await harness.run("model reset")

    run_with_client(scenario, models=[OPERATORS])


@pytest.mark.parametrize(
    "command", ["model set", "model fallback add", "model reset", "model key list"]
)
def test_changing_models_needs_manage_server(command: str) -> None:
    async def scenario(harness: ClientHarness) -> None:
        given = GIVEN if command in ("model set", "model fallback add") else {}
        assert "Manage Server" in await harness.run(command, given, user=MEMBER)
        assert await harness.db.models.chain(harness.server_id) == ()

    run_with_client(scenario)


def test_another_address_is_for_the_owner_of_the_bot() -> None:
    """A server's admin must not have the operator's keys sent to an address of their choice."""

    async def scenario(harness: ClientHarness) -> None:
        given = {"provider": "openai", "model": "x", "base_url": "https://elsewhere.test/v1"}
        told = await harness.run("model set", given, user=ADMIN)
        assert told.startswith("Only the bot's owner can choose another address")
        assert await harness.db.models.chain(harness.server_id) == ()
        await harness.run("model set", given, user=OWNER)
        (stored,) = await harness.db.models.chain(harness.server_id)
        assert stored.base_url == "https://elsewhere.test/v1"
        assert "elsewhere.test" in await harness.run("model show", user=OWNER)
        assert "elsewhere.test" not in await harness.run("model show", user=ADMIN)
        given["base_url"] = "file:///etc/passwd"
        assert "is not an address like" in await harness.run("model set", given, user=OWNER)

    run_with_client(scenario)


def test_a_provider_that_is_unknown_is_refused_with_what_may_be_meant() -> None:
    async def scenario(harness: ClientHarness) -> None:
        told = await harness.run("model set", {"provider": "antropic", "model": "x"})
        assert "did you mean 'anthropic'" in told
        assert "replay" in await harness.run("model set", {"provider": "replay", "model": "x"})
        assert await harness.db.models.chain(harness.server_id) == ()
        assert (await harness.choices("model set", "provider", "open"))[:4] == [
            "openai",
            "openai-chat",
            "openai-responses",
            "openrouter",
        ]
        assert "replay" not in await harness.choices("model set", "provider", "r")

    run_with_client(scenario)


def test_a_key_is_typed_into_a_form_and_never_seen_again() -> None:
    async def scenario(harness: ClientHarness) -> None:
        values = {"key": f" {SECRET} ", "label": "team"}
        told = await harness.form("model key add", {"provider": "anthropic"}, values, user=ADMIN)
        assert "anthropic …WXYZ (team) is stored" in told
        (stored,) = await harness.db.keys.of(harness.server_id, "anthropic")
        assert (stored.secret, stored.label) == (SECRET, "team")
        listed = await harness.run("model key list", user=ADMIN)
        assert listed == "- anthropic …WXYZ (team)"
        everything = json.dumps(
            [m.content for there in harness.stage.world.messages.values() for m in there.values()]
        )
        assert SECRET not in everything
        assert "is already stored" in await harness.form(
            "model key add", {"provider": "anthropic"}, {"key": SECRET}
        )
        assert await harness.choices("model key remove", "key") == [str(stored.id)]
        assert await harness.choices("model key remove", "key", user=MEMBER) == []
        assert (
            await harness.run("model key remove", {"key": str(stored.id)}) == "The key is deleted."
        )
        assert await harness.db.keys.of(harness.server_id, "anthropic") == ()

    run_with_client(scenario)


def test_keys_of_others_stay_out_of_sight_and_reach() -> None:
    async def scenario(harness: ClientHarness) -> None:
        person = harness.stage.world.user(OWNER).id
        direct = await harness.db.keys.add(
            KeyRecord(0, "openai", "sk-of-direct-messages-1234", user_id=person)
        )
        other = await harness.db.keys.add(KeyRecord(777, "openai", "sk-another-servers-key-1234"))
        assert "No keys are stored here" in await harness.run("model key list")
        for key in (direct, other):
            told = await harness.run("model key remove", {"key": str(key.id)})
            assert "no such key" in told
        assert len(await harness.db.keys.of(777, "openai")) == 1
        assert len(await harness.db.keys.of(0, "openai", person)) == 1

    run_with_client(scenario)


def test_who_may_not_add_a_key_gets_no_form() -> None:
    async def scenario(harness: ClientHarness) -> None:
        told = await harness.run("model key add", {"provider": "openai"}, user=MEMBER)
        assert "Manage Server" in told
        told = await harness.form("model key add", {"provider": "openai"}, {"key": "two words"})
        assert "This is not an API key" in told
        assert await harness.db.keys.of(harness.server_id, "openai") == ()

    run_with_client(scenario)


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

    async def scenario(harness: ClientHarness) -> None:
        first = ModelRecord(harness.server_id, "anthropic", "claude-x")
        await harness.db.models.set_chain(harness.server_id, [first])
        told = await harness.run(command, LOCAL, user=user)
        assert told.startswith("This model runs on the bot's machine or network")
        assert "allow_local_models" in told
        for url in INSIDE if user == OWNER else ():
            given = {"provider": "openai", "model": "x", "base_url": url}
            assert "allow_local_models" in await harness.run(command, given, user=user)
        (kept,) = await harness.db.models.chain(harness.server_id)
        assert (kept.provider, kept.model) == ("anthropic", "claude-x")

    run_with_client(scenario)


def test_local_models_are_there_where_the_operator_allows_them() -> None:
    async def scenario(harness: ClientHarness) -> None:
        assert "llamacpp/x" in await harness.run("model set", LOCAL, user=ADMIN)
        given = {"provider": "openai", "model": "x", "base_url": "http://127.0.0.1:9/v1"}
        assert "openai/x" in await harness.run("model set", given, user=OWNER)
        assert "Only the bot's owner" in await harness.run("model set", given, user=ADMIN)

    run_with_client(scenario, own=LoadedSettings(allow_local_models=True))


def test_a_local_model_of_the_settings_file_can_be_chosen_and_no_other() -> None:
    async def scenario(harness: ClientHarness) -> None:
        assert "llamacpp/x" in await harness.run("model set", LOCAL, user=ADMIN)
        other = {**LOCAL, "model": "y"}
        assert "allow_local_models" in await harness.run("model set", other, user=ADMIN)

    run_with_client(scenario, models=[OperatorModel(ModelRecord(0, "llamacpp", "x"))])


def test_a_model_of_a_cloud_is_chosen_by_the_operator_alone() -> None:
    """It is asked, and paid for, with the credentials of the machine on which the bot runs."""
    listed = OperatorModel(ModelRecord(0, "bedrock", "claude-1"), settings={"region": "eu-west-1"})

    async def scenario(harness: ClientHarness) -> None:
        for user in (ADMIN, OWNER):
            given = {"provider": "bedrock", "model": "claude-1"}
            assert "bedrock/claude-1" in await harness.run("model set", given, user=user)
            dearer = {**given, "model": "claude-2"}
            assert "with the account" in await harness.run("model set", dearer, user=user)
            other = {"provider": "vertex", "model": "gemini-3-flash"}
            assert "with the account" in await harness.run("model set", other, user=user)
        away = {"provider": "bedrock", "model": "claude-1", "base_url": "https://evil.test"}
        assert "with the account" in await harness.run("model set", away, user=OWNER)
        assert "vertex" not in await harness.choices("model set", "provider", user=ADMIN)

    own = LoadedSettings(allow_local_models=True)
    run_with_client(scenario, own=own, models=[listed])


@pytest.mark.parametrize("command", ["model set", "model fallback add"])
def test_a_model_that_is_not_the_operators_needs_a_key_of_the_server(command: str) -> None:
    """Else an admin could choose the dearest model there is, and the operator would pay."""

    async def scenario(harness: ClientHarness) -> None:
        await harness.run("model set", {"provider": "openai", "model": "gpt-x"}, user=ADMIN)
        dear = {"provider": "openai", "model": "o1-pro"}
        told = await harness.run(command, dear, user=ADMIN)
        assert "openai/o1-pro needs an API key of this server" in told
        assert told.endswith("Without one you can use: openai/gpt-x.")
        assert "\n" not in told
        assert [one.model for one in await harness.db.models.chain(harness.server_id)] == ["gpt-x"]
        await harness.form("model key add", {"provider": "openai"}, {"key": SECRET}, user=ADMIN)
        assert "**openai/o1-pro**" in await harness.run(command, dear, user=ADMIN)

    run_with_client(scenario, models=[OPERATORS])


def test_a_key_added_in_direct_messages_is_for_that_person_alone() -> None:
    async def scenario(harness: ClientHarness) -> None:
        harness.stage.people.dm("hi", user=OWNER)
        here = f"@{OWNER}"
        options = {"provider": "openai"}
        asked = harness.stage.people.run("model key add", options, user=OWNER, channel=here)
        await harness.stage.wait_for(lambda: asked.reply)
        told = await harness.private(harness.stage.people.submit(asked, {"key": SECRET}))
        assert told.endswith("Only your direct messages use it.")
        person = harness.stage.world.user(OWNER).id
        (key,) = await harness.db.keys.of(0, "openai", person)
        assert (key.server_id, key.user_id) == (0, person)
        assert await harness.db.keys.of(harness.server_id, "openai", person) == ()
        assert await harness.db.keys.of(0, "openai", person + 1) == ()
        given = {"provider": "openai", "model": "o1-pro"}
        assert "o1-pro" in await harness.run("model set", given, user=OWNER, channel=here)
        assert await harness.db.models.chain(harness.server_id) == ()
        assert "Set for your direct messages" in await harness.run("model show", channel=here)
        assert "…WXYZ" in await harness.run("model key list", channel=here)
        assert "No keys are stored here" in await harness.run("model key list")
        assert await harness.run("model key remove", {"key": str(key.id)}, channel=here) == (
            "The key is deleted."
        )

    run_with_client(scenario, models=[OPERATORS])


# -- options -------------------------------------------------------------------------------------


def test_an_option_is_set_shown_and_removed() -> None:
    async def scenario(harness: ClientHarness) -> None:
        option = {"option": "window", "value": "32768"}
        assert "no such model" in await harness.run("model option", option)
        for command, name in (("model set", "a"), ("model fallback add", "b")):
            await harness.run(command, {"provider": "ollama", "model": name})
        told = await harness.run("model option", option, user=ADMIN)
        assert told == "`window` of **ollama/a** is now 32768."
        await harness.run("model option", {"option": "price", "value": "1.5 6", "number": 2})
        first, second = await harness.db.models.chain(harness.server_id)
        assert first.params == {"window": 32768}
        assert second.params == {"price": {"input": 1.5, "output": 6}}
        assert "1. ollama/a (window 32768)" in await harness.run("model show")
        told = await harness.run("model option", {"option": "window"})
        assert told == "`window` of **ollama/a** is as usual again."
        assert (await harness.db.models.chain(harness.server_id))[0].params == {}
        assert "window" in await harness.choices("model option", "option", "win")

    run_with_client(scenario, own=LoadedSettings(allow_local_models=True))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"option": "windw", "value": "1"}, "did you mean 'window'"),
        ({"option": "window", "value": "huge"}, "window: 'huge' is not a whole number"),
        ({"option": "window", "value": "4096", "number": 2}, "no such model"),
    ],
)
def test_an_option_that_does_not_fit_is_refused(given: dict[str, object], said: str) -> None:
    async def scenario(harness: ClientHarness) -> None:
        await harness.run("model set", {"provider": "ollama", "model": "a"})
        assert said in await harness.run("model option", given)
        assert "Manage Server" in await harness.run("model option", given, user=MEMBER)
        (model,) = await harness.db.models.chain(harness.server_id)
        assert model.params == {}

    run_with_client(scenario, own=LoadedSettings(allow_local_models=True))


def test_the_operators_options_are_shown_to_the_owner_alone() -> None:
    params = {"window": 9000, "prefill": "Hush:"}
    operators = OperatorModel(ModelRecord(0, "openai", "gpt-x", params=params), ("sk-key",))

    async def scenario(harness: ClientHarness) -> None:
        assert "window" not in await harness.run("model show", user=ADMIN)
        assert "(window 9000, prefill Hush:)" in await harness.run("model show", user=OWNER)

    run_with_client(scenario, models=[operators])


def test_what_another_process_has_forgotten_is_forgotten_here() -> None:
    learned = LearnedLimits()
    place = ModelPlace("openai", "https://api.openai.com/v1", "gpt-x")
    learned.learn(place, Lesson("it takes no images", {"images": False}))
    here, there = ChangeFeed(None), ChangeFeed(None)
    here.on_lessons = partial(forget_lessons, learned)
    for odd in ("", "[1]", "[", '["a", "b", "c"]'):
        here.hear(StoredChange("lessons", odd))
    assert learned.told(place) != ()
    here.hear_encoded(there.encode(StoredChange("lessons", json.dumps(place))))
    assert learned.told(place) == ()
