"""Whole turns on the stage: /stop, /continue, /regenerate and the menu of a message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from oshaberi.chunks import Chunk
from oshaberi.config import LoadedSettings
from oshaberi.delivery.stream_config import StreamConfig
from oshaberi.storage.stored_records import ModelRecord, PersonaRecord
from oshaberi.stream.provider_protocol import ScriptedProvider, Silence, Step
from oshaberi.text.text_config import TextConfig
from oshaberi.turns.generation.adapter_pool import AdapterPool
from oshaberi.turns.turn_services import OperatorModel
from tests.bot.shows import MEMBER, MODERATOR, OWNER, Act, Show, perform

QUICK: dict[str, Any] = {
    "base_type_speed_ms_per_char": 0,
    "min_visible_typing_duration_ms": 0,
    "max_typing_time_ms": 0,
    "min_random_pause_ms": 0,
    "max_random_pause_ms": 0,
}
SETTINGS = LoadedSettings(stream=StreamConfig(text=TextConfig(humanizer_degree=1), **QUICK))
LONG = Silence(3_600_000)


class Model:
    """Gives one answer after the other."""

    name = "script"
    model = "script"
    reemits = False

    def __init__(self, answers: Sequence[Sequence[str | Step]]) -> None:
        self.text: Mapping[str, Any] = {}
        self._answers = list(answers)

    def open(self, request: Any) -> Any:
        steps = self._answers.pop(0)
        chunks = [Chunk("text", step) if isinstance(step, str) else step for step in steps]
        return ScriptedProvider([*chunks, Chunk("done", finish_reason="stop")]).open(request)

    def normalise(self, raw: Any) -> Chunk | None:
        return raw if isinstance(raw, Chunk) else None

    def classify(self, error: Exception) -> Any:
        return ScriptedProvider(()).classify(error)

    async def aclose(self) -> None:
        """Nothing is open."""


def talk(act: Act, *answers: Sequence[str | Step], **options: Any) -> None:
    """A play in which the model gives these answers."""
    model = Model(answers)
    link = OperatorModel(ModelRecord(0, "ollama", "script"))
    pool = AdapterPool(lambda *_given, **_more: model)
    context: dict[str, Any] = {"models": [link], "adapters": pool, "answering": True}
    perform(act, **(context | {"own": SETTINGS} | options))


async def ask(show: Show, text: str = "hello", user: str = MEMBER) -> int:
    """Mention the bot; the id of the message."""
    bot = show.stage.world.bot.id
    return show.stage.people.post("general", f"<@{bot}> {text}", user=user).id


async def said(show: Show, *texts: str) -> list[int]:
    """Wait until the bot has said this in #general, and nothing else."""

    def ours() -> list[tuple[int, str]]:
        people = {m.user.id for g in show.stage.world.guilds.values() for m in g.members.values()}
        people.discard(show.stage.world.bot.id)
        history = show.stage.world.history("general")
        return [(m.id, m.content) for m in history if m.author_id not in people]

    await show.stage.wait_for(lambda: [text for _id, text in ours()] == list(texts))
    return [number for number, _text in ours()]


def test_a_mention_is_answered() -> None:
    async def act(show: Show) -> None:
        asked = await ask(show)
        (first, _second) = await said(show, "Hi there.", "How are you?")
        await show.talks.idle()
        reference = show.stage.world.history("general")[1].reference
        assert reference is not None
        assert int(reference["message_id"]) == asked
        turn = await show.db.turns.of_message(first)
        assert turn is not None
        assert turn.asked_id == asked
        assert await show.db.seen.last(show.id_of("general")) == asked

    talk(act, ["Hi there.\nHow are you?"])


def test_stop_is_for_the_one_who_asked_and_for_moderators() -> None:
    async def act(show: Show) -> None:
        for stopper in (MEMBER, MODERATOR):
            await ask(show)
            await show.stage.wait_for(lambda: show.talks.is_busy(show.id_of("general")))
            await show.stage.wait_for(lambda: show.stage.world.contents("general")[-1] == "One.")
            told = await show.run("stop", user="kei")
            assert "Manage Messages" in told
            assert show.talks.is_busy(show.id_of("general"))
            assert await show.run("stop", user=stopper) == "Stopped."
            await show.talks.idle()
        assert await show.run("stop", user=MODERATOR) == "There is nothing to stop here."

    talk(act, ["One.\nTwo", LONG], ["One.\nTwo", LONG])


def test_an_answer_is_taken_back_and_told_anew() -> None:
    async def act(show: Show) -> None:
        await ask(show)
        await said(show, "First try.")
        await show.talks.idle()
        assert "Manage Messages" in await show.run("regenerate", user="kei")
        assert await show.run("regenerate", user=MEMBER) == "Answering again."
        await said(show, "Second try.")
        await show.talks.idle()

    talk(act, ["First try."], ["Second try."])


def test_a_stopped_answer_goes_on_when_it_is_asked_to() -> None:
    async def act(show: Show) -> None:
        await ask(show)
        await said(show, "One.")
        await show.run("stop", user=MEMBER)
        await show.talks.idle()
        await said(show, "One.", "Two")
        assert await show.run("continue", user=MEMBER) == "Going on."
        await said(show, "One.", "Two", "Three.")
        await show.talks.idle()

    talk(act, ["One.\nTwo", LONG], ["Three."])


def test_the_menu_deletes_a_turn_whoever_sent_its_messages() -> None:
    async def act(show: Show) -> None:
        await show.db.personas.save(PersonaRecord(show.server_id, "Oshaberi", is_default=True))
        mochi = PersonaRecord(show.server_id, "Mochi", triggers=("mochi",))
        await show.db.personas.save(mochi)
        asked = show.stage.people.post("general", "hello mochi", user=MEMBER)
        await show.stage.wait_for(lambda: "There." in show.stage.world.contents("general"))
        await show.talks.idle()
        last = show.stage.world.history("general")[-1]
        assert last.username == "Mochi"
        told = await show.choose("Delete this turn", last.id, user="kei")
        assert "Manage Messages" in told
        assert "is deleted" in await show.choose("Delete this turn", last.id, user=MEMBER)
        texts = [message.content for message in show.stage.world.history("general")]
        assert not {"Hi.", "There."} & set(texts)
        assert texts[0] == asked.content

    talk(act, ["Hi.\nThere."])


def test_the_menu_tells_anew_and_says_why() -> None:
    async def act(show: Show) -> None:
        asked = await ask(show)
        (old,) = await said(show, "First.")
        await show.talks.idle()
        assert "was mentioned" in await show.choose("Why this turn", old)
        assert "was mentioned" in await show.choose("Why this turn", asked)
        await ask(show, user=OWNER)
        _old, new = await said(show, "First.", "Second.")
        await show.talks.idle()
        assert "newest answer" in await show.choose("Regenerate", old)
        assert "newest answer" in await show.choose("Continue from here", old)
        assert "do not remember" in await show.choose("Regenerate", asked)
        assert await show.choose("Regenerate", new) == "Answering again."
        await said(show, "First.", "Third.")
        await show.talks.idle()
        newest = show.stage.world.history("general")[-1].id
        assert await show.choose("Continue from here", newest) == "Going on."
        await said(show, "First.", "Third.", "Fourth.")
        await show.talks.idle()

    talk(act, ["First."], ["Second."], ["Third."], ["Fourth."])
