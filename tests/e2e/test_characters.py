"""Characters come in as cards, talk with their lore, talk to each other, and go out again."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from discord_stage.interactions.targets import PostedFile
from oshaberi.bot.characters.card_files import read_card
from tests.bot.client_harness import MEMBER, world
from tests.bot.test_faces import ALL
from tests.characters.made_cards import (
    DATA_V2,
    DATA_V3,
    V1,
    apng,
    as_v2,
    as_v3,
    charx,
    packed,
    png,
    text_chunk,
)
from tests.characters.other_programs import aichar, read_with_node
from tests.e2e.bot_harness import BotHarness, run_with_bot

DESCRIBED = world() | {"bot": {"name": "Oshaberi", "permissions": list(ALL)}}
CARDS = {
    "V1": ("mochi.png", png(text_chunk(b"chara", packed(V1)))),
    "V2": ("mochi.png", png(text_chunk(b"chara", packed(as_v2())))),
    "V3": ("mochi.json", json.dumps(as_v3()).encode()),
    "V3 in a PNG": ("mochi.png", png(text_chunk(b"ccv3", packed(as_v3())))),
    "V3 in an APNG": ("mochi.png", apng(text_chunk(b"ccv3", packed(as_v3())))),
    "CHARX": ("mochi.charx", charx()),
}

ALONE, IN_A_GROUP = "*yawns* Welcome, Renny.", "A full house today."
GREETINGS = {"V1": ALONE, "V2": ALONE}


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
        await here.says(GREETINGS.get(version, IN_A_GROUP), "Hm?")
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


async def exported(here: BotHarness, form: str) -> bytes:
    options = {"name": "Mochi", "format": form}
    asked = here.stage.people.run("persona export", options, user="mika", channel="general")
    await here.private(asked)
    message = here._reply(asked)
    assert message is not None
    [file] = message.attachments
    return bytes(file.content)


def test_a_character_goes_out_as_it_came() -> None:
    async def scenario(here: BotHarness) -> None:
        await bring_in(here, *CARDS["CHARX"])
        card = read_card(await exported(here, "charx"))
        assert card.data == read_card(CARDS["CHARX"][1]).data
        assert [one.name for one in card.moods] == ["joy", "sadness"]

    run_with_bot(scenario, described=DESCRIBED)


def test_programs_of_others_read_what_is_exported(tmp_path: Path) -> None:
    reader = aichar()

    async def scenario(here: BotHarness) -> None:
        await bring_in(here, *CARDS["CHARX"])
        content = await exported(here, "png")
        found = reader.load_character_card(content)
        assert (found.name, found.summary) == ("Mochi", DATA_V3["description"])
        assert found.greeting_message == DATA_V3["first_mes"]
        data = await asyncio.to_thread(read_with_node, "mochi.png", content, tmp_path)
        for key in ("name", "description", "nickname", "group_only_greetings", "extensions"):
            assert data["data"][key] == DATA_V3[key], key

    run_with_bot(scenario, described=DESCRIBED)


async def preview(here: BotHarness, question: str) -> tuple[str, str]:
    """What `/persona preview` says, and the file that comes with it."""
    options = {"name": "Mochi", "question": question}
    asked = here.stage.people.run("persona preview", options, user="mika", channel="general")
    told = await here.private(asked)
    message = here._reply(asked)
    assert message is not None
    return told, message.attachments[0].content.decode()


def parts_of(request: str) -> list[tuple[str, str]]:
    """The parts of a preview's file: what is in the line above each, and its text."""
    found = re.split(r"^--- (.*)\n", request, flags=re.MULTILINE)[1:]
    return [(head, text.strip()) for head, text in zip(found[::2], found[1::2], strict=True)]


def test_a_preview_is_what_the_model_reads() -> None:
    async def scenario(here: BotHarness) -> None:
        await bring_in(here, *CARDS["V2"])
        await quiet(here)
        await here.run("persona set", {"name": "Mochi", "option": "humanizer_degree", "value": "1"})
        here.post("the bot is new here", user="mika")
        told, text = await preview(here, "@Oshaberi do you have matcha?")
        assert here.model.requests == [], "nobody is asked"
        assert told.startswith("**Mochi** would read about ")
        for part in ("the bot's rules", "the persona", "sample dialogue", "the question"):
            assert part in told
        assert "the tools" in told
        here.ask("do you have matcha?", user="mika")
        await here.says("Yes.")
        real = here.asked()
        parts = parts_of(text)
        system = [words for head, words in parts if head.startswith("system,")]
        assert "\n\n".join(system) == real.system.strip()
        said = [words for head, words in parts if head.startswith(("user,", "assistant,"))]
        whole = "\n".join(said)
        assert "[Direction: What Mochi knows:" in whole
        told_it = "\n".join(one.text for one in real.turns if one.role != "system")
        assert _lines(whole) == _lines(told_it)
        [tools] = [words for head, words in parts if head.startswith("tools ")]
        sent = [one["function"] for one in real.request.json["tools"]]
        assert len(sent) > 5
        shown = [f"{one['name']}: {one['description']}" for one in sent]
        assert [block.rpartition("\n")[0] for block in tools.split("\n\n")] == shown

    run_with_bot(scenario, "Yes.", described=DESCRIBED)


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


def test_a_preview_is_fitted_to_the_window() -> None:
    async def scenario(here: BotHarness) -> None:
        await bring_in(here, *CARDS["V1"])
        await quiet(here)
        for number in range(40):
            here.post(f"old message {number} " + "word " * 60, user="mika")
        told, text = await preview(here, "@Oshaberi hm?")
        assert "older messages" not in told
        await here.run("config set", {"key": "summarise_history", "value": "false"})
        [link] = here.bot.services.models.operator.models
        link.model = replace(link.model, params={"window": 3000})
        told, text = await preview(here, "@Oshaberi hm?")
        assert " of 3,000:" in told
        assert re.search(r"There is no room for \d+ older messages\.", told)
        here.ask("hm?", user="mika")
        await here.says("Yes.")
        real = here.asked().text
        for number in range(40):
            assert (f"old message {number} " in text) == (f"old message {number} " in real), number
        assert "old message 0 " not in real

    run_with_bot(scenario, "Yes.", described=DESCRIBED)
