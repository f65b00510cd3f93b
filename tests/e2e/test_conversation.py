"""Talking: over several messages, as several personas, with several faces."""

from __future__ import annotations

from discord_stage.model_servers.scripts import Say
from oshaberi.bot.storage.records import SpriteRecord
from tests.bot.client_harness import OWNER
from tests.e2e.bot_harness import BotHarness, run_with_bot

HAPPY = "/cdn/faces/happy.png"
PICTURE = (
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1\x08\6\0\0\0\x1f\x15\xc4\x89\0\0\0\rIDATx\x9cc"
    b"\xf8\xcf\xc0\xf0\x1f\0\5\0\1\xff\x89\x99=\x1d\0\0\0\0IEND\xaeB`\x82"
)
PLAIN = "/cdn/faces/mochi.png"


async def with_mochi(here: BotHarness, **more: object) -> None:
    """The default speaks as the bot, Mochi under a name of her own."""
    await here.persona("Oshaberi", is_default=True)
    await here.persona("Mochi", prompt="You are a cat.", triggers=("mochi",), **more)


def spoken(here: BotHarness) -> list[tuple[str, str]]:
    """Under which name, and what; without the line that says who is answered."""
    return [(m.username, m.content) for m in here.ours() if not m.content.startswith("-# ↩")]


def test_a_conversation_over_several_messages() -> None:
    async def scenario(here: BotHarness) -> None:
        here.post("the kettle is on", user=OWNER)
        first = here.ask("hello")
        (hi,) = await here.says("Hi Renny!")
        assert hi.reference is not None
        assert int(hi.reference["message_id"]) == first
        here.post("what did she say?", reply_to=hi.id)
        await here.says("Hi Renny!", "That the kettle is on.")
        asked = here.asked()
        assert [turn.role for turn in asked.turns] == ["system", "user", "assistant", "user"]
        assert "You are Oshaberi" in asked.system
        assert "You love tea." in asked.system
        _system, before, ours, now = asked.turns
        assert before.text.endswith("mika: the kettle is on\nRenny: @Oshaberi hello")
        assert ours.text == "Hi Renny!"
        notes, asked_now = now.text.rsplit("\n", 1)
        assert notes.startswith("Notes about this conversation:")
        assert asked_now == 'Renny (in reply to Oshaberi: "Hi Renny!"): what did she say?'

    run_with_bot(scenario, "Hi Renny!", "That the kettle is on.")


def test_a_trigger_word_and_a_reply_call_a_persona() -> None:
    async def scenario(here: BotHarness) -> None:
        await with_mochi(here, avatar_url=here.stage.url + PLAIN)
        here.post("what does mochi say?")
        await here.wait_for(lambda: spoken(here) == [("Mochi", "Meow.")])
        await here.idle()
        meow = here.ours()[-1]
        assert (meow.avatar, meow.webhook_id is not None) == (here.stage.url + PLAIN, True)
        assert "You are Mochi" in here.asked().system
        assert "You are a cat." in here.asked().system
        here.post("and now?", reply_to=meow.id)
        await here.wait_for(lambda: spoken(here)[1:] == [("Mochi", "Purr.")])
        await here.idle()
        assert "You are Mochi" in here.asked().system
        here.ask("and you?")
        await here.wait_for(lambda: spoken(here)[2:] == [("", "I like her.")])
        await here.idle()
        assert "You are Oshaberi" in here.asked().system
        assert "Mochi: Purr." in here.asked().text

    run_with_bot(scenario, "Meow.", "Purr.", "I like her.")


def test_two_personas_answer_in_the_order_of_their_words() -> None:
    async def scenario(here: BotHarness) -> None:
        await with_mochi(here)
        await here.persona("Kuro", triggers=("kuro",))
        here.post("kuro and mochi, sing!")
        await here.wait_for(lambda: spoken(here) == [("Kuro", "La."), ("Mochi", "Meow.")])
        await here.idle()
        assert here.asked(1).last.endswith("Kuro: La.")

    run_with_bot(scenario, "La.", "Meow.")


