"""Which words lead to which scene, and what is said when none does."""

from __future__ import annotations

import re
from random import Random

import pytest

from discord_stage.model_servers.scripts import Say
from oshaberi.bot.conversation.messages import ChannelInfo
from oshaberi.bot.local_run.demo_model.playback import DRAFTING, beats, talk
from oshaberi.bot.local_run.demo_model.requests import DemoRequest, read
from oshaberi.bot.local_run.demo_model.written_scenes import scene_for, scene_of
from oshaberi.bot.storage.records import PersonaRecord
from oshaberi.bot.turns.context.building import rules
from oshaberi.bot.turns.generation.character_draft import draft_of, draft_request
from tests.demo_model.demo_questions import answer, text


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("a TABLE, please", "table"),
        ("表を作って", "table"),
        ("think", "thinking"),
        ("what do you think about cats?", None),
        ("Time?", "time"),
        ("it's time to go", None),
        ("tell me two stories... no, one story", "story"),
        ("spoilers!", "spoiler"),
        ("vegetables are unfashionable", None),
        ("give me a 429", "rate-limit"),
        ("What can you do?", "help"),
        ("you really helped me", None),
        ("", None),
        ("?!", None),
        ("数えて！", "count"),
        ("write me a haiku", "haiku"),
        ("おしゃべりって何？", "about"),
    ],
)
def test_which_scene(words: str, name: str | None) -> None:
    scene = scene_for(words)
    assert (scene.name if scene else None) == name


def said(words: str, user: str = "Ren", turns: int = 3) -> str:
    asked = DemoRequest(words, user=user, turns=turns)
    return talk(asked, Random(f"{words}\n{turns}"))


@pytest.mark.parametrize(
    ("words", "uninvited", "silent"),
    [
        ("penguins are odd", True, True),
        ("ペンギンは変だね", True, True),
        ("penguins are odd", False, False),
        ("hello!", True, False),
    ],
)
def test_it_says_nothing_to_what_it_does_not_know_and_was_not_asked(
    words: str, uninvited: bool, silent: bool
) -> None:
    persona = PersonaRecord(1, "Mochi")
    system = rules(persona, ChannelInfo(), "NO_REPLY", is_uninvited=uninvited)
    asked = DemoRequest(words, user="Ren", system=system)
    assert (talk(asked, Random(1)) == "NO_REPLY") is silent


def test_it_greets_by_name() -> None:
    assert ", Ren" in said("hello!")
    assert "Ren" not in said("hello!", user="")


@pytest.mark.parametrize(
    "words",
    [
        "Why do penguins swim?",
        "how do I draw penguins",
        "what is the capital of france?",
        "can you help me with my homework",
        "penguins...",
    ],
)
def test_what_is_not_in_the_script_gets_an_honest_answer(words: str) -> None:
    answers = {said(words, turns=turns) for turns in range(1, 9)}
    assert len(answers) >= 4
    for one in answers:
        assert "written scenes" in one
        assert "Try *" in one
        assert "connect a model" in one
        assert "{{" not in one


def test_what_it_recommends_is_there() -> None:
    for language, turns in (("penguins", 40), ("ペンギン", 40)):
        told = "".join(said(language, turns=turn) for turn in range(turns))
        named = re.findall(r"\*([^*]+)\*|「([^」]+)」", told)
        scenes = {scene_for(english or japanese) for english, japanese in named}
        scenes.discard(None) if language == "ペンギン" else None  # 「Connect a model」
        assert None not in scenes
        assert len(scenes) >= 7


@pytest.mark.parametrize("words", ["hello!", "how are you?", "thanks", "what about penguins"])
def test_nobody_is_called_you(words: str) -> None:
    told = "".join(said(words, user="You", turns=turns) for turns in range(40))
    assert ", You" not in told


def test_it_says_what_it_is() -> None:
    assert "written scenes" in said("hello", turns=1)
    assert "「" in said("ペンギンは泳ぎますか？")


def test_a_file_is_not_what_was_said() -> None:
    """A name or a text with the key words of a scene in it is no request for that scene."""
    said = "Ren: look\n  [file: story.txt, 1 kB]\n[file story.txt]\n  a table\n[end of story.txt]"
    asked = read({"stream": True, "messages": [{"role": "user", "content": said}]})
    assert (asked.words, asked.has_files) == ("look", True)
    scene = scene_of(asked)
    assert scene is not None
    assert scene.name == "files"
    told = text(answer("what is this?\n[image: error.png]"))
    assert "I can't look at it" in told
    assert not read({"stream": True, "messages": [{"role": "user", "content": "a"}]}).has_files


def test_the_same_words_get_the_same_answer() -> None:
    assert text(answer("Do you like penguins?")) == text(answer("Do you like penguins?"))


def test_help_names_the_prompts() -> None:
    assert "Compare three kinds of tea" in text(answer("what can you do?"))


def test_a_character_is_drafted_from_an_idea() -> None:
    """So that `/persona create` can be tried on the local page."""
    request = draft_request("a lighthouse keeper who waits for a ship.", "")
    messages = [{"role": item.role, "content": item.text} for item in request.items]  # type: ignore[union-attr]
    asked = read({"stream": True, "messages": messages})
    said = "".join(one for beat in beats(asked) if isinstance(beat, Say) for one in beat.pieces)
    found = draft_of(said, "")
    assert found is not None
    assert found.description.startswith("{{char}} is a lighthouse keeper who waits for a ship.")
    assert found.name
    assert found.mes_example
    assert asked.system.startswith(DRAFTING)
