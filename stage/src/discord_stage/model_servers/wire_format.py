"""The protocol of a wire format: turns a script into the bytes of one API family."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from discord_stage.model_servers.scripts import (
    Call,
    Cite,
    Count,
    ErrorEvent,
    FinishReason,
    Refuse,
    Show,
    Think,
)


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
    """A received request. Header names are in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes = field(repr=False)

    @property
    def json(self) -> Any:
        return json.loads(self.body) if self.body else None


@dataclass(frozen=True, slots=True)
class WireAnswer:
    """A whole answer, such as a refusal."""

    status: int
    body: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)


Frame = str | bytes
"""One event as it is sent: text, or bytes if the wire format is not text."""


class Encoder(Protocol):
    """Writes one streamed answer. Each returned item is one complete event."""

    def begin(self) -> Sequence[Frame]: ...

    def say(self, text: str) -> Sequence[Frame]: ...

    def think(self, step: Think) -> Sequence[Frame]: ...

    def call(self, step: Call) -> Sequence[Frame]: ...

    def show(self, step: Show) -> Sequence[Frame]:
        """Return the events of a picture; none if the API sends none."""

    def cite(self, step: Cite) -> Sequence[Frame]:
        """Return the events of a cited page; none if the API sends none."""

    def error(self, step: ErrorEvent) -> Sequence[Frame]: ...

    def garbage(self, text: str) -> Sequence[Frame]: ...

    def keep_alive(self) -> Sequence[Frame]: ...

    def end(self, reason: FinishReason, count: Count | None) -> Sequence[Frame]:
        """Return the last events, with the token count if the API sends it there."""


def in_bytes(frame: Frame) -> bytes:
    """Return an event as the bytes that are sent."""
    return frame if isinstance(frame, bytes) else frame.encode()


class WireFormat(Protocol):
    """The wire format of one family."""

    name: str
    base_path: str
    """The path after the server's URL, which together make the base URL for the SDK."""
    content_type: str

    def answers(self, request: ReceivedRequest) -> bool:
        """Return whether this is the URL of the streaming endpoint."""

    def refuse(self, step: Refuse) -> WireAnswer: ...

    def refuse_parameter(self, key: str | None) -> WireAnswer:
        """Return a refusal because of a parameter. The refusal may name it or not."""

    def encoder(self, request: ReceivedRequest) -> Encoder: ...


def pieces(text: str, count: int) -> list[str]:
    """Split the text into at most `count` parts, none of them empty."""
    size = max(1, -(-len(text) // max(1, count)))
    return [text[at : at + size] for at in range(0, len(text), size)]
