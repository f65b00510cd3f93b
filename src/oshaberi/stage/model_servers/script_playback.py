"""Turns a script into the answer: one refusal, or the frames of a stream. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

from oshaberi.stage.model_servers.model_script import (
    Call,
    Count,
    Cut,
    ErrorEvent,
    Finish,
    FinishReason,
    Garbage,
    KeepAlive,
    NoAnswer,
    Refuse,
    RefuseParameters,
    RepeatTail,
    Say,
    Script,
    Stall,
    Status,
    Step,
    Think,
)
from oshaberi.stage.model_servers.wire_format import (
    Encoder,
    ReceivedRequest,
    WireAnswer,
    WireFormat,
)

Break = Cut | Stall
Frame = str | Break


@dataclass(frozen=True, slots=True)
class PlannedStream:
    """A streamed answer: its events, and where it breaks. Without a break it ends properly."""

    frames: tuple[Frame, ...]


Reply = WireAnswer | PlannedStream | NoAnswer


def plan(wire: WireFormat, script: Script, request: ReceivedRequest) -> Reply:
    """Return the server's reply to this request."""
    for step in script:
        match step:
            case Refuse():
                return wire.refuse(step)
            case NoAnswer():
                return step
            case Status(status, body, headers):
                return WireAnswer(status, body, headers)
            case RefuseParameters():
                refused = _refused_key(step, request)
                if refused is not None and step.in_stream:
                    return _broken_off(wire.encoder(request), refused if step.named else None)
                if refused is not None:
                    return wire.refuse_parameter(refused if step.named else None)
            case _:
                pass
    return PlannedStream(tuple(_Playing(wire.encoder(request)).frames(script)))


def _refused_key(step: RefuseParameters, request: ReceivedRequest) -> str | None:
    body = request.json
    return next((key for key in step.keys if key in body), None)


def _broken_off(encoder: Encoder, key: str | None) -> PlannedStream:
    named = f"Unsupported parameter: '{key}'" if key else "Bad request"
    event = ErrorEvent("api_error", named, parameter=key)
    return PlannedStream((*encoder.begin(), *encoder.error(event)))


class _Playing:
    """Passes one script through an encoder."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._said = ""
        self._reason: FinishReason = "stop"
        self._count: Count | None = None

    def frames(self, script: Script) -> Sequence[Frame]:
        frames: list[Frame] = list(self._encoder.begin())
        for step in script:
            if isinstance(step, Cut | Stall):
                return [*frames, step]
            frames += self._frames(step)
            if isinstance(step, ErrorEvent):
                return frames
        return [*frames, *self._encoder.end(self._reason, self._count)]

    def _frames(self, step: Step) -> Sequence[str]:
        match step:
            case Say(texts):
                return [frame for text in texts for frame in self._say(text)]
            case RepeatTail(chars, text):
                return self._say(self._said[-chars:] + text)
            case Think():
                return self._encoder.think(step)
            case Call():
                self._reason = "tool_calls"
                return self._encoder.call(step)
            case Count():
                self._count = step
                return []
            case Finish(reason):
                self._reason = reason
                return []
            case ErrorEvent():
                return self._encoder.error(step)
            case Garbage(text):
                return self._encoder.garbage(text)
            case KeepAlive():
                return self._encoder.keep_alive()
            case Cut() | Stall() | NoAnswer() | RefuseParameters() | Refuse() | Status():
                return []
            case _:
                assert_never(step)

    def _say(self, text: str) -> Sequence[str]:
        self._said += text
        return self._encoder.say(text)
