"""Every statement of TomoriBot's published documents, against our code, or its line in decision 16.

`tests/documented_rows.py` has the statements about the text. Those about streams, delivery and
settings are here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from oshaberi import TextConfig, TextEngine
from oshaberi.bot.config import DECLARED
from oshaberi.chunks import Chunk, ToolCall
from oshaberi.delivery.config import StreamConfig, policy_of
from oshaberi.delivery.pacing import pause_ms
from oshaberi.delivery.recording_sink import CallKind, ScriptedFault
from oshaberi.delivery.response import SentSprite
from oshaberi.events import Event, Message, Table
from oshaberi.stream import FollowUp, Silence, Stop
from oshaberi.text.normalize.table import NORMALIZERS
from tests.documented_rows import (
    CHUNKING,
    CLEANING,
    FACES,
    FLUSHING,
    GUARD,
    GUARDING,
    SENTENCE,
    TABLE,
    TOUKO,
    TextRow,
)
from tests.stream.scripted_streams import Played, play
from tests.test_documented_differences import ROWS

CALL = Chunk("function_call", calls=(ToolCall("look"),))
FLAT: dict[str, Any] = {"thinking_pause_chance": 0.0}
ALTER: dict[str, Any] = {"persona": {"name": "Lilya", "is_alter": True}}
STEPS = ["modifiers", "emoji_repeats", "own_name", "mentions", "speaker_guard"]
LONG = "\n".join(f"line {number}" for number in range(10))
NUMBERS = {
    "flush_buffer_size": 1000,
    "flush_buffer_size_code_block": 15_000,
    "max_single_message_length": 1950,
    "humanizer_degree": 2,
    "send_message_limit": 0,
    "base_type_speed_ms_per_char": 10,
    "max_typing_time_ms": 4000,
    "min_visible_typing_duration_ms": 750,
    "thinking_pause_chance": 0.25,
    "min_random_pause_ms": 250,
    "max_random_pause_ms": 1500,
    "emoji_unique_lookback": 5,
    "emoji_run_prefix_length": 3,
    "emoji_preserve_unresolved_shortcodes": False,
    "llm_stop_speaker_pattern_enabled": False,
    "uncensor_unicode_space_enabled": False,
    "uncensor_sanitize_enabled": False,
}


def shown(event: Message | Table) -> str:
    if isinstance(event, Table):
        return f"TABLE {event.source}"
    face = event.identity
    return event.text if face is None else f"{event.text} [{face.username} {face.avatar_url}]"


def messages(pieces: Iterable[str], settings: dict[str, Any]) -> list[str]:
    engine = TextEngine(TextConfig(**{"humanizer_degree": 1, **settings}))
    events: list[Event] = []
    for piece in pieces:
        events += engine.feed(piece)
    events += engine.finish()
    return [shown(event) for event in events if isinstance(event, Message | Table)]


def problems_of(row: TextRow, more: dict[str, Any]) -> list[str]:
    settings = {**more, **row.settings}
    expected = list(row.theirs if row.ours is None else row.ours)
    found = [messages([row.text], settings), messages(row.text, settings)]
    return [f"{row.source}: {row.says}: {one}" for one in found if one != expected]


def test_the_rows_of_the_text() -> None:
    tables: list[tuple[Sequence[TextRow], dict[str, Any]]] = [
        (FLUSHING, {}),
        (GUARDING, {}),
        (CLEANING, {}),
        (FACES, TOUKO),
        (CHUNKING, {}),
    ]
    rows = [(row, more) for table, more in tables for row in table]
    assert len(rows) > 120
    assert [problem for row, more in rows for problem in problems_of(row, more)] == []
    differing = [row for row, _ in rows if row.ours is not None]
    assert [row.says for row in differing if row.ours == row.theirs] == []
    recorded = [line[0] for line in ROWS]
    assert [
        row.says
        for row in differing
        if not row.differs or not any(line.startswith(row.differs) for line in recorded)
    ] == []


def step_of(rule: str) -> int:
    return next(int(row.step.removeprefix("S")) for row in NORMALIZERS if row.name == rule)


def kinds(played: Played) -> list[str]:
    return [record["kind"] for record in played.sink.records]


def of(played: Played, key: str) -> list[Any]:
    return [record[key] for record in played.of("message")]


def ended(played: Played) -> tuple[str, str | None]:
    return played.result.status, played.result.stop_reason


def thoughts(*pieces: str) -> list[str]:
    return play(*pieces).result.thought_log.texts


def details(text: str) -> tuple[str, ...]:
    return play(text).result.details


def accumulated(said: str, **given: Any) -> str:
    return play(said, **given).result.accumulated_text


def typed_ms(text: str) -> int:
    """How long after the first message this second one comes."""
    return play(f"a\n{text}", degree=2, **FLAT).times[-1]


def faulty(kind: CallKind, code: int, *, nth: int = 1) -> list[ScriptedFault]:
    return [ScriptedFault(kind, nth, code)]


def degrees() -> list[tuple[str, bool, bool]]:
    configs = [StreamConfig(text=TextConfig(humanizer_degree=degree)) for degree in range(4)]
    casual = [
        messages(["Hello there"], {"humanizer_degree": at}) != ["Hello there"] for at in range(4)
    ]
    return [
        (one.delivery, one.types, noise)
        for one, noise in zip(map(policy_of, configs), casual, strict=True)
    ]


def pauses() -> tuple[bool, bool]:
    drawn = [ms for number in range(400) if (ms := pause_ms(number, StreamConfig()))]
    return 70 < len(drawn) < 130, all(250 <= ms <= 1500 for ms in drawn)


def flood() -> Played:
    return play("\n".join(["x" * 1900] * 5), text={"max_flush_count": 2})


def closed_engine() -> TextEngine:
    engine = TextEngine(TextConfig())
    engine.feed("```\na <think>(b")
    engine.finish()
    return engine


def lost_webhook(code: int) -> list[str]:
    return play("a\nb", text=ALTER, faults=faulty("webhook_send", code, nth=2)).messages


STREAMS: list[tuple[str, str, Callable[[], object], object]] = [
    ("06", "the order of the steps", lambda: sorted(set(STEPS), key=step_of), STEPS),
    ("F", "a newline at the end waits", lambda: TextEngine(TextConfig()).feed("a\n"), []),
    ("F", "degree 0: at the end", lambda: play("a\n", Silence(900), "b", degree=0).times, [900]),
    ("F", "degree 0: at a call", lambda: play("a\nb", CALL, degree=0).messages, ["a\n\nb"]),
    (
        "F",
        "degree 0: before an attachment",
        lambda: kinds(play(f"a\n\n{TABLE}\n\nb", degree=0)),
        ["message", "file", "message"],
    ),
    (
        "07",
        "degree 0: before another face, which goes by itself",
        lambda: of(play("a\nTouko (mad): b\nTouko: c", degree=0, text=TOUKO), "via"),
        ["bot", "webhook", "bot"],
    ),
    ("F", "degree 1: as it comes", lambda: play("a\nb", Silence(900), "\nc").times, [0, 900, 900]),
    ("F", "degree 1: at once", lambda: play("a\nb\nc").times, [0, 0, 0]),
    ("F", "degree 2: the first one at once", lambda: play("a\nb", degree=2, **FLAT).times[0], 0),
    (
        "O",
        "delivery, typing (F: from 2 on) and noise of the degrees",
        degrees,
        [
            ("aggregated", False, False),
            ("streaming", False, False),
            ("streaming", True, False),
            ("streaming", True, True),
        ],
    ),
    ("F", "a send is progress", lambda: play("a\nb").progress.count("sent"), 2),
    (
        "F",
        "sends keep the watchdog quiet",
        lambda: ended(play(LONG, degree=2, inactivity_timeout_ms=1000, **FLAT)),
        ("completed", None),
    ),
    ("F", "a flood stops the stream", lambda: ended(flood()), ("stopped_by_user", "flush_limit")),
    ("F", "with one warning", lambda: len(flood().of("embed")), 1),
    ("F", "and nothing behind it", lambda: kinds(flood())[-1], "embed"),
    ("05", "thoughts are kept apart", lambda: thoughts("<think>a</think>b"), ["a"]),
    ("05", "in pieces too", lambda: thoughts("<th", "ink>a</thi", "nk>b"), ["a"]),
    ("05", "unclosed ones too", lambda: thoughts("b<think>a"), ["a"]),
    ("05", "details are kept apart", lambda: details("<details>a</details>b"), ("a",)),
    ("05", "unclosed ones too", lambda: details("b<details>a"), ("a",)),
    ("O", "thoughts stay out of the text", lambda: accumulated("<think>a</think>b"), "b"),
    ("O", "details stay out of the text", lambda: accumulated("<details>a</details>b"), "b"),
    ("05", "a call flushes the buffer", lambda: play("a (b", CALL).messages, ["a (b)"]),
    ("05", "a stop flushes it", lambda: play("a b", Silence(9), Stop("7")).messages, ["a b"]),
    (
        "05",
        "a stop trims an incomplete clause",
        lambda: play("One. Two is", Silence(9), Stop("7")).messages,
        ["One."],
    ),
    (
        "05",
        "a repeated chunk is cut",
        lambda: play("the quick brown fox", "brown fox jumps", reemits=True).messages,
        ["the quick brown fox jumps"],
    ),
    (
        "05",
        "and not counted",
        lambda: play("the quick brown fox", "brown fox", reemits=True).result.metrics.characters,
        19,
    ),
    ("05", "suppressed text is not sent", lambda: kinds(play("a", suppress_text_output=True)), []),
    (
        "05",
        "nothing leaves after a stop",
        lambda: play("a\nb\nc", Stop("7"), "d\ne", degree=2, **FLAT).messages,
        ["a"],
    ),
    ("05", "a closed engine is empty", lambda: closed_engine().finish(), []),
    (
        "06",
        "the guard asks for a stop",
        lambda: ended(play("a\nUser: b\nc", text=GUARD)),
        ("stopped_by_user", "speaker_guard"),
    ),
    ("06", "a table is a file", lambda: kinds(play(TABLE)), ["file"]),
    (
        "06",
        "a sprite's message is recorded with its name",
        lambda: play("Touko (mad): a\nTouko: b", text=TOUKO).response.sprites,
        [SentSprite(1, "Touko", "mad")],
    ),
    (
        "06",
        "the text keeps the model's label, once for a line",
        lambda: accumulated(f"Touko (mad): {SENTENCE * 30}", text=TOUKO).count("Touko (mad): "),
        1,
    ),
    (
        "06",
        "source first, for copied ones too",
        lambda: accumulated("Touko (Bob): a", text=TOUKO),
        "Touko (Bob): a",
    ),
    ("07", "10 ms a character", lambda: typed_ms("x" * 200), 2000),
    ("07", "at least 750 ms", lambda: typed_ms("b"), 750),
    ("07", "at most 4000 ms", lambda: typed_ms("x" * 900), 4000),
    ("07", "a quarter has a pause of 250 to 1500 ms", pauses, (True, True)),
    (
        "07",
        "a stop ends a wait",
        lambda: play("a\nb", Silence(100), Stop("7"), degree=2).result.metrics.duration_ms,
        100,
    ),
    ("07", "a limit", lambda: play("a\nb\nc", send_message_limit=2).messages, ["a", "b"]),
    (
        "07",
        "its stop",
        lambda: ended(play("a\nb\nc", send_message_limit=2)),
        ("stopped_by_user", "send_message_limit"),
    ),
    ("07", "0 is no limit", lambda: len(play(LONG, send_message_limit=0).messages), 10),
    ("07", "an alter has the webhook", lambda: of(play("a", text=ALTER), "via"), ["webhook"]),
    ("07", "under its name", lambda: of(play("a", text=ALTER), "username"), ["Lilya"]),
    (
        "07",
        "after one notice",
        lambda: kinds(play("a\nb", text=ALTER, reply_to=True)),
        ["reply_notice", "message", "message"],
    ),
    (
        "07",
        "a failed notice blocks nothing",
        lambda: play("a", text=ALTER, reply_to=True, faults=faulty("webhook_send", 50035)).messages,
        ["a"],
    ),
    (
        "07",
        "the main persona uses it for another face only",
        lambda: of(play("a\nTouko (mad): b\nTouko: c", text=TOUKO), "via"),
        ["bot", "webhook", "bot"],
    ),
    (
        "07",
        "what the bot says for a face is not recorded",
        lambda: (
            play(
                "Touko (mad): a", text=TOUKO, faults=faulty("create_webhook", 30007)
            ).response.sprites
        ),
        [],
    ),
    ("07", "the first replies", lambda: of(play("a\nb", reply_to=True), "reply"), [True, False]),
    ("07", "the text is what was sent", lambda: accumulated("a\nb"), "a\nb"),
    ("07", "10015: a fresh webhook", lambda: lost_webhook(10015), ["a", "b"]),
    ("07", "50027: a fresh webhook", lambda: lost_webhook(50027), ["a", "b"]),
    ("O", "the end", lambda: ended(play("a")), ("completed", None)),
    ("O", "a call", lambda: ended(play("a", CALL)), ("function_call", None)),
    ("O", "a stop", lambda: ended(play("a", Stop("7"))), ("stopped_by_user", "user_request")),
    (
        "O",
        "a new message ends it",
        lambda: ended(play("a", FollowUp("7"), user="7")),
        ("follow_up_interrupt", None),
    ),
    ("O", "and its buffer", lambda: play("a", FollowUp("7"), user="7").messages, []),
]


def test_the_rows_of_streams_and_delivery() -> None:
    differing = []
    for source, says, find, expected in STREAMS:
        found = find()
        if found != expected:
            differing.append(f"{source}: {says}: {found!r}, not {expected!r}")
    assert differing == []


def test_the_numbers() -> None:
    assert {key: DECLARED[key].default for key in NUMBERS} == NUMBERS
