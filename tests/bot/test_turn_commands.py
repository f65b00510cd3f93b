"""Whole turns on the stage: /stop, /continue, /regenerate and the menu of a message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from oshaberi.bot.config import LoadedSettings
from oshaberi.bot.conversation.turn_config import TurnConfig
from oshaberi.bot.storage.records import ModelRecord, PersonaRecord
from oshaberi.bot.turns.services.adapter_pool import AdapterPool
from oshaberi.bot.turns.services.model_access import OperatorModel
from oshaberi.chunks import Chunk
from oshaberi.delivery.config import StreamConfig
from oshaberi.providers.request.preparation import FittedRequest
from oshaberi.providers.request.token_estimate import request_cost
from oshaberi.stream.provider_protocol import ScriptedProvider, Silence, Step
from oshaberi.text.config import TextConfig
from tests.bot.client_harness import (
    MEMBER,
    MODERATOR,
    OWNER,
    ClientHarness,
    ClientScenario,
    run_with_client,
)

QUICK: dict[str, Any] = {
    "base_type_speed_ms_per_char": 0,
    "min_visible_typing_duration_ms": 0,
    "max_typing_time_ms": 0,
    "min_random_pause_ms": 0,
    "max_random_pause_ms": 0,
}
SETTINGS = LoadedSettings(
    stream=StreamConfig(text=TextConfig(humanizer_degree=1), **QUICK),
    turn=TurnConfig(burst_wait_ms=0),
)
LONG = Silence(3_600_000)


class Model:
    """Gives one answer after the other."""

    name = "script"
    model = "script"
    reemits = False
    continues = False

    def __init__(self, answers: Sequence[Sequence[str | Step]]) -> None:
        self.text: Mapping[str, Any] = {}
        self._answers = list(answers)

    def open(self, request: Any) -> Any:
        steps = self._answers.pop(0)
        chunks = [Chunk("text", step) if isinstance(step, str) else step for step in steps]
        return ScriptedProvider([*chunks, Chunk("done", finish_reason="stop")]).open(request)

    def takes_prefill(self, _request: Any) -> bool:
        return False

    async def left_out(self, _request: Any, _share: float = 1.0) -> frozenset[int]:
        return frozenset()

    async def fitted(self, request: Any) -> FittedRequest:
        return FittedRequest(request, None, request_cost(request))

    def normalise(self, raw: Any) -> Chunk | None:
        return raw if isinstance(raw, Chunk) else None

    def classify(self, error: Exception) -> Any:
        return ScriptedProvider(()).classify(error)

    async def aclose(self) -> None:
        """Nothing is open."""


def talk(scenario: ClientScenario, *answers: Sequence[str | Step], **options: Any) -> None:
    """A scenario in which the model gives these answers."""
    model = Model(answers)
    link = OperatorModel(ModelRecord(0, "ollama", "script"))
    pool = AdapterPool(lambda *_given, **_more: model)
    context: dict[str, Any] = {"models": [link], "adapters": pool, "answering": True}
    run_with_client(scenario, **(context | {"own": SETTINGS} | options))


async def ask(harness: ClientHarness, text: str = "hello", user: str = MEMBER) -> int:
    """Mention the bot; the id of the message."""
    bot = harness.stage.world.bot.id
    return harness.stage.people.post("general", f"<@{bot}> {text}", user=user).id


async def said(harness: ClientHarness, *texts: str) -> list[int]:
    """Wait until the bot has said this in #general, and nothing else."""

    def ours() -> list[tuple[int, str]]:
        people = {
            m.user.id for g in harness.stage.world.guilds.values() for m in g.members.values()
        }
        people.discard(harness.stage.world.bot.id)
        history = harness.stage.world.history("general")
        return [(m.id, m.content) for m in history if m.author_id not in people]

    await harness.stage.wait_for(lambda: [text for _id, text in ours()] == list(texts))
    return [number for number, _text in ours()]


def test_a_mention_is_answered_with_a_reply() -> None:
    async def scenario(harness: ClientHarness) -> None:
        asked = await ask(harness)
        (first, _second) = await said(harness, "Hi there.", "How are you?")
        await harness.channel_turns.idle()
        reference = harness.stage.world.history("general")[1].reference
        assert reference is not None
        assert int(reference["message_id"]) == asked
        turn = await harness.db.turns.of_message(first)
        assert turn is not None
        assert turn.asked_id == asked
        assert await harness.db.seen.last(harness.id_of("general")) == asked

    own = replace(SETTINGS, turn=replace(SETTINGS.turn, reply_mode="first"))
    talk(scenario, ["Hi there.\nHow are you?"], own=own)


