"""What a scripted model does, step by step. Each family's wire format expresses it its own way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from oshaberi.chunks import ErrorType

FinishReason = Literal["stop", "length", "content_filter", "tool_calls"]


@dataclass(frozen=True, slots=True)
class Say:
    """Visible text; every item is an event of its own."""

    pieces: tuple[str, ...]

    def __init__(self, *pieces: str) -> None:
        object.__setattr__(self, "pieces", pieces)


@dataclass(frozen=True, slots=True)
class Think:
    """Reasoning, with the signature the API puts on it."""

    pieces: tuple[str, ...]
    signature: str | None = None

    def __init__(self, *pieces: str, signature: str | None = None) -> None:
        object.__setattr__(self, "pieces", pieces)
        object.__setattr__(self, "signature", signature)


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call whose arguments (JSON text, possibly broken) come in so many pieces."""

    name: str
    arguments: str = "{}"
    id: str | None = None
    pieces: int = 3
    signature: str | None = None


@dataclass(frozen=True, slots=True)
class Count:
    """The tokens, as the API reports them."""

    input_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True)
class Finish:
    """Why the answer ends. Without it the script's own end is `stop` or `tool_calls`."""

    reason: FinishReason = "stop"


@dataclass(frozen=True, slots=True)
class ErrorEvent:
    """An error in the open stream."""

    kind: ErrorType = "provider_overloaded"
    message: str | None = None
    parameter: str | None = None


@dataclass(frozen=True, slots=True)
class Cut:
    """The connection breaks here: reset, or just closed in the middle of the answer."""

    reset: bool = False


@dataclass(frozen=True, slots=True)
class Stall:
    """Nothing comes any more; the connection stays open until the other side closes it."""


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """The request is read and nothing comes, not even a status, until they hang up."""


@dataclass(frozen=True, slots=True)
class Garbage:
    """An event whose data is not JSON."""

    text: str = '{"choices": [{"delta": {"con'


@dataclass(frozen=True, slots=True)
class KeepAlive:
    """A comment line and an empty event, as proxies send them."""


@dataclass(frozen=True, slots=True)
class RepeatTail:
    """The last characters said come once more, with `text` behind them."""

    chars: int
    text: str = ""


@dataclass(frozen=True, slots=True)
class RefuseParameters:
    """The request is refused as long as it has one of these keys; the rest is played else.

    `named` says whether the refusal names the key; `in_stream` whether it comes as an event of
    an opened stream.
    """

    keys: tuple[str, ...]
    named: bool = True
    in_stream: bool = False

    def __init__(self, *keys: str, named: bool = True, in_stream: bool = False) -> None:
        object.__setattr__(self, "keys", keys)
        object.__setattr__(self, "named", named)
        object.__setattr__(self, "in_stream", in_stream)


@dataclass(frozen=True, slots=True)
class Refuse:
    """The family's own refusal of that kind: its status, headers and body."""

    kind: ErrorType
    message: str | None = None


@dataclass(frozen=True, slots=True)
class Status:
    """Any HTTP answer."""

    status: int
    body: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)


Step = (
    Say
    | Think
    | Call
    | Count
    | Finish
    | ErrorEvent
    | Cut
    | Stall
    | NoAnswer
    | Garbage
    | KeepAlive
    | RepeatTail
    | RefuseParameters
    | Refuse
    | Status
)
Script = tuple[Step, ...]
