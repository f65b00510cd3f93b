"""The laws of spec 00 over generated trouble and real Markdown, at every degree and two sizes."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oshaberi import TextConfig, TextEngine
from oshaberi.errors import EngineClosedError
from oshaberi.events import Event

from . import law_checks
from .engine_feeding import run
from .law_configs import ALL, config
from .real_documents import corpus_slice, documents
from .text_grammar import PLAIN, fence, huge, paragraph, texts

CONFIGS = pytest.mark.parametrize("config", ALL.values(), ids=ALL.keys())
"""Sixteen; with 130 examples each (`make test-slow`), every law sees more than two thousand."""
SOURCES = st.one_of(
    texts(),
    texts(),
    texts(),
    st.integers(0, 99_999).map(lambda seed: corpus_slice(random.Random(seed), 1500)),
)
EXAMPLES = settings.default.max_examples if settings.default else 0
LAW = settings(database=None, report_multiple_bugs=False, suppress_health_check=list(HealthCheck))
MORE = settings(LAW, max_examples=4 * EXAMPLES)


def whole(text: str, config: TextConfig) -> list[Event]:
    return run(TextEngine, config, [text])


@CONFIGS
@LAW
@given(text=SOURCES, seed=st.integers(0, 999))
def test_l1_limit_l2_split_invariance_l3_conservation(
    config: TextConfig, text: str, seed: int
) -> None:
    events = whole(text, config)
    assert law_checks.limit(config, events) == []
    assert law_checks.split_invariance(TextEngine, text, config, events, random.Random(seed)) == []
    assert law_checks.conservation(text, config, events) == []
    assert law_checks.thoughts_stay_hidden(text, events) == []
    assert law_checks.spans(text, config, events) == []  # every visible character has its segment


@CONFIGS
@LAW
@given(text=texts((*PLAIN, fence, fence, fence, fence, fence)))
def test_l4_fences(config: TextConfig, text: str) -> None:
    events = whole(text, config)
    assert law_checks.fences(events) == []
    assert law_checks.conservation(text, config, events) == []


@CONFIGS
@LAW
@given(text=texts((*PLAIN, huge, paragraph)))
def test_l5_atoms(config: TextConfig, text: str) -> None:
    events = whole(text, config)
    assert law_checks.clusters(text, config, events) == []
    assert law_checks.conservation(text, config, events) == []


@CONFIGS
@LAW
@given(text=texts((*PLAIN, paragraph, huge)))
def test_l6_bounded_hold(config: TextConfig, text: str) -> None:
    assert law_checks.bounded_hold(TextEngine, text * 3, config) == []


QUARTERS = [0, *(pytest.param(number, marks=pytest.mark.slow) for number in (1, 2, 3))]


@pytest.mark.parametrize("quarter", QUARTERS)
@pytest.mark.parametrize("tiny", [False, True], ids=["default", "tiny"])
@pytest.mark.parametrize("degree", range(4))
def test_real_documents_whole(degree: int, tiny: bool, quarter: int) -> None:
    """Each degree begins with another quarter, so that `make test` sees every document."""
    rng = random.Random(degree)
    with_budget = config(degree, tiny=tiny, many=False)
    for text in documents()[(degree + quarter) % 4 :: 4]:
        start = rng.randrange(len(text))
        part = text[start : start + 6000]
        assert law_checks.all_broken(TextEngine, part, with_budget, rng) == []


@MORE
@given(text=texts(), cut=st.integers(0, 300), ending=st.sampled_from(("finish", "stop", "discard")))
def test_an_ended_engine_is_closed(text: str, cut: int, ending: str) -> None:
    engine = TextEngine(config(2))
    engine.feed(text[:cut])
    _end(engine, ending)
    assert law_checks.closed_after(engine, EngineClosedError) == []


@MORE
@given(text=texts(PLAIN), cut=st.integers(0, 300), degree=st.integers(0, 2))
def test_what_is_discarded_is_accounted_for(text: str, cut: int, degree: int) -> None:
    chosen = config(degree)
    engine = TextEngine(chosen)
    fed = text[:cut]
    events = [*engine.feed(fed), *engine.discard()]
    assert law_checks.words_counted(fed, chosen, events) == []
    assert law_checks.spans(fed, chosen, events) == []


@MORE
@given(text=texts(), degree=st.integers(0, 3), reason=st.sampled_from(("tool_call", "stop")))
def test_a_mid_stream_flush_keeps_the_laws(text: str, degree: int, reason: str) -> None:
    chosen = config(degree, tiny=True)
    engine = TextEngine(chosen)
    events = [*engine.feed(text), *_end(engine, reason)]
    assert law_checks.limit(chosen, events) == []
    assert law_checks.conservation(text, chosen, events) == []


def _end(engine: TextEngine, how: str) -> list[Event]:
    match how:
        case "finish":
            return engine.finish()
        case "discard":
            return engine.discard()
        case "stop":
            return engine.flush("stop")
        case _:
            return engine.flush("tool_call")


def test_only_joiners_behind_an_overflow_cut() -> None:
    """Found by fuzzing: what is left behind the last cut is invisible, and makes no event (B8)."""
    text = "word " * 16 + "end?\t" + "\u200d" * 37
    tight = TextConfig(
        humanizer_degree=1,
        max_single_message_length=100,
        flush_buffer_size=100,
        hold_limit=50,
        max_flush_count=1,
    )
    assert law_checks.all_broken(TextEngine, text, tight, random.Random(1)) == []


def test_an_invisible_start_of_a_long_line_behind_an_expression() -> None:
    """Found by fuzzing: `...` is put in front of a line whose first cut has nothing visible."""
    text = "...\n\ufeff  \u0915\u094d\u0937\u093fhttps://x.test/" + "\u8a9e" * 100
    tight = TextConfig(
        humanizer_degree=3,
        aggregate_join="preserve",
        max_single_message_length=100,
        flush_buffer_size=100,
        hold_limit=50,
        max_flush_count=1000,
    )
    assert law_checks.all_broken(TextEngine, text, tight, random.Random(1)) == []


@pytest.mark.parametrize(
    "text",
    [
        "\u3002 " * 1500,
        "a\n" + "\u3002 " * 1500,
        "a\n" + "***\n" * 900,
        "\u3002 " * 65 + "!?!\n" + "\u3002 " * 38,
        "\u3002 " * 65 + "}" + "\u3002 " * 100,
        "\u3002 " * 65 + "\u2026\n" + "\u3002 " * 38,
    ],
)
def test_many_fragments_and_rules_are_reported_in_time(text: str) -> None:
    """Found by searching: they waited for a text that they could be reported with (L6)."""
    for many in (True, False):
        chosen = replace(config(3), max_flush_count=1000 if many else 1)
        assert law_checks.all_broken(TextEngine, text, chosen, random.Random(1)) == []


def test_code_whose_end_is_about_as_far_as_a_hold() -> None:
    """Found by fuzzing: whether it is code is not said, nor is it for what follows."""
    text = "`" + "a b " * 34 + "` `https://x.test/" + "a" * 98 + "`"
    tight = TextConfig(max_single_message_length=115, flush_buffer_size=152, hold_limit=138)
    assert law_checks.all_broken(TextEngine, text, tight, random.Random(1)) == []


def test_an_expression_behind_a_sentence_that_shares_its_message() -> None:
    """Found by fuzzing: `!?!` goes in front of the next line (S1), and `。` ends the one before."""
    text = "``` ```「。 \n!?!\na"
    joined = TextConfig(humanizer_degree=3, aggregate_join="preserve", max_flush_count=1)
    assert law_checks.all_broken(TextEngine, text, joined, random.Random(1)) == []
