"""Puts together tool calls that arrive in pieces, several at once, in any order.

The model's server decides how many pieces there are and what each repeats, so the work for a piece
depends on its own length, never on the pieces before it.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any, Literal

from oshaberi.checked_json import parse_json
from oshaberi.chunks import ToolCall
from oshaberi.providers.wire.steps import CallPiece

SHORT = 16
"""Arguments of this few characters are simply parsed, such as `null` and `{}`."""
_BRACKET_OR_QUOTE = re.compile(r'["{}\[\]]')
_QUOTE_OR_ESCAPE = re.compile(r'["\\]')


class _ObjectEnd:
    """Finds the end of the JSON object that a text begins with: `feed` it piece by piece.

    Whether the object is valid is another question: only brackets and quotes are looked at.
    """

    def __init__(self) -> None:
        self.state: Literal["before", "inside", "ended", "no object"] = "before"
        self._depth = 0
        self._is_in_string = False
        self._is_escaped = False

    def feed(self, piece: str) -> None:
        if self.state == "before" and not piece.isspace():
            self.state = "inside" if piece.lstrip().startswith("{") else "no object"
        at = 0
        while self.state == "inside" and at < len(piece):
            at = self._in_string(piece, at) if self._is_in_string else self._outside(piece, at)
        if self.state == "ended" and piece[at:].strip():
            self.state = "no object"

    def _in_string(self, piece: str, at: int) -> int:
        """Move to the character after the next quote or escaped character."""
        if self._is_escaped:
            self._is_escaped = False
            return at + 1
        found = _QUOTE_OR_ESCAPE.search(piece, at)
        if found is None:
            return len(piece)
        self._is_in_string = found[0] != '"'
        self._is_escaped = found[0] != '"'
        return found.end()

    def _outside(self, piece: str, at: int) -> int:
        """Move to the character after the next bracket or quote."""
        found = _BRACKET_OR_QUOTE.search(piece, at)
        if found is None:
            return len(piece)
        if found[0] == '"':
            self._is_in_string = True
        else:
            self._depth += 1 if found[0] in "{[" else -1
            self.state = "inside" if self._depth else "ended"
        return found.end()


class _ArgumentText:
    """The arguments of one call, as far as they have arrived."""

    def __init__(self, whole: str = "") -> None:
        self._pieces: list[str] = []
        self._unseen: list[str] = []
        self._length = 0
        self._end = _ObjectEnd()
        self._is_valid: bool | None = None
        self.add(whole)

    def add(self, piece: str) -> None:
        if piece:
            self._pieces.append(piece)
            self._unseen.append(piece)
            self._length += len(piece)

    def text(self) -> str:
        return "".join(self._pieces)

    def is_begun(self) -> bool:
        return bool(self._pieces)

    def is_complete(self) -> bool:
        """Return whether the arguments are complete. Empty arguments are not: more may follow."""
        if self._length <= SHORT:
            return self._parses()
        for piece in self._unseen:
            self._end.feed(piece)
        self._unseen.clear()
        if self._end.state != "ended":
            return False
        if self._is_valid is None:  # nothing but spaces can follow, so the result stays the same
            self._is_valid = self._parses()
        return self._is_valid

    def _parses(self) -> bool:
        text = self.text()
        return bool(text.strip()) and _arguments(text)[1] is None


@dataclass(slots=True)
class _PartialCall:
    name: str = ""
    id: str | None = None
    arguments: _ArgumentText = field(default_factory=_ArgumentText)


class ToolCallAssembly:
    """The calls of one answer, in the order in which they began."""

    def __init__(self) -> None:
        self._begun: list[_PartialCall] = []
        self._open: dict[int | str, _PartialCall] = {}
        self._by_id: dict[str, _PartialCall] = {}

    def __len__(self) -> int:
        return len(self._begun)

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
        if call.id:
            self._by_id.setdefault(call.id, call)
        if piece.is_whole:
            call.arguments = _ArgumentText(piece.arguments)
        else:
            call.arguments.add(piece.arguments)

    def whole(self, *, is_cut_off: bool = False) -> tuple[ToolCall, ...]:
        """Return the calls; if the answer was cut off, without an incomplete last one."""
        begun = self._begun
        if is_cut_off and begun and not begun[-1].arguments.is_complete():
            begun = begun[:-1]
        return tuple(_whole(call) for call in begun)

    def _begun_by(self, piece: CallPiece) -> _PartialCall | None:
        """Return the call that this piece continues, or None if it begins a new one."""
        if piece.key is None or (piece.is_whole and piece.id):
            known = self._by_id.get(piece.id or "")
            if known is not None:
                return known
        call = self._last() if piece.key is None else self._open.get(piece.key)
        return None if call is None or _is_another(call, piece) else call

    def _last(self) -> _PartialCall | None:
        return self._begun[-1] if self._begun else None


def _is_another(call: _PartialCall, piece: CallPiece) -> bool:
    """Return whether the piece begins another call.

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
        return not call.arguments.is_begun() or call.arguments.is_complete()
    return bool(piece.arguments) and not piece.is_whole and call.arguments.is_complete()


def _whole(call: _PartialCall) -> ToolCall:
    if not call.name:
        return ToolCall("unknown", {}, call.id, "the call names no tool")
    args, error = _arguments(call.arguments.text())
    return ToolCall(call.name, args, call.id, error)


def _arguments(text: str) -> tuple[dict[str, Any], str | None]:
    """Parse the arguments, or return an error for the model (spec 03). `null` means none."""
    if not text.strip():
        return {}, None
    try:
        read = parse_json(text)
    except ValueError as error:
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
