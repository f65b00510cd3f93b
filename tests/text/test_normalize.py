"""The table as a whole: its order, what it costs nothing, what it never breaks."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from oshaberi.text.atoms import code_limit, code_spans
from oshaberi.text.config import Known, Persona, Sprite, TextConfig
from oshaberi.text.decision_observer import Decision, DecisionListener
from oshaberi.text.measure import has_visible
from oshaberi.text.normalize.pieces import SegmentWork, TextPiece
from oshaberi.text.normalize.table import NORMALIZERS, Normalizers, cleaned_text

FULL = TextConfig(
    persona=Persona("Tomori", ("Lilya",), sprites=(Sprite("mad", "https://x.test/mad.png"),)),
    known=(Known("alice", id="1", aliases=("al",)), Known("Ren", "persona")),
    emojis=("<:soup:111>", "<a:dance:222>"),
    recent_bot_messages=("<:soup:111>",),
    llm_stop_speaker_pattern_enabled=True,
    registered_speaker_guard_enabled=True,
    uncensor_sanitize_enabled=True,
    uncensor_unicode_space_enabled=True,
)
PARTS = (
    "Tomori: ", "Tomori (mad): ", "Tomori (Ren): ", "alice: ", "**", "`", "``", "`x: y`", ":soup:",
    ":nope:", "<:soup:111>", "<:x:9>", "@alice", "@(al)", "<br>", "</think>", "---", ">", "-#",
    "\n", "\n\n", " ", "- ", "1. ", "word", "done.", "http://x.test/:a:", "\u200b", "👩‍💻", "ｈｉ",
    "：", "(", ")", "{{char}}:",
)  # fmt: skip
texts = st.one_of(st.text(), st.lists(st.sampled_from(PARTS), max_size=25).map("".join))


def run(text: str, config: TextConfig, line_start: bool = True) -> SegmentWork:
    work = SegmentWork([TextPiece(text, line_start=line_start)])
    Normalizers(config).run(work)
    return work


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


SPECIFIED = (
    *("modifiers", "emoji_repeats", "tags", "breaks", "uncensor"),
    *("own_name", "shortcodes", "rules", "mentions", "speaker_guard"),
)
"""The rules of spec 06 in its order. Others may stand between them: each has a test of its own."""


def test_the_order_is_the_specifications() -> None:
    steps = [row.step for row in NORMALIZERS]
    assert list(dict.fromkeys(steps)) == ["S2", "S3", "S4", "S5", "S7"]
    assert steps == sorted(steps)
    names = [row.name for row in NORMALIZERS]
    assert len(set(names)) == len(names)
    assert tuple(name for name in names if name in SPECIFIED) == SPECIFIED


def test_every_rule_of_the_specification_runs_in_this_order() -> None:
    seen: list[str] = []
    normalizers = Normalizers(FULL, DecisionListener(lambda change: seen.append(change.why)))
    text = "Tomori (mad): Tomori: :soup: a<br>b ｈ</think> :dance: @al\n---\nUser: x"
    normalizers.run(SegmentWork([TextPiece(text)]))
    assert tuple(seen) == SPECIFIED


def test_the_observer_sees_before_and_after() -> None:
    seen: list[Decision] = []
    normalizers = Normalizers(FULL, DecisionListener(seen.append))
    normalizers.run(SegmentWork([TextPiece("Lilya: hi @al")]))
    assert [(change.why, change.before, change.after) for change in seen] == [
        ("own_name", "Lilya: hi @al", "hi @al"),
        ("mentions", "hi @al", "hi <@1>"),
    ]


def test_a_table_keeps_its_lines() -> None:
    normalizers = Normalizers(FULL)
    source = "| Tomori: | :dance: |\n|:---:|---|\n| @al | :nope: `:nope:` |\n| :nope: | --- |"
    cleaned, taken = normalizers.clean_table(source)
    assert cleaned == "| Tomori: | <a:dance:222> |\n|:---:|---|\n| <@1> | `:nope:` |\n| | --- |"
    assert [text.strip() for text, _reason in taken] == [":nope:", ":nope:"]


def test_text_of_tools_is_cleaned_outside_code() -> None:
    text = "Tomori: hi :dance:\n\n```\nTomori: :dance: @al\n---\n```\nTomori: @al\n---\n```x :nope:"
    assert cleaned_text(text, FULL) == (
        "hi <a:dance:222>\n\n```\nTomori: :dance: @al\n---\n```\n<@1>\n```x :nope:"
    )


def test_modifiers_and_speakers_of_tools_stay() -> None:
    text = "a\nTomori (mad): x\nalice: y"
    assert cleaned_text(text, FULL) == text


def test_plain_text_needs_no_list_of_emoji() -> None:
    code = (
        "from oshaberi import cleaned_text as c;"
        "from oshaberi.text.config import TextConfig as T;"
        "from oshaberi.text.normalize.standard_emoji import _list as l;"
        "c('a :smile: 10:30 <:a:1>', T()); assert l.cache_info().currsize == 0;"
        "c('a :grinning:', T()); assert l.cache_info().currsize == 1"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@given(texts, st.booleans())
def test_nothing_raises_and_no_piece_is_empty(text: str, line_start: bool) -> None:
    for config in (FULL, TextConfig()):
        assert all(piece.text.strip() for piece in run(text, config, line_start).pieces)
        cleaned_text(text, config)


@given(texts)
@example("`:a:`<think>`")
def test_code_survives(text: str) -> None:
    config = TextConfig(
        persona=FULL.persona, known=FULL.known, emojis=FULL.emojis, uncensor_sanitize_enabled=True
    )
    work = run(text, config)
    shown = "\n".join(piece.text for piece in work.pieces)
    at = 0
    for start, end in code_spans(text, code_limit(config.hold_limit)):
        found = shown.find(text[start:end], at)
        assert found >= 0, text[start:end]
        at = found + end - start


@given(texts)
def test_words_are_shown_or_withheld(text: str) -> None:
    config = TextConfig(persona=FULL.persona, emoji_preserve_unresolved_shortcodes=True)
    work = run(text.replace(":soup:", "").replace("<br>", ""), config)
    shown = [word for piece in work.pieces for word in words(piece.text)]
    withheld = [word for taken, _ in work.withheld for word in words(taken)]
    source = words(text.replace(":soup:", "").replace("<br>", ""))
    assert sorted("".join(shown + withheld)) == sorted("".join(source))


@given(
    st.text(alphabet=st.characters(exclude_characters=":<@->*_=：\n", exclude_categories=["Cs"]))
)
def test_an_idle_table_touches_nothing(text: str) -> None:
    work = run(text, TextConfig())
    shown = has_visible(text) and not text.isspace()
    assert [piece.text for piece in work.pieces] == ([text] if shown else [])
    assert not work.withheld
    assert work.stop is None


SCENES = Path(__file__).parents[1] / "scenes"
LOCAL = [
    *sorted(SCENES.glob("own-name-*.json")),
    *sorted(SCENES.glob("mention*.json")),
    *(SCENES / f"{name}.json" for name in ("html-is-text", "emoji-unresolved", "emoji-standard")),
]


@pytest.mark.parametrize("path", LOCAL, ids=lambda path: path.stem)
def test_scenes_of_one_segment(path: Path) -> None:
    scene: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    depends = {key: scene[key] for key in ("persona", "known", "emojis") if key in scene}
    work = run("".join(scene["chunks"]), TextConfig(**scene["config"], **depends))
    lines = [line for piece in work.pieces for line in piece.text.split("\n")]
    assert lines == scene["expect"]["messages"]


@given(
    st.text(
        alphabet="aZ9 \n,.!?'\"()éßЖあン灯한…—’“”。、！？「」（）", min_size=1, max_size=79
    ).map(str.strip)
)
def test_plain_text_needs_no_rule(text: str) -> None:
    """What `leaves` says of it is what all rules together do with it."""
    assume(text)
    config = replace(
        FULL,
        persona=None,
        uncensor_sanitize_enabled=False,
        uncensor_unicode_space_enabled=False,
    )
    normalizers = Normalizers(config)
    assert normalizers.leaves(text)
    work = SegmentWork([TextPiece(text)])
    normalizers.run(work)
    assert [piece.text for piece in work.pieces] == [text]
    assert (work.withheld, work.stop) == ([], None)
    assert not Normalizers(config).leaves(f"{text}: {text}")
