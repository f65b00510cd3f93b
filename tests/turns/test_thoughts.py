"""Thoughts as a message that cannot break out of its markup, and as embeds of a log."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from oshaberi.bot.conversation.transcript import MARK, is_beside_the_answer
from oshaberi.bot.turns.thoughts import (
    MOST_EMBEDS,
    shown_thoughts,
    thought_embeds,
)
from oshaberi.chunks import ThoughtPart
from oshaberi.stream.model_output import ThoughtLog
from oshaberi.text.measure import utf16_len

NASTY = st.lists(
    st.text(alphabet=st.sampled_from("a7|\\`*_<@>\n# 👩‍👩‍👧é-"), max_size=300), max_size=4
)


def unescaped(text: str, mark: str) -> bool:
    """Whether the mark stands there with an even number of backslashes before it."""
    at = text.find(mark)
    while at >= 0:
        slashes = len(text[:at]) - len(text[:at].rstrip("\\"))
        if slashes % 2 == 0:
            return True
        at = text.find(mark, at + 1)
    return False


@given(NASTY, st.integers(100, 400))
def test_a_spoiler_holds(thoughts: list[str], limit: int) -> None:
    shown = shown_thoughts(thoughts, "spoiler", limit)
    if not any(text.strip() for text in thoughts):
        assert shown == ""
        return
    assert utf16_len(shown) <= limit
    assert shown.startswith(f"||{MARK}")
    assert shown.endswith("||")
    inside = shown[2:-2]
    assert not unescaped(inside, "|")
    assert not unescaped(inside, "`")
    slashes = len(inside) - len(inside.rstrip("\\"))
    assert slashes % 2 == 0
    assert is_beside_the_answer(shown)


@given(NASTY, st.integers(100, 400))
def test_every_line_is_subtext_and_calls_nobody(thoughts: list[str], limit: int) -> None:
    shown = shown_thoughts(thoughts, "subtext", limit)
    assert utf16_len(shown) <= limit
    assert all(line.startswith("-# ") for line in shown.splitlines())
    assert re.search(r"@[\w!&]", shown) is None
    assert not unescaped(shown, "`")


def test_what_is_cut_says_so() -> None:
    shown = shown_thoughts(["word " * 100], "subtext", 100)
    assert shown.endswith("…")
    assert 90 < len(shown) <= 100
    assert not shown_thoughts(["short"], "subtext", 100).endswith("…")


def test_secrets_are_not_shown() -> None:
    assert "sk-abcdefgh12345678" not in shown_thoughts(["sk-abcdefgh12345678"], "spoiler", 1950)


def log(*parts: ThoughtPart, url: str | None = None, ms: int = 1500) -> ThoughtLog:
    return ThoughtLog(parts, "scripted", "m", ms, url)


def test_the_log_has_summaries_first() -> None:
    first = log(ThoughtPart("raw one"), ThoughtPart("short", "summary"), url="https://d.test/1")
    (embed,) = thought_embeds("Ren", [first, log(ThoughtPart("raw two"))])
    assert embed.title == "💭 Ren thought"
    assert embed.description == (
        "m (scripted) · 3.0 s · [the answer](https://d.test/1)\n\n"
        "**Summary**\nshort\n\n**Thoughts**\nraw one\n\nraw two"
    )


def test_the_log_shows_no_secrets() -> None:
    (embed,) = thought_embeds("Ren", [log(ThoughtPart("my key is sk-abcdefgh12345", "summary"))])
    assert embed.description.endswith("**Summary**\nmy key is [secret]")


def test_a_long_log_is_split() -> None:
    lines = "\n".join(f"line {number}" for number in range(2000))
    embeds = thought_embeds("Ren", [log(ThoughtPart(lines))])
    assert len(embeds) > 2
    assert all(len(embed.description) <= 4096 for embed in embeds)
    joined = "\n".join(embed.description for embed in embeds)
    assert [one for one in joined.splitlines() if one.startswith("line ")] == lines.splitlines()


def test_a_log_without_end_has_an_end() -> None:
    embeds = thought_embeds("Ren", [log(ThoughtPart("x" * 100_000))])
    assert len(embeds) == MOST_EMBEDS
    assert "more than can be shown" in embeds[-1].description


def test_no_thoughts_no_log() -> None:
    assert thought_embeds("Ren", [log(), log(ThoughtPart("  "))]) == ()
