"""Lines with the stream's id, without secrets; and at DEBUG a stream that tells every step."""

from __future__ import annotations

import asyncio
import io
import json
import logging
from collections.abc import Iterator, Sequence

import pytest

from oshaberi.bot.logs import StreamLogger, TurnIds, of_stream, of_turn, setup, stream_id
from oshaberi.bot.logs.log_lines import _Handler
from oshaberi.chunks import Chunk, ThoughtPart
from oshaberi.delivery.recording_sink import RecordingSink
from oshaberi.stream import ScriptedProvider, StreamConfig, StreamContext, stream_to_sink
from oshaberi.stream.context import text_engine
from oshaberi.stream.observers import listen
from oshaberi.stream.provider_protocol import Provider, Silence, Step
from oshaberi.text.config import TextConfig
from oshaberi.virtual_time import run_virtual

log = logging.getLogger("oshaberi.tests")
SOUP = "<:soup:111111111111111111>"


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    ours, root = logging.getLogger("oshaberi"), logging.getLogger()
    level = ours.level
    yield
    ours.setLevel(level)
    for handler in [one for one in root.handlers if isinstance(one, _Handler)]:
        root.removeHandler(handler)


def lines(level: str = "info", form: str = "text", **options: object) -> io.StringIO:
    out = io.StringIO()
    setup(level, form, out, **options)  # type: ignore[arg-type]
    return out


# -- lines ---------------------------------------------------------------------------------------


def test_a_line_for_people() -> None:
    out = lines()
    log.info("hello %s", "there", extra={"channel": 5})
    _day, _time, rest = out.getvalue().split(" ", 2)
    assert rest == "INFO    tests hello there channel=5\n"


def test_a_line_for_machines() -> None:
    out = lines(form="json")
    with of_stream("abc"):
        log.warning("oh\nno", extra={"channel": 5})
    log.info("after")
    first, second = map(json.loads, out.getvalue().splitlines())
    assert first.pop("at").endswith("+00:00")
    assert first == {
        "level": "warning",
        "logger": "oshaberi.tests",
        "stream": "abc",
        "message": "oh\nno",
        "channel": 5,
    }
    assert "stream" not in second


def test_the_ids_of_a_turn_are_in_its_lines() -> None:
    out = lines()
    with of_turn(TurnIds(1, 2, 3)):
        log.info("waits")
        with of_turn(TurnIds(0, 2, 3, "ab")):
            log.info("runs")
    log.info("after")
    said = [line.split("tests ")[1] for line in out.getvalue().splitlines()]
    assert said == [
        "[server 1 channel 2 user 3] waits",
        "[ab channel 2 user 3] runs",
        "after",
    ]


def test_the_stream_is_known_in_tasks_that_it_began() -> None:
    out = lines()

    async def work(key: str) -> None:
        with of_stream(key):
            await asyncio.create_task(asyncio.sleep(0))
            await asyncio.create_task(say(key))

    async def say(key: str) -> None:
        log.info("I am %s", key)

    async def main() -> None:
        await asyncio.gather(work("one"), work("two"))

    run_virtual(main())
    assert sorted(line.partition("tests ")[2] for line in out.getvalue().splitlines()) == [
        "[one] I am one",
        "[two] I am two",
    ]


def test_an_event_is_one_line_and_what_belongs_to_it_is_indented() -> None:
    out = lines()
    try:
        raise ValueError("bad")
    except ValueError:
        log.exception("a forged\n2026-01-01 00:00:00.000 INFO    line\x1b[2J")
    first, *others = out.getvalue().splitlines()
    assert "a forged" in first
    assert all(line.startswith("    ") for line in others)
    assert others[-1].endswith("ValueError: bad")
    assert "\x1b" not in out.getvalue(), "no colours, and nobody's control characters"


@pytest.mark.parametrize("form", ["text", "json"])
def test_secrets_are_masked_in_messages_and_tracebacks(form: str) -> None:
    out = lines(form=form, secrets=["hunter2-hunter2"])
    try:
        raise ValueError("with hunter2-hunter2 in it")
    except ValueError:
        log.exception("key sk-abcdefghijklmnop", extra={"url": "redis://u:passw0rd@h"})
    text = out.getvalue()
    assert not [word for word in ("hunter2", "abcdefgh", "passw0rd") if word in text]
    assert text.count("[secret]") >= 3


