"""Every regular expression, of the stage too, takes linear time, or gets only short texts.

Two checks look at all of them: regexploit for powers of three and more, and a measurement with
texts that are made from each pattern (`pattern_attacks`) for the rest. A pattern that one of them
finds is mended, or listed here with the bound that makes it harmless.
"""

from __future__ import annotations

import importlib
import os
import re
import warnings
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from oshaberi.bot.client.discord_values import _TOKENS
from oshaberi.bot.turns.admission.channel_queue import is_complete
from oshaberi.discord_io.requests.parameters import _TOKENS as _NOTICE_TOKENS
from oshaberi.discord_io.requests.parameters import is_reply_notice
from oshaberi.providers.refusals.named_fields import _in_words
from tests.attacks.loop_watch import computing_at_most
from tests.attacks.pattern_attacks import as_re, parsed, slow_text
from tests.attacks.pattern_collection import (
    SourcePattern,
    call_sites,
    made_patterns,
    source_patterns,
)
from tests.tools.fake_tool_context import asking

_STAGE = "only a local run has it, where whoever writes also runs the bot"
_MODIFIER = "gets what may be a label's modifier : 70 characters"
HARMLESS = {
    "bot/config/loading.py::_SERVICE_LINK": "the environment of the process: the operator's",
    "recording/recording_redaction.py::_ANNOUNCES": "gets 40 characters (_ANNOUNCED_WITHIN)",
    "bot/local_run/demo_model/requests.py::_FILE": _STAGE,
    "bot/local_run/demo_model/requests.py::_FILE_NOTE": _STAGE,
    "bot/local_run/demo_model/requests.py::_NAMED": _STAGE,
    "bot/local_run/demo_model/playback.py::_REMEMBER_JAPANESE": _STAGE,
    "text/messages/live_preview.py::_AFTER_NAME": _MODIFIER,
    "text/messages/live_preview.py::_AFTER_PARTICIPANT": _MODIFIER,
    "text/normalize/speaker_guard.py::_NUMBERED": "gets a label: 140 characters at most (S7)",
    "text/normalize/speaker_guard.py::_MODIFIED": "gets a label: 140 characters at most (S7)",
    "bot/schedules/times_of_day.py::_AROUND": "gets 40 characters (LONGEST_SHOWN)",
    "bot/tools/decorator.py::_FIELD": "gets a docstring: the operator's code",
    "bot/tools/decorator.py::_OTHER_FIELD": "gets a docstring: the operator's code",
    "bot/turns/admission/channel_queue.py::_ASKED": "gets a message's last 50 characters (ENDING)",
    "bot/turns/personas.py::_DECORATED": "gets a webhook's name: 80 characters",
}

BY_SPEED = {
    "text/messages/live_preview.py::_UNDECIDED": "500 characters for each bracket, of 2150 held",
}
"""Repetitions with a bound, whose time grows up to it: a fast machine does not notice that."""


@cache
def all_patterns() -> list[SourcePattern]:
    return source_patterns(made_patterns())


def test_all_patterns_are_collected() -> None:
    """Also those that the program puts together: `source_patterns` raises for one without."""
    names = {one.name for one in all_patterns()}
    assert {site.name for site in call_sites()} - names == set()
    assert len(all_patterns()) > 400
    assert sum(one.module == "regex" for one in all_patterns()) > 30


def test_each_pattern_can_be_attacked() -> None:
    for pattern in all_patterns():
        assert parsed(pattern) is not None


def test_what_is_listed_still_exists() -> None:
    assert set(HARMLESS) <= {one.name for one in all_patterns()}


# -- regexploit ----------------------------------------------------------------------------------


def _regexploit() -> Any:
    """Return its function that finds what is slow in a pattern."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # it imports sre_parse
            sre = importlib.import_module("regexploit.ast.sre")
            redos = importlib.import_module("regexploit.redos")
    except ImportError:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip("regexploit is not installed: make setup")

    class OpParser(sre.SreOpParser):  # type: ignore[name-defined,misc]
        """Knows what Python 3.11 added, as if it could backtrack."""

        from_POSSESSIVE_REPEAT = sre.SreOpParser.from_MAX_REPEAT  # noqa: N815

        def from_ATOMIC_GROUP(self, body: Any) -> Any:  # noqa: N802
            return self.sequence_or_singleton(body)

    return lambda pattern, flags: redos.find(OpParser().parse_sre(pattern, flags))


def test_regexploit_finds_nothing() -> None:
    find = _regexploit()
    assert find(r"(a+)+$", 0), "the checker works"
    found = {one.name for one in all_patterns() if find(*as_re(one))}
    assert found - set(HARMLESS) == set()


# -- measured ------------------------------------------------------------------------------------


def _pattern(text: str, *methods: str) -> SourcePattern:
    return SourcePattern("here", "re", text, 0, frozenset(methods or ("search",)))


QUADRATIC = [
    _pattern(r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]+"),
    _pattern(r"<(?:a?:\w+:\d+|/(?P<command>[^:>]+):\d+)>"),
    _pattern(r"<a [^>]*>"),
    _pattern(r"[?]+[!?]*\Z"),
    _pattern(r"\s+$"),
    _pattern(r"<!--.*?-->"),
    _pattern(r"key\s*:?\s*=", "match"),
]


@pytest.mark.parametrize("pattern", QUADRATIC, ids=lambda one: one.pattern)
def test_the_measurement_finds_what_is_quadratic(pattern: SourcePattern) -> None:
    assert slow_text(pattern) is not None


@pytest.mark.parametrize(
    "pattern",
    [_pattern(r"\w+", "finditer"), _pattern(r"\s+$", "match"), _pattern(r"<[^<>]{0,100}>")],
    ids=lambda one: one.pattern,
)
def test_the_measurement_lets_what_is_linear_pass(pattern: SourcePattern) -> None:
    assert slow_text(pattern) is None


@pytest.mark.slow
def test_no_pattern_grows_faster_than_its_text() -> None:
    found = {one.name: one.pattern for one in all_patterns() if slow_text(one) is not None}
    assert found.keys() - set(HARMLESS) - set(BY_SPEED) == set()
    assert set(HARMLESS) - found.keys() == set(), "it is linear now: take it off the list"


# -- the bounds ----------------------------------------------------------------------------------


def test_question_marks_without_end() -> None:
    incoming = replace(asking("?" * 1_000_000 + "x"), mentions_us=True)
    with computing_at_most():
        assert not is_complete(incoming)


@pytest.mark.parametrize("unit", ["</", "<:", "<@1", "<t:", "<#", "<a:b:", "**", "** http://a/"])
def test_a_message_of_beginnings(unit: str) -> None:
    text = unit * (100_000 // len(unit))
    with computing_at_most(0.3):
        assert _TOKENS.sub("", text) == text
    with computing_at_most(0.3):
        assert _NOTICE_TOKENS.sub("", text) == text
    with computing_at_most(0.3):
        assert not is_reply_notice(f"-# ↩ **{text}")


def test_a_refusal_of_blanks() -> None:
    with computing_at_most(0.3):
        assert list(_in_words("param" + " " * 60_000 + "\0")) == []


def test_a_flag_is_read_from_the_source() -> None:
    flagged = {one.name: one.flags for one in all_patterns()}
    name = "bot/turns/personas.py::_DECORATED"
    assert flagged[name] == re.DOTALL