def test_stop_is_for_the_one_who_asked_and_for_moderators() -> None:
    async def scenario(harness: ClientHarness) -> None:
        for stopper in (MEMBER, MODERATOR):
            await ask(harness)
            await harness.stage.wait_for(
                lambda: harness.channel_turns.is_busy(harness.id_of("general"))
            )
            await harness.stage.wait_for(
                lambda: harness.stage.world.contents("general")[-1] == "One."
            )
            told = await harness.run("stop", user="kei")
            assert "Manage Messages" in told
            assert harness.channel_turns.is_busy(harness.id_of("general"))
            assert await harness.run("stop", user=stopper) == "Stopped."
            await harness.channel_turns.idle()
        assert await harness.run("stop", user=MODERATOR) == "There is nothing to stop here."

    talk(scenario, ["One.\nTwo", LONG], ["One.\nTwo", LONG])


def test_an_answer_is_taken_back_and_told_anew() -> None:
    async def scenario(harness: ClientHarness) -> None:
        await ask(harness)
        await said(harness, "First try.")
        await harness.channel_turns.idle()
        assert "Manage Messages" in await harness.run("regenerate", user="kei")
        assert await harness.run("regenerate", user=MEMBER) == "Answering again."
        await said(harness, "Second try.")
        await harness.channel_turns.idle()

    talk(scenario, ["First try."], ["Second try."])


def test_a_stopped_answer_goes_on_when_it_is_asked_to() -> None:
    async def scenario(harness: ClientHarness) -> None:
        await ask(harness)
        await said(harness, "One.")
        await harness.run("stop", user=MEMBER)
        await harness.channel_turns.idle()
        await said(harness, "One.", "Two.")
        assert await harness.run("continue", user=MEMBER) == "Continuing."
        await said(harness, "One.", "Two.", "Three.")
        await harness.channel_turns.idle()

    talk(scenario, ["One.\nTwo. Thr", LONG], ["Three."])


def test_the_menu_deletes_a_turn_whoever_sent_its_messages() -> None:
    async def scenario(harness: ClientHarness) -> None:
        await harness.db.personas.save(
            PersonaRecord(harness.server_id, "Oshaberi", is_default=True)
        )
        mochi = PersonaRecord(harness.server_id, "Mochi", triggers=("mochi",))
        await harness.db.personas.save(mochi)
        asked = harness.stage.people.post("general", "hello mochi", user=MEMBER)
        await harness.stage.wait_for(lambda: "There." in harness.stage.world.contents("general"))
        await harness.channel_turns.idle()
        last = harness.stage.world.history("general")[-1]
        assert last.username == "Mochi"
        told = await harness.choose("Delete this turn", last.id, user="kei")
        assert "Manage Messages" in told
        assert "is deleted" in await harness.choose("Delete this turn", last.id, user=MEMBER)
        texts = [message.content for message in harness.stage.world.history("general")]
        assert not {"Hi.", "There."} & set(texts)
        assert texts[0] == asked.content

    talk(scenario, ["Hi.\nThere."])


def test_the_menu_tells_anew_and_says_why() -> None:
    async def scenario(harness: ClientHarness) -> None:
        asked = await ask(harness)
        (old,) = await said(harness, "First.")
        await harness.channel_turns.idle()
        assert "was mentioned" in await harness.choose("Why this turn", old)
        assert "was mentioned" in await harness.choose("Why this turn", asked)
        await ask(harness, user=OWNER)
        _old, new = await said(harness, "First.", "Second.")
        await harness.channel_turns.idle()
        assert "newest answer" in await harness.choose("Regenerate", old)
        assert "newest answer" in await harness.choose("Continue from here", old)
        assert "not part of an answer" in await harness.choose("Regenerate", asked)
        assert await harness.choose("Regenerate", new) == "Answering again."
        await said(harness, "First.", "Third.")
        await harness.channel_turns.idle()
        newest = harness.stage.world.history("general")[-1].id
        assert await harness.choose("Continue from here", newest) == "Continuing."
        await said(harness, "First.", "Third.", "Fourth.")
        await harness.channel_turns.idle()

    talk(scenario, ["First."], ["Second."], ["Third."], ["Fourth."])
