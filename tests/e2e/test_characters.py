"""Characters come in as cards, talk with their lore, talk to each other, and go out again."""

from __future__ import annotations

import json

import pytest

from discord_stage.interactions.targets import PostedFile
from oshaberi.bot.characters.card_files import read_card
from tests.bot.client_harness import MEMBER, world
from tests.bot.test_faces import ALL
from tests.characters.made_cards import (
    DATA_V2,
    V1,
    as_v2,
    as_v3,
    charx,
    packed,
    png,
    text_chunk,
)
from tests.e2e.bot_harness import BotHarness, run_with_bot

DESCRIBED = world() | {"bot": {"name": "Oshaberi", "permissions": list(ALL)}}
CARDS = {
    "V1": ("mochi.png", png(text_chunk(b"chara", packed(V1)))),
    "V2": ("mochi.png", png(text_chunk(b"chara", packed(as_v2())))),
    "V3": ("mochi.json", json.dumps(as_v3()).encode()),
    "CHARX": ("mochi.charx", charx()),
}

ALONE, IN_A_GROUP = "*yawns* Welcome, Renny.", "A full house today."
GREETINGS = {"V1": ALONE, "V2": ALONE, "V3": IN_A_GROUP, "CHARX": IN_A_GROUP}


async def quiet(here: BotHarness, *names: str) -> None:
    """Let them not greet."""
    for name in names or ("Mochi",):
        await here.run("persona set", {"name": name, "option": "greeting", "value": "off"})


async def bring_in(here: BotHarness, name: str, content: bytes) -> str:
    return await here.confirmed("persona import", {"file": PostedFile(name, content)})


@pytest.mark.parametrize("version", CARDS)
def test_a_card_comes_in_and_talks(version: str) -> None:
    async def scenario(here: BotHarness) -> None:
        told = await bring_in(here, *CARDS[version])
        assert told == "**Mochi** is here, and answers from now on."
        here.ask("what is there?")
        await here.says(GREETINGS[version], "Hm?")
        asked = here.asked()
        name = "Mochi" if version in ("V1", "V2") else "Mo"
        assert f"{name} is a sleepy cat who keeps a tea house." in asked.system
        assert "Always tea." in asked.of("assistant")
        if version != "V1":
            assert asked.text.rstrip().endswith("[Direction: Stay drowsy.]")
            assert "warm drink" not in asked.text + asked.system

    run_with_bot(scenario, "Hm?", described=DESCRIBED)


def test_lore_wakes_in_english_and_japanese_and_why_this_turn_names_it() -> None:
    async def scenario(here: BotHarness) -> None:
        await bring_in(here, *CARDS["V2"])
        await quiet(here)
        here.ask("good morning")
        await here.says("one")
        assert "blue tin" not in here.asked().text
        for words in ("do you have matcha?", "抹茶はどこ？"):
            here.ask(words)
            number = len(here.ours()) + 1
            await here.wait_for(lambda number=number: len(here.ours()) >= number)  # type: ignore[misc]
            await here.idle()
            assert "[Direction: What Mochi knows:" in here.asked().text, words
            assert "Matcha is kept in the blue tin." in here.asked().text
        why = await here.choose("Why this turn", here.ours()[-1].id)
        assert "Lore that it woke:" in why
        assert "Mochi: Tea house 1, matcha: " in why
        why = await here.choose("Why this turn", here.ours()[-1].id, user=MEMBER)
        assert "It woke 1 entry of lore." in why
        assert "matcha" not in why

    run_with_bot(scenario, "one", "two", "three", described=DESCRIBED)


def test_two_personas_talk_to_each_other_by_their_talkativeness() -> None:
    async def scenario(here: BotHarness) -> None:
        await bring_in(here, *CARDS["V2"])
        anko = json.dumps(as_v2(DATA_V2 | {"name": "Anko", "extensions": {}})).encode()
        await bring_in(here, "anko.json", anko)
        await quiet(here, "Mochi", "Anko")
        for name in ("Mochi", "Anko"):
            await here.run("persona talkative", {"name": name, "percent": 100})
        here.ask("hello you two")
        await here.says("I am Mochi.")
        await here.idle()
        assert len(here.ours()) == 1, "off by default"
        await here.run("config set", {"key": "persona_talk_enabled", "value": "true"})
        here.ask("and now?")
        await here.says("I am Mochi.", "one", "two", "three", "four")
        await here.idle()
        names = [message.username for message in here.ours()][1:]
        assert names == ["", "Anko", "", "Anko"]
        await here.run("persona talkative", {"name": "Anko", "percent": 0})

    answers = ("I am Mochi.", "one", "two", "three", "four")
    run_with_bot(scenario, *answers, described=DESCRIBED)


def test_a_character_goes_out_as_it_came() -> None:
    async def scenario(here: BotHarness) -> None:
        await bring_in(here, *CARDS["CHARX"])
        options = {"name": "Mochi", "format": "charx"}
        asked = here.stage.people.run("persona export", options, user="mika", channel="general")
        await here.private(asked)
        message = here._reply(asked)
        assert message is not None
        [file] = message.attachments
        card = read_card(file.content)
        assert card.data == read_card(CARDS["CHARX"][1]).data
        assert [one.name for one in card.moods] == ["joy", "sadness"]

    run_with_bot(scenario, described=DESCRIBED)


def test_a_preview_is_what_the_model_reads() -> None:
    async def scenario(here: BotHarness) -> None:
        await bring_in(here, *CARDS["V2"])
        await quiet(here)
        here.post("the bot is new here", user="mika")
        options = {"name": "Mochi", "question": "do you have matcha?"}
        asked = here.stage.people.run("persona preview", options, user="mika", channel="general")
        told = await here.private(asked)
        assert told.startswith("**Mochi** would read about ")
        for part in ("the bot's rules", "the persona", "sample dialogue", "the question"):
            assert part in told
        message = here._reply(asked)
        assert message is not None
        text = message.attachments[0].content.decode()
        assert "[Direction: What Mochi knows:" in text
        here.ask("do you have matcha?", user="mika")
        await here.says("Yes.")
        real = here.asked()
        for line in (*real.system.splitlines(), *real.text.splitlines()):
            assert line.replace("@Oshaberi ", "").strip() in text, line

    run_with_bot(scenario, "Yes.", described=DESCRIBED)