def test_others_only_warn_and_a_second_setup_replaces_the_first() -> None:
    first = lines("debug")
    second = lines("debug")
    logging.getLogger("some.library").info("chatter")
    logging.getLogger("some.library").warning("beware")
    log.debug("mine")
    assert first.getvalue() == ""
    assert "chatter" not in second.getvalue()
    assert [line.split()[-1] for line in second.getvalue().splitlines()] == ["beware", "mine"]


def test_colours_on_terminals_only(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.delenv("NO_COLOR", raising=False)
    out = Terminal()
    setup("info", "text", out)
    log.warning("look")
    assert "\x1b[33mWARNING" in out.getvalue()


# -- streams -------------------------------------------------------------------------------------

CONFIG = StreamConfig(
    text=TextConfig(humanizer_degree=3, emojis=(SOUP,), recent_bot_messages=(f"hi {SOUP}",))
)
CHUNKS = [
    Chunk("text", "Hello th"),
    Chunk("text", "ere. A nice bowl :soup: of it.\n...\nYes.\n"),
    Chunk("text", thoughts=(ThoughtPart("hm"),)),
    Chunk("text", "...\n"),
    Chunk("done", finish_reason="stop"),
]


def stream(
    observer: StreamLogger,
    context: StreamContext,
    config: StreamConfig = CONFIG,
    steps: Sequence[Step] = CHUNKS,
) -> Provider:
    """One stream with a witness, as a turn has it. Returns the provider that was read from."""

    async def main() -> Provider:
        provider = observer.opened(ScriptedProvider(steps), config, context)
        result = await stream_to_sink(provider, None, config, context, RecordingSink())
        log.info("before the end")
        observer.ended(context, result)
        assert stream_id.get() == ""
        return provider

    return run_virtual(main())


def test_at_debug_every_step_is_told() -> None:
    out = lines("debug")
    context = StreamContext()
    stream(StreamLogger(), context)
    told = [line.split("] ", 1) for line in out.getvalue().splitlines()]
    assert {head.split("[")[1] for head, _ in told} == {context.response.key}
    steps = [step for _, step in told]
    expected = [
        "begins: script script, degree 3",
        "chunk 1 (text): 'Hello th'",
        "flush at 12 (period): 'Hello there.'",
        "humanised from 'Hello there.' to 'hello there'",
        "unique emoji: from 'A nice bowl :soup: of it.' to 'A nice bowl of it.'",
        "orphan held: '...'",
        "orphan prepended: '...' to '...Yes.'",
        "sent message 1: id 1 by bot",
        "chunk 3 (text): thought 'hm'",
        "chunk 5 (done): finish reason stop",
        "orphan released: '...'",
        "sent message 4: id 4 by bot",
    ]
    assert [step for step in expected if step not in steps] == []
    assert steps[-1].startswith("ends: completed, 4 messages from 5 chunks")


def test_a_live_message_is_sent_once_and_then_edited() -> None:
    out = lines("debug")
    steps: list[Step] = [Chunk("text", "one\ntwo\n"), Silence(3000), Chunk("text", "three")]
    stream(StreamLogger(), StreamContext(), StreamConfig(delivery="live"), steps)
    text = out.getvalue()
    assert text.count("sent message 1: id 1 by bot") == 1
    assert text.count("edited message 1: id 1 by bot") >= 1
    assert "message 2" not in text


def test_without_debug_nothing_is_put_into_a_stream() -> None:
    out = lines("info")
    context = StreamContext()
    provider = stream(StreamLogger(), context)
    assert isinstance(provider, ScriptedProvider)
    assert context.make_engine is text_engine
    assert context.progress is None
    [line] = out.getvalue().splitlines()
    assert line.endswith(f"[{context.response.key}] before the end")


def test_afterwards_the_context_is_as_it_was_and_others_are_heard_too() -> None:
    lines("debug")
    heard: list[str] = []
    progress: list[str] = []
    context = StreamContext(progress=progress.append)
    before = context.progress
    leave = listen(context, lambda decision: heard.append(decision.kind))
    stream(StreamLogger(), context)
    assert {"boundary", "orphan"} <= set(heard)
    assert {"chunk", "sent"} == set(progress)
    assert context.progress is before
    leave()
    assert context.make_engine is text_engine


def test_a_turn_with_several_streams_tells_each_step_once() -> None:
    out = lines("debug")
    context, observer = StreamContext(), StreamLogger()
    stream(observer, context)
    stream(observer, context)
    assert out.getvalue().count("flush at 12 (period)") == 2
