"""Puts together tool calls that arrive in pieces, several at once, in any order."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from oshaberi.chunks import ToolCall
from oshaberi.providers.wire.wire_steps import CallPiece


@dataclass(slots=True)
class _PartialCall:
    name: str = ""
    id: str | None = None
    arguments: list[str] = field(default_factory=list)


class ToolCallAssembly:
    """The calls of one answer, in the order in which they began."""

    def __init__(self) -> None:
        self._begun: list[_PartialCall] = []
        self._open: dict[int | str, _PartialCall] = {}

    def add(self, piece: CallPiece) -> None:
        call = self._open.get(piece.key)
        if call is None or _is_another(call, piece):
            call = _PartialCall()
            self._begun.append(call)
            self._open[piece.key] = call
        call.name = call.name or piece.name
        call.id = call.id or piece.id
        if piece.arguments:
            call.arguments.append(piece.arguments)

    def whole(self) -> tuple[ToolCall, ...]:
        return tuple(_whole(call) for call in self._begun)


def _is_another(call: _PartialCall, piece: CallPiece) -> bool:
    """Some servers number every parallel call 0; a new id with a name is a new call."""
    return bool(piece.name and piece.id and call.id and piece.id != call.id)


def _whole(call: _PartialCall) -> ToolCall:
    if not call.name:
        return ToolCall("unknown", {}, call.id, "the call names no tool")
    args, error = _arguments("".join(call.arguments))
    return ToolCall(call.name, args, call.id, error)


def _arguments(text: str) -> tuple[dict[str, Any], str | None]:
    """What can be read, or what to tell the model (spec 03)."""
    if not text.strip():
        return {}, None
    try:
        read = json.loads(text)
    except (ValueError, RecursionError) as error:
        return {}, f"the arguments are not valid JSON ({_reason(error)}); call the tool again"
    if not isinstance(read, dict):
        return {}, "the arguments are not a JSON object; call the tool again"
    return read, None


def _reason(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at character {error.pos}"
    return type(error).__name__
