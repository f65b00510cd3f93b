"""What else reads text that strangers write: stop strings, tool calls, masking, the burst wait.

Each is fed and finished like an engine, with texts that are made of beginnings of what it looks
for, and must be linear like one (`growth`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime

from bench import growth
from bench.engines import Engine
from bench.growth import Growth, Plan
from bench.shapes import SHAPES, Shape
from oshaberi.bot.conversation.messages import ChannelMessage, IncomingMessage, Person
from oshaberi.bot.turns.admission.channel_queue import is_complete
from oshaberi.providers.wire.steps import CallPiece
from oshaberi.providers.wire.text_outlet import StopStringCut
from oshaberi.providers.wire.tool_calls import ToolCallAssembly
from oshaberi.secret_redaction import SecretValues

STOPS = ("\n\nUser:", "a" * 500 + "b", "###", "<|end|>")
_KNOWN = SecretValues(("hunter22", "a pass phrase with spaces"))
_AUTHOR = Person(1, "Mika")


class _StopStrings:
    """Like an answer's text: until a stop string, of which these texts have none."""

    def __init__(self) -> None:
        self._cut = StopStringCut(STOPS)

    def feed(self, text: str, /) -> Sequence[object]:
        self._cut.feed(text)
        return ()

    def finish(self) -> Sequence[object]:
        self._cut.finish()
        return ()


class _ToolCall:
    """The arguments of one call, with its name in each piece."""

    def __init__(self) -> None:
        self._calls = ToolCallAssembly()

    def feed(self, text: str, /) -> Sequence[object]:
        self._calls.add(CallPiece(0, "look", text))
        return ()

    def finish(self) -> Sequence[object]:
        return self._calls.whole()


class _Collected:
    """A text that is looked at when all of it is there."""

    def __init__(self, look: Callable[[str], object]) -> None:
        self._look = look
        self._pieces: list[str] = []

    def feed(self, text: str, /) -> Sequence[object]:
        self._pieces.append(text)
        return ()

    def finish(self) -> Sequence[object]:
        return (self._look("".join(self._pieces)),)


def _asked(text: str) -> bool:
    said = ChannelMessage(1, _AUTHOR, text, datetime(2026, 1, 1, tzinfo=UTC))
    return is_complete(IncomingMessage(said, 2, 3, mentions_us=True))


READERS: Mapping[str, tuple[Callable[[], Engine], Mapping[str, Shape]]] = {
    "stop strings": (
        _StopStrings,
        {
            "prose": SHAPES["prose"],
            "a": Shape("a"),
            "\\n\\nUser": Shape("\n\nUser"),
            "#": Shape("# ## "),
        },
    ),
    "tool call": (
        _ToolCall,
        {
            "text": Shape("a", '{"query": "'),
            "escapes": Shape('\\"', '{"query": "'),
            "brackets": Shape("[]", '{"query": ['),
            "blanks": Shape(" ", '{"query": 1'),
        },
    ),
    "redaction": (
        lambda: _Collected(_KNOWN.redacted),
        {
            "prose": SHAPES["prose"],
            "eyJ-": Shape("eyJ-"),
            "eyJhbGciOi.": Shape("eyJhbGciOi."),
            "key": Shape("key "),
            "sk-": Shape("sk-"),
            "://a:": Shape("://a:"),
            "hunter": Shape("hunter2"),
        },
    ),
    "burst wait": (
        lambda: _Collected(_asked),
        {"prose": SHAPES["prose"], "?": Shape("?"), "?)": Shape("?)"), "blanks": Shape(" ", "?")},
    ),
}


def count() -> int:
    return sum(len(shapes) for _make, shapes in READERS.values()) * len(growth.WAYS)


def run(plan: Plan) -> Iterator[Growth]:
    for reader, (make, shapes) in READERS.items():

        def of_degree(_degree: int, make: Callable[[], Engine] = make) -> Engine:
            return make()

        for name, shape in shapes.items():
            for way in growth.WAYS:
                yield growth.measure(of_degree, f"{reader}: {name}", shape, 0, way, plan)
