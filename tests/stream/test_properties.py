"""Random chunks, silences, stops and faults in virtual time: what must hold whatever happens.

Every word is unlike any other, so that a lost, doubled or misplaced one shows.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oshaberi.chunks import Chunk, ProviderError, ToolCall
from oshaberi.delivery import deliverer
from oshaberi.delivery.ledger import DELIVERED
from oshaberi.delivery.recording_sink import RecordingSink, ScriptedFault
from oshaberi.stream import FollowUp, Silence, Step, Stop

from .scripted_streams import Played, play

PERSONA = {"name": "Ren", "sprites": [{"name": "mad", "avatar_url": "https://x.test/mad"}]}
LIMIT = 100
WORD = re.compile(r"w\d+")
SHAPES = (
    "{}\n",
    "{}\n",
    "{} {}\n",
    "{} {}. {}\n\n",
    "{} ",
    "({}\n{}) ",
    "Ren (mad): {}\n",
    "Ren: {}\n",
    "```\n{}\n{}\n```\n",
    "\n| {} | {} |\n|---|---|\n| {} | x |\n\n",
    "{} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {}\n",
    "{} {} {} {} {} {} ",
    "{} {} {} {} {} {} ",
    "```\n{}\n{} {} {}\n",
    "{} {} {} {} {} *{} {} ",
)
ENDS: dict[str, Step | None] = {
    "end": None,
    "stop": Stop("1"),
    "follow-up": FollowUp("1"),
    "call": Chunk("function_call", calls=(ToolCall("look"),)),
    "error": Chunk("error", error=ProviderError("api_error", "no")),
    "timeout": Silence(500_000),
}
DOUBTS = ("timeout", "reset_before_write", "reset_after_write", "http_503")
REFUSALS = (10003, 10008, 10015, 20016, 50001, 50013, 50027, 200000, 200000, 50035)


@dataclass
class Case:
    """A script, and what it depends on."""

    shapes: list[str | int]
    end: str
    faults: list[ScriptedFault]
    degree: int
    alter: bool
    readable: bool
    options: dict[str, Any]
    words: list[str] = field(init=False)
    steps: list[str | Step] = field(init=False)

    def __post_init__(self) -> None:
        self.words, self.steps = [], []
        for shape in self.shapes:
            self.steps.append(Silence(shape) if isinstance(shape, int) else self._text(shape))
        end = ENDS[self.end]
        if end is not None:
            self.steps += [end, "never"]

    def _text(self, shape: str) -> str:
        count = shape.count("{}")
        fresh = [f"w{len(self.words) + n}" for n in range(count)]
        self.words += fresh
        return shape.format(*fresh)

    @property
    def spoils_edits(self) -> bool:
        """What live mode has shown of unfinished text can perhaps not be made right."""
        once = self.end in ("stop", "follow-up")  # nothing is tried again then
        spoilt = [f for f in self.faults if f.on in ("edit", "delete")]
        for_good = [f for f in spoilt if once or f.error in REFUSALS]
        return self.options.get("delivery") == "live" and bool(for_good)

    def play(self) -> Played:
        limits = {"max_flush_count": 20, "max_single_message_length": LIMIT}
        with no_fault_of_ours():
            return play(
                *self.steps,
                degree=self.degree,
                text={**limits, "persona": {**PERSONA, "is_alter": self.alter}},
                sink=lambda: RecordingSink(self.faults, readable=self.readable),
                **self.options,
            )


@contextmanager
def no_fault_of_ours() -> Iterator[None]:
    """A result may hide one behind the stop that came before it; the log does not."""
    seen: list[logging.LogRecord] = []
    handler = logging.Handler(logging.ERROR)
    handler.emit = seen.append  # type: ignore[method-assign,assignment]
    logger = logging.getLogger("oshaberi.stream.orchestrator")
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
    assert [record.getMessage() for record in seen] == []


def _fault(on: str, nth: int, trouble: Any, retry_after_ms: int | None) -> ScriptedFault:
    delay, held = {"late": (3000, 0), "stuck": (25_000, 0), "held": (0, 2000)}.get(trouble, (0, 0))
    error = None if delay or held else trouble
    return ScriptedFault(on, nth, error, delay, held, retry_after_ms)  # type: ignore[arg-type]


SENDS = ("send", "send", "webhook_send", "webhook_send", "edit")
RARE = ("create_webhook", "typing", "file", "embed", "delete")
FAULTS = st.builds(
    _fault,
    on=st.sampled_from((*SENDS, *SENDS, *RARE)),
    nth=st.integers(1, 5),
    trouble=st.sampled_from((*DOUBTS, *DOUBTS, *REFUSALS, "late", "late", "stuck", "held")),
    retry_after_ms=st.sampled_from((None, 1000, 70_000)),
)
OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "notify": st.sampled_from(("first", "last")),
        "delivery": st.just("live"),
        "send_message_limit": st.integers(1, 5),
        "on_limit": st.just("file"),
        "reply_to": st.just(True),
        "suppress_user_errors": st.just(True),
        "render_tables": st.just(False),
    },
)
CASES = st.builds(
    Case,
    shapes=st.lists(
        st.one_of(*[st.sampled_from(SHAPES)] * 4, st.integers(0, 4000)), min_size=1, max_size=12
    ),
    end=st.sampled_from(sorted(ENDS)),
    faults=st.lists(FAULTS, max_size=4),
    degree=st.sampled_from((0, 1, 1, 1, 2, 2, 3)),
    alter=st.booleans(),
    readable=st.sampled_from((True, True, False)),
    options=OPTIONS,
)
EXAMPLES = settings.default.max_examples if settings.default else 0
PROPERTY = settings(
    max_examples=6 * EXAMPLES,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@PROPERTY
@given(CASES)
def test_whatever_happens(case: Case) -> None:
    """`play` itself sees to: one result, no task left, the ledger adds up, all is closed."""
    played = case.play()
    _check(case, played, strictly=not case.spoils_edits)
    if case.spoils_edits:  # with finished text alone there is no excuse
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(deliverer, "shows_unfinished", lambda _config: False)
            _check(case, case.play(), strictly=True)


def _check(case: Case, played: Played, *, strictly: bool) -> None:
    shown = _shown(played)
    if strictly:
        assert shown == sorted(set(shown), key=_number), "twice, or out of order"
    _all_is_delivered_or_reported(case, played, strictly=strictly)
    _history_is_what_was_delivered(played)
    _embeds_are_few(played)
    _silence_after_stop(case, played)
    _limits_hold(case, played)
    _one_reply(case, played)


@settings(PROPERTY, max_examples=2 * EXAMPLES)
@given(CASES)
def test_the_same_again_is_the_same(case: Case) -> None:
    first, again = case.play(), case.play()
    assert first.sink.records == again.sink.records
    assert first.result.as_record() == again.result.as_record()


def _number(word: str) -> int:
    return int(word[1:])


def _words(text: str) -> list[str]:
    return WORD.findall(text)


def _shown(played: Played) -> list[str]:
    """The words as the channel shows them, those of files included."""
    posts = [posted.post for posted in played.sink.posted if not posted.deleted]
    return [w for p in posts for w in _words(p.content + "".join(f.source for f in p.files))]


def _fates(played: Played, *fates: str) -> set[str]:
    entries = played.result.ledger.entries
    return {word for e in entries if e.fate in fates for word in _words(e.text)}


def _all_is_delivered_or_reported(case: Case, played: Played, *, strictly: bool) -> None:
    shown, reported = set(_shown(played)), set(_words(played.result.undelivered))
    delivered, uncertain = _fates(played, DELIVERED), _fates(played, "uncertain")
    # A table as code shows some of its words before its last part has decided its fate.
    tables = {w for e in played.result.ledger.entries if e.text[:1] == "|" for w in _words(e.text)}
    deleted = {w for e in played.result.ledger.entries if not e.message_id for w in _words(e.text)}
    assert delivered - deleted <= shown
    if strictly:
        assert shown - delivered <= uncertain | tables
    assert not reported & delivered
    broken = played.result.stop_reason not in (None, "user_request")
    sink_failed = played.result.status == "error" and case.end != "error"
    if not (broken or sink_failed):
        assert delivered | reported == set(case.words)


def _history_is_what_was_delivered(played: Played) -> None:
    history = _words(played.result.accumulated_text)
    assert history == sorted(_fates(played, DELIVERED), key=_number)


def _embeds_are_few(played: Played) -> None:
    titles = [record["title"] for record in played.of("embed")]
    assert len(titles) == len(set(titles)) <= 2
    if played.result.status not in ("error", "timeout"):
        assert len(titles) <= 1  # the one about the limit


def _silence_after_stop(case: Case, played: Played) -> None:
    """What was on the wire may arrive, then one closing flush; nothing else."""
    if played.result.status not in ("stopped_by_user", "follow_up_interrupt"):
        return
    if case.end not in ("stop", "follow-up") or played.result.stop_reason not in (
        None,
        "user_request",
    ):
        return
    stopped_at = sum(step.ms for step in case.steps if isinstance(step, Silence))
    after = [r for r in played.sink.records if r["at_ms"] > stopped_at]
    closing = [r for r in after if r["kind"] in ("message", "edit", "file")]
    assert all(r["kind"] not in ("typing", "embed") for r in after)
    if case.degree > 0:
        assert len(closing) <= (2 if case.end == "stop" else 1)
    assert played.result.metrics.duration_ms <= stopped_at + 41_000


def _limits_hold(case: Case, played: Played) -> None:
    limit = case.options.get("send_message_limit") or 20
    counted = [p.post for p in played.sink.posted if p.post.embed is None and not p.deleted]
    rest = sum(file.name == "rest.md" for post in counted for file in post.files)
    names = sum(post.content.startswith("**Ren") for post in counted)
    uncertain = sum(e.fate == "uncertain" for e in played.result.ledger.entries)
    assert len(counted) <= limit + rest + names + uncertain
    assert all(len(post.content) <= LIMIT for post in counted)


def _one_reply(case: Case, played: Played) -> None:
    replies = [r for r in played.of("message") if r["reply"]]
    asked = bool(case.options.get("reply_to"))
    assert len(played.of("reply_notice")) <= asked
    if not played.result.ledger.sums().get("uncertain"):
        assert len(replies) + len(played.of("reply_notice")) <= asked
