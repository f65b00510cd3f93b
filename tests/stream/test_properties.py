"""Random chunks, silences, stops and faults in virtual time: what must hold whatever happens."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oshaberi.chunks import Chunk, ProviderError, ThoughtPart, ToolCall
from oshaberi.delivery.faults import Fault
from oshaberi.delivery.ledger import DELIVERED
from oshaberi.delivery.recording import RecordingSink
from oshaberi.stream import FollowUp, Silence, Step, Stop

from .play import Played, play

PERSONA = {
    "name": "Ren",
    "sprites": [{"name": "mad", "avatar_url": "https://x.test/mad"}],
}
_WORDS = (
    "word ",
    "line\n",
    "\n\n",
    "Ren (mad): ",
    "Ren: ",
    "(",
    ")",
    "```\n",
    "end.",
    "| a | b |\n",
)
_ROWS = "| a | b |\n|---|---|\n| 1 | 2 |\n"

TEXTS = st.lists(st.sampled_from((*_WORDS, _ROWS, "<think>", "</think>")), max_size=8).map("".join)
STEPS: st.SearchStrategy[str | Step] = st.one_of(
    TEXTS,
    TEXTS,
    TEXTS,
    st.integers(0, 5000).map(Silence),
    st.just(Silence(130_000)),
    st.just(Stop("1")),
    st.just(FollowUp("1")),
    st.just(Chunk("text", thoughts=(ThoughtPart("hm"),))),
    st.just(Chunk("function_call", calls=(ToolCall("look"),))),
    st.just(Chunk("error", error=ProviderError("api_error", "no"))),
    st.just(Chunk("done", finish_reason="stop")),
)
ERRORS = st.one_of(
    st.none(),
    st.sampled_from(("timeout", "reset_before_write", "reset_after_write", "http_503")),
    st.sampled_from((10003, 10008, 10015, 20016, 50001, 50013, 50027, 200000, 50035)),
)
FAULTS = st.builds(
    Fault,
    on=st.sampled_from(
        ("send", "webhook_send", "create_webhook", "typing", "file", "embed", "edit")
    ),
    nth=st.integers(1, 6),
    error=ERRORS,
    delay_ms=st.sampled_from((0, 0, 500, 3000, 15_000, 25_000)),
    rate_limit_ms=st.sampled_from((0, 0, 0, 2000)),
    retry_after_ms=st.sampled_from((None, 1000, 70_000)),
)
SETTINGS = st.fixed_dictionaries(
    {},
    optional={
        "notify": st.sampled_from(("all", "first", "last")),
        "delivery": st.sampled_from(("messages", "live")),
        "send_message_limit": st.integers(0, 4),
        "on_limit": st.sampled_from(("stop", "file")),
        "reply_to": st.booleans(),
        "suppress_user_errors": st.booleans(),
        "suppress_text_output": st.booleans(),
        "render_tables": st.booleans(),
    },
)
PROPERTY = settings(
    max_examples=300,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def _mark(step: str | Step, number: int) -> str | Step:
    """Each word of text is unlike any other, so that a twin would show."""
    if not isinstance(step, str):
        return step
    parts = step.split("word ")
    return "".join(
        part + (f"w{number}x{at} " if at < len(parts) - 1 else "") for at, part in enumerate(parts)
    )


def _play(
    steps: list[str | Step],
    faults: list[Fault],
    degree: int,
    alter: bool,
    readable: bool,
    options: dict[str, Any],
) -> Played:
    persona = {**PERSONA, "is_alter": alter}
    return play(
        *(_mark(step, number) for number, step in enumerate(steps)),
        degree=degree,
        text={"persona": persona, "max_flush_count": 6},
        sink=lambda: RecordingSink(faults, readable=readable),
        **options,
    )


CASES = given(
    steps=st.lists(STEPS, max_size=10),
    faults=st.lists(FAULTS, max_size=5),
    degree=st.integers(0, 3),
    alter=st.booleans(),
    readable=st.booleans(),
    options=SETTINGS,
)


@PROPERTY
@CASES
def test_whatever_happens(
    steps: list[str | Step],
    faults: list[Fault],
    degree: int,
    alter: bool,
    readable: bool,
    options: dict[str, Any],
) -> None:
    """`play` itself sees to: one result, no task left, the ledger adds up, all is closed."""
    played = _play(steps, faults, degree, alter, readable, options)
    _every_word_at_most_once(played)
    _order_is_kept(played)
    _all_is_delivered_or_reported(played)
    _one_embed_at_most(played)
    _silence_after_stop(played, steps)
    _limits_hold(played, options)


def _words(text: str) -> list[str]:
    return [word for word in text.split() if word[:1] == "w" and "x" in word]


def _seen(played: Played) -> list[str]:
    """The marked words as the channel shows them, files included."""
    posts = [posted.post for posted in played.sink.posted]
    return [w for p in posts for w in _words(p.content or "".join(f.source for f in p.files))]


def _every_word_at_most_once(played: Played) -> None:
    seen = _seen(played)
    assert len(seen) == len(set(seen))


def _order_is_kept(played: Played) -> None:
    places = [tuple(map(int, word[1:].split("x"))) for word in map(_bare, _seen(played))]
    assert places == sorted(places)


def _bare(word: str) -> str:
    return "".join(c for c in word if c.isdigit() or c in "wx")


def _all_is_delivered_or_reported(played: Played) -> None:
    entries = played.result.ledger.entries
    ids = {posted.id for posted in played.sink.posted}
    for entry in entries:
        if entry.fate == DELIVERED and entry.message_id is not None:
            assert entry.message_id in ids
    reported = {_bare(word) for word in _words(played.result.undelivered)}
    shown = {_bare(word) for word in _seen(played)}
    certain = {_bare(w) for e in entries if e.fate == DELIVERED for w in _words(e.text)}
    doubtful = {_bare(w) for e in entries if e.fate == "uncertain" for w in _words(e.text)}
    assert shown - doubtful == certain
    assert not reported & certain
    if played.result.status == "completed" and not played.result.undelivered:
        assert all(entry.fate is not None for entry in entries)


def _one_embed_at_most(played: Played) -> None:
    titles = [record["title"] for record in played.of("embed")]
    assert len(titles) == len(set(titles)) <= 2
    if played.result.status not in ("error", "timeout"):
        assert len(titles) <= 1  # the one about the limit


def _silence_after_stop(played: Played, steps: list[str | Step]) -> None:
    """A stop ends it at once, but for what was on the wire and the closing flush."""
    if played.result.stop_reason != "user_request":
        return
    waits = [step.ms for step in steps if isinstance(step, Silence)]
    stopped_by = sum(waits) + 20_500  # the wire and the closing flush have ten seconds each
    assert all(record["at_ms"] <= stopped_by for record in played.sink.records)


def _limits_hold(played: Played, options: dict[str, Any]) -> None:
    limit = options.get("send_message_limit") or 6
    counted = [p for p in played.sink.posted if p.post.embed is None]
    rest = sum(file.name == "rest.md" for p in counted for file in p.post.files)
    labels = played.response.spoken_as is not None or played.response.webhook_lost
    uncertain = sum(e.fate == "uncertain" for e in played.result.ledger.entries)
    assert len(counted) <= limit + rest + uncertain + labels


@PROPERTY
@CASES
def test_the_same_again_is_the_same(
    steps: list[str | Step],
    faults: list[Fault],
    degree: int,
    alter: bool,
    readable: bool,
    options: dict[str, Any],
) -> None:
    first = _play(steps, faults, degree, alter, readable, options)
    again = _play(steps, faults, degree, alter, readable, options)
    assert first.sink.records == again.sink.records
    assert first.result.as_record() == again.result.as_record()
