"""Whose keys pay for an answer, and how many answers one message can cause."""

from __future__ import annotations

from oshaberi.bot.storage.records import KeyRecord, ModelRecord, PersonaRecord
from oshaberi.bot.turns.services.model_access import OperatorModel
from tests.turns.turn_harness import ALICE, BOB, SERVER, TOMORI, TurnHarness, run_turns, text

OPERATORS = OperatorModel(ModelRecord(0, "openai", "gpt-x"), ("sk-operator",))


def test_the_operators_key_serves_no_model_but_the_operators() -> None:
    """A server's admin chose a dear model before this was refused: it is stored."""

    async def scenario(harness: TurnHarness) -> None:
        await harness.have_models(ModelRecord(SERVER, "openai", "o1-pro"))
        await harness.answer()
        assert harness.models.asked == []
        assert harness.turn_channel.embeds == ["This model cannot be used"]
        told = harness.turn_channel.channel.records[-1]["description"]
        assert "openai/o1-pro needs an API key of this server" in told
        assert "openai/gpt-x" in told

    run_turns(scenario, links=[OPERATORS])


def test_a_provider_that_is_somewhere_else_for_everybody_needs_a_key_there_too() -> None:
    azure = ModelRecord(SERVER, "azure", "mine", base_url="https://me.openai.azure.com/openai/v1")

    async def scenario(harness: TurnHarness) -> None:
        await harness.have_models(azure)
        await harness.answer()
        assert harness.models.asked == []
        told = harness.turn_channel.channel.records[-1]["description"]
        assert "azure/mine needs an API key of this server" in told

    run_turns(scenario, links=[OPERATORS])


def test_a_message_with_fifty_trigger_words_is_answered_by_three_personas() -> None:
    crowd = [PersonaRecord(SERVER, f"P{n}", triggers=(f"word{n}",)) for n in range(50)]

    async def scenario(harness: TurnHarness) -> None:
        await harness.answer(" ".join(f"word{n}" for n in range(50)), mention=False)
        assert len(harness.models.asked) == 3

    run_turns(scenario, personas=(TOMORI, *crowd))


def test_personas_that_call_everybody_stop_calling() -> None:
    """Each answer has all trigger words in it: calls must not multiply."""
    crowd = [PersonaRecord(SERVER, f"P{n}", triggers=(f"word{n}",)) for n in range(50)]
    everybody = " ".join(f"word{n}" for n in range(50))

    async def scenario(harness: TurnHarness) -> None:
        await harness.answer(everybody, mention=False)
        assert len(harness.models.asked) == 3 + 3

    run_turns(scenario, *[[text(everybody)] for _ in range(60)], personas=(TOMORI, *crowd))


def test_a_key_of_the_server_pays_for_any_model() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.have_models(
            ModelRecord(SERVER, "openai", "o1-pro"),
            keys=[KeyRecord(SERVER, "openai", "sk-server", id=1)],
        )
        await harness.answer()
        assert harness.models.asked == [("o1-pro", "sk-server")]

    run_turns(scenario, links=[OPERATORS])


def test_a_key_of_direct_messages_pays_for_its_owner_alone() -> None:
    """Alice's key and model in her direct messages; Bob writes to the bot in his."""

    async def scenario(harness: TurnHarness) -> None:
        await harness.have_models(
            ModelRecord(0, "openai", "o1-pro", user_id=ALICE.id),
            keys=[KeyRecord(0, "openai", "sk-alice", id=1, user_id=ALICE.id)],
        )
        await harness.answer("hi", BOB)
        assert harness.models.asked == [("gpt-x", "sk-operator")]
        await harness.answer("hi", ALICE)
        assert harness.models.asked[1:] == [("o1-pro", "sk-alice")]

    run_turns(scenario, links=[OPERATORS], turn_channel={"server_id": 0})


def test_a_key_of_direct_messages_pays_in_no_server() -> None:
    async def scenario(harness: TurnHarness) -> None:
        alices = KeyRecord(0, "openai", "sk-alice", id=1, user_id=ALICE.id)
        own = ModelRecord(0, "openai", "o1-pro", user_id=ALICE.id)
        await harness.have_models(own, keys=[alices])
        await harness.have_models(ModelRecord(SERVER, "openai", "gpt-y"))
        await harness.answer("hi", ALICE)
        assert harness.models.asked == []

    run_turns(scenario, links=[OPERATORS])


def test_a_model_that_lacks_its_key_is_passed_over_for_its_fallback() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.have_models(
            ModelRecord(SERVER, "openai", "o1-pro"),
            ModelRecord(SERVER, "openai", "gpt-x", position=1),
        )
        await harness.answer()
        assert harness.models.asked == [("gpt-x", "sk-operator")]
        assert harness.turn_channel.embeds == []

    run_turns(scenario, links=[OPERATORS])


def test_on_the_operators_key_the_operators_parameters_hold() -> None:
    """Else a server that names the same model would be rid of `max_output_tokens`."""

    async def scenario(harness: TurnHarness) -> None:
        await harness.have_models(ModelRecord(SERVER, "openai", "gpt-x"))
        await harness.answer()
        assert harness.models.asked == [("gpt-x", "sk-operator")]
        assert harness.models.requests[0].max_output_tokens == 100

    model = ModelRecord(0, "openai", "gpt-x", params={"max_output_tokens": 100})
    run_turns(scenario, links=[OperatorModel(model, ("sk-operator",))])
