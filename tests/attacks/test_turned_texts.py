"""Texts of others that stand beside ours: nothing hidden, nothing that turns them round.

U+202E makes `gpj.exe` of `exe.jpg`, and what follows it on the line reads backwards.
"""

from __future__ import annotations

import unicodedata
from types import SimpleNamespace

import discord
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discord_stage.rules.messages import read_draft
from discord_stage.world_changes import message_posting
from oshaberi.bot.client.discord_values import file_value, readable_text
from oshaberi.bot.conversation.transcript import plain_words, shortened
from oshaberi.discord_io.requests.parameters import quoted
from tests.attacks.loop_watch import computing_at_most
from tests.bot.client_harness import OWNER, ClientHarness, run_with_client, world

TURNING = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
HIDDEN = f"{TURNING}\u200b\u2060\ufeff\u00ad\u3164\x07\x9f"


def _is_clean(text: str) -> bool:
    return not any(char in HIDDEN or unicodedata.category(char) == "Cc" for char in text)


def test_topics_and_titles() -> None:
    async def scenario(harness: ClientHarness) -> None:
        harness.stage.people.post("ten\u202eeral", "hm", user=OWNER)
        await harness.heard(1)
        incoming, turn_channel = harness.channel_turns.heard[0]
        info = await turn_channel.channel_info(incoming.said.id, 50)
        assert (info.channel_name, info.channel_topic) == ("teneral", "tea and cake")

    topic = "tea\u202e\u200b and\n\u2067cake\x07"
    run_with_client(scenario, world({"name": "ten\u202eeral", "topic": topic}, "general", "logs"))


def test_a_poll() -> None:
    async def scenario(harness: ClientHarness) -> None:
        poll = {
            "question": {"text": "what\u202e to\neat?"},
            "answers": [{"poll_media": {"text": one}} for one in ("so\u2067up", "\u202erice")],
        }
        speaker = message_posting.PostAuthor(4711, 4711, "Somebody", None, 466)
        place = harness.stage.world.channel("general")
        message_posting.post(harness.stage.state, place, speaker, read_draft({"poll": poll}, []))
        said = (await harness.heard(1))[-1].said
        assert said.text == "(poll: what to eat? soup / rice)"

    run_with_client(scenario)


def test_names_of_files_stickers_roles_and_threads() -> None:
    name = "exe\u202egpj\u200b.png"
    file = SimpleNamespace(filename=name, content_type=None, url="", size=1, description=None)
    assert file_value(file).name == "exegpj.png"  # type: ignore[arg-type]
    role = SimpleNamespace(name=f"mods{HIDDEN}")
    thread = SimpleNamespace(name=f"plans{HIDDEN}", id=2)
    guild = SimpleNamespace(
        get_role=lambda _number: role, get_channel_or_thread=lambda _number: thread
    )
    message = SimpleNamespace(
        content="<@&1> in <#2>",
        guild=guild,
        channel=thread,
        mentions=[],
        message_snapshots=[],
        stickers=[SimpleNamespace(name=f"wave{HIDDEN}")],
        poll=None,
    )
    text = readable_text(message, SimpleNamespace())  # type: ignore[arg-type]
    assert text == "@mods in #plans\n(sticker: wave)"


@pytest.mark.parametrize("content", [f"look{TURNING} here", ""])
def test_what_is_quoted_turns_nothing_round(content: str) -> None:
    file = SimpleNamespace(filename=f"look{TURNING} here")
    message = SimpleNamespace(content=content, attachments=[file])
    assert quoted(message) == "look here"  # type: ignore[arg-type]


@given(st.text(st.sampled_from(f"ab \n🎈\u200d{HIDDEN}") | st.characters(), max_size=80))
def test_whatever_the_words_are(text: str) -> None:
    words = plain_words(text)
    assert _is_clean(words)
    assert words == " ".join(words.split())
    assert plain_words(words) == words
    assert [char for char in words if char.isalnum()] == [
        char for char in text if char.isalnum() and char not in HIDDEN and char.isprintable()
    ]


def test_a_family_stays_together() -> None:
    assert plain_words("the 👨\u200d👩\u200d👧 and ❤\ufe0f") == "the 👨\u200d👩\u200d👧 and ❤\ufe0f"


def test_a_long_text_is_not_read_to_its_end() -> None:
    with computing_at_most():
        assert len(shortened("\u202ea" * 1_000_000, 300)) == 300


def test_discord_objects_have_these_attributes() -> None:
    """The stand-ins above hold what discord.py has."""
    assert {"filename", "description", "content_type"} <= set(discord.Attachment.__slots__)
