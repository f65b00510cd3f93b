"""Puts together tool calls that arrive in pieces, several at once, in any order."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from oshaberi.chunks import ToolCall
from oshaberi.providers.wire.wire_event_steps import CallPiece


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
        call = self._begun_by(piece)
        if call is None:
            if piece.only_continues:
                return
            call = _PartialCall()
            self._begun.append(call)
        if piece.key is not None:
            self._open[piece.key] = call
        call.name = call.name or piece.name
        call.id = call.id or piece.id
        if piece.is_whole:
            call.arguments = [piece.arguments]
        elif piece.arguments:
            call.arguments.append(piece.arguments)

    def whole(self, *, is_cut_off: bool = False) -> tuple[ToolCall, ...]:
        """Return the calls; if the answer was cut off, without an incomplete last one."""
        begun = self._begun
        if is_cut_off and begun and not _is_complete(begun[-1]):
            begun = begun[:-1]
        return tuple(_whole(call) for call in begun)

    def _begun_by(self, piece: CallPiece) -> _PartialCall | None:
        """Return the call that this piece continues, or None if it begins a new one."""
        if piece.key is None or (piece.is_whole and piece.id):
            known = self._with_id(piece.id)
            if known is not None:
                return known
        call = self._last() if piece.key is None else self._open.get(piece.key)
        return None if call is None or _is_another(call, piece) else call

    def _with_id(self, id_: str | None) -> _PartialCall | None:
        return next((call for call in self._begun if id_ and call.id == id_), None)

    def _last(self) -> _PartialCall | None:
        return self._begun[-1] if self._begun else None


def _is_another(call: _PartialCall, piece: CallPiece) -> bool:
    """Tell whether the piece begins another call.

    Some servers number every parallel call 0, or none of them, and some omit names.
    """
    if piece.id and call.id:
        return piece.id != call.id and bool(piece.name or piece.key is None)
    if not (piece.name and call.name):
        return False
    if piece.name != call.name:
        return True
    # A server that repeats the name with every piece has not finished the arguments.
    if piece.key is None:
        return not call.arguments or _is_complete(call)
    return bool(piece.arguments) and not piece.is_whole and _is_complete(call)


def _is_complete(call: _PartialCall) -> bool:
    """Tell whether the arguments are complete. Empty arguments are not: more may follow."""
    text = "".join(call.arguments)
    return bool(text.strip()) and _arguments(text)[1] is None


def _whole(call: _PartialCall) -> ToolCall:
    if not call.name:
        return ToolCall("unknown", {}, call.id, "the call names no tool")
    args, error = _arguments("".join(call.arguments))
    return ToolCall(call.name, args, call.id, error)


def _arguments(text: str) -> tuple[dict[str, Any], str | None]:
    """Parse the arguments, or return an error for the model (spec 03). `null` means none."""
    if not text.strip():
        return {}, None
    try:
        read = json.loads(text)
    except (ValueError, RecursionError) as error:
        return {}, f"the arguments are not valid JSON ({_reason(error)}); call the tool again"
    if read is None:
        return {}, None
    if not isinstance(read, dict):
        return {}, "the arguments are not a JSON object; call the tool again"
    return read, None


def _reason(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at character {error.pos}"
    return type(error).__name__