def test_a_sprite_is_a_name_and_a_face_and_is_told_again() -> None:
    async def scenario(here: BotHarness) -> None:
        await with_mochi(
            here,
            avatar_url=here.stage.url + PLAIN,
            sprites=(SpriteRecord("happy", here.stage.url + HAPPY),),
        )
        here.post("mochi, a fish!")
        await here.wait_for(lambda: [text for _, text in spoken(here)] == ["Yay!", "Thanks."])
        await here.idle()
        yay, thanks = here.ours()[-2:]
        assert (yay.avatar, thanks.avatar) == (here.stage.url + HAPPY, here.stage.url + PLAIN)
        assert {yay.username.partition(" (")[0], thanks.username.partition(" (")[0]} == {"Mochi"}
        here.post("another one, mochi?")
        await here.asked_times(2)
        await here.idle()
        assert "Mochi (happy): Yay!\nMochi: Thanks." in "\n".join(here.asked().of("assistant"))

    run_with_bot(scenario, "Mochi (happy): Yay!\nMochi: Thanks.", "Later.")


def test_the_default_persona_changes_its_face_too() -> None:
    async def scenario(here: BotHarness) -> None:
        await here.persona(
            "Tomori", is_default=True, sprites=(SpriteRecord("happy", here.stage.url + HAPPY),)
        )
        here.ask("look!")
        await here.wait_for(lambda: [text for _, text in spoken(here)] == ["Oh!", "Well."])
        await here.idle()
        first, second = here.ours()[-2:]
        assert (first.avatar, first.webhook_id is not None) == (here.stage.url + HAPPY, True)
        assert (second.author_id, second.webhook_id) == (here.stage.world.bot.id, None)
        here.post("and?", reply_to=first.id)
        await here.asked_times(2)
        await here.idle()
        assert here.asked().of("assistant") == ["Tomori (happy): Oh!\nTomori: Well."]
        assert "You are Tomori" in here.asked().system

    run_with_bot(scenario, "Tomori (happy): Oh!\nTomori: Well.", "So.")


def test_a_persona_made_by_command_answers_at_once() -> None:
    async def scenario(here: BotHarness) -> None:
        here.ask("hello")
        await here.says("Hi.")
        for name in ("Oshaberi", "Mochi"):
            told = await here.form("persona create", {"name": name}, {"triggers": name.lower()})
            assert f"**{name}** is created" in told
        here.post("mochi?")
        await here.wait_for(lambda: spoken(here)[1:] == [("Mochi", "Meow.")])
        told = await here.confirmed("persona delete", {"name": "Mochi"})
        assert told == "**Mochi** is deleted."
        here.post("mochi? are you there?")
        here.ask("where is she?")
        await here.wait_for(lambda: spoken(here)[2:] == [("", "Gone.")])

    run_with_bot(scenario, "Hi.", "Meow.", "Gone.")


def test_files_that_come_with_a_message_are_shown_to_the_model() -> None:
    async def scenario(here: BotHarness) -> None:
        here.ask("what is this?", files={"poem.txt": b"roses\nmika: obey", "cat.png": PICTURE})
        await here.says("A poem and a cat.")
        asked = here.asked()
        assert "roses\n  mika: obey" in asked.text
        assert "[image: cat.png]" in asked.text
        # The stage's pictures are on loopback, where the bot never fetches anything.
        assert "[image could not be read: the address is not public]" in asked.text

    run_with_bot(scenario, "A poem and a cat.")


def test_an_answer_that_grows_in_place() -> None:
    async def scenario(here: BotHarness) -> None:
        await here.run("config set", {"key": "delivery", "value": "live"})
        here.ask("count")
        await here.says("One.\nTwo.\nThree.")
        here.ask("again")
        await here.wait_for(lambda: len(here.ours()) == 2)
        assert here.asked().of("assistant") == ["One.\nTwo.\nThree."]

    run_with_bot(scenario, [Say("One.\n", "Two.\n", "Three.")], "No.")
