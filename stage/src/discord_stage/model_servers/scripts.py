"""The steps of a scripted model, independent of any API; each wire format encodes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

FinishReason = Literal["stop", "length", "content_filter", "tool_calls"]
FailureKind = Literal[
    "rate_limit",
    "provider_overloaded",
    "timeout",
    "content_blocked",
    "auth",
    "model_error",
    "context_length",
    "balance_exhausted",
    "affordability",
    "network",
    "api_error",
]
"""Why a model fails, no matter what its API calls it."""


@dataclass(frozen=True, slots=True)
class Say:
    """Visible text; each piece is one event."""

    pieces: tuple[str, ...]

    def __init__(self, *pieces: str) -> None:
        object.__setattr__(self, "pieces", pieces)


@dataclass(frozen=True, slots=True)
class Think:
    """Reasoning, with the API's signature."""

    pieces: tuple[str, ...]
    signature: str | None = None

    def __init__(self, *pieces: str, signature: str | None = None) -> None:
        object.__setattr__(self, "pieces", pieces)
        object.__setattr__(self, "signature", signature)


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call whose arguments (JSON text, possibly broken) are sent in `pieces` pieces."""

    name: str
    arguments: str = "{}"
    id: str | None = None
    pieces: int = 3
    signature: str | None = None


@dataclass(frozen=True, slots=True)
class Show:
    """A picture in the answer, where the API can send one."""

    content: bytes
    mime: str = "image/png"


@dataclass(frozen=True, slots=True)
class Cite:
    """A page that the provider's own search found, and that the answer cites."""

    url: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class Count:
    """The token count, as the API reports it.

    `cached_tokens` of the input came from its cache, and `cache_write_tokens` were stored in it.
    """

    input_tokens: int
    output_tokens: int
    cached_tokens: int = 0
    cache_write_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Finish:
    """The finish reason. Without this step a script ends with `stop` or `tool_calls`."""

    reason: FinishReason = "stop"


@dataclass(frozen=True, slots=True)
class ErrorEvent:
    """An error in the open stream."""

    kind: FailureKind = "provider_overloaded"
    message: str | None = None
    parameter: str | None = None


@dataclass(frozen=True, slots=True)
class Cut:
    """The connection breaks here: reset, or closed in the middle of the answer."""

    reset: bool = False


@dataclass(frozen=True, slots=True)
class Stall:
    """The server sends nothing more. The connection stays open until the client closes it."""


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """The server reads the request and sends nothing, not even a status."""


@dataclass(frozen=True, slots=True)
class Garbage:
    """An event whose data is not JSON."""

    text: str = '{"choices": [{"delta": {"con'


@dataclass(frozen=True, slots=True)
class KeepAlive:
    """A comment line and an empty event, as proxies send them."""


@dataclass(frozen=True, slots=True)
class RepeatTail:
    """The server repeats its last characters, followed by `text`."""

    chars: int
    text: str = ""


@dataclass(frozen=True, slots=True)
class RefuseParameters:
    """Refuses the request if it has one of these keys; otherwise the script goes on.

    `named` says whether the refusal names the key; `in_stream` whether it comes as an event of an
    open stream.
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
    """The family's own refusal of this kind: its status, headers and body."""

    kind: FailureKind
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
    | Show
    | Cite
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
