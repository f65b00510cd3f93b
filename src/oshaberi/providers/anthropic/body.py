"""Builds a request body for Anthropic's Messages API."""

from __future__ import annotations

from typing import Any

from oshaberi.providers.endpoint import Endpoint
from oshaberi.providers.request.chat_dialogue import DialogueTurn, system_text, turns
from oshaberi.providers.request.context_items import (
    FilePart,
    ImagePart,
    Part,
    ToolDeclaration,
    ToolRound,
)
from oshaberi.providers.request.model_request import Request, Thinking
from oshaberi.providers.request.part_texts import as_text, base64_of
from oshaberi.providers.request.stop_strings import stop_strings
from oshaberi.providers.request.thinking_levels import effort, is_off
from oshaberi.providers.wire.signed_blocks import unpacked

Fields = dict[str, Any]

DEFAULT_OUTPUT = 8192
_SMALLEST_BUDGET = 1024
_PDF = "application/pdf"


def body(request: Request, endpoint: Endpoint) -> Fields:
    """The JSON of the request; `max_tokens` is mandatory here."""
    longest = request.max_output_tokens or DEFAULT_OUTPUT
    how = _thinking(request.thinking)
    made: Fields = {
        "model": endpoint.model,
        "max_tokens": longest + how.pop("extra", 0),
        "messages": messages(request, endpoint),
        "stream": True,
        **how,
    }
    stops = stop_strings(request, (), endpoint.max_stop_strings)
    optional: Fields = {
        "system": system_text(request.items) or None,
        "tools": [_tool(tool) for tool in request.tools] or None,
        "stop_sequences": list(stops) or None,
        **_sampling(request),
    }
    made.update({key: value for key, value in optional.items() if value is not None})
    made.update(endpoint.quirks.get("body", {}))
    made.update(request.extra)
    return made


def messages(request: Request, endpoint: Endpoint) -> list[Fields]:
    made: list[Fields] = []
    for number, turn in enumerate(turns(request.items, user_first=True)):
        if isinstance(turn, DialogueTurn):
            _say(made, turn.role, [_part(part, turn.role) for part in turn.parts])
        else:
            ids = [call.id or f"toolu_{number}_{i}" for i, call in enumerate(turn.calls)]
            _say(made, "assistant", _asked(turn, ids, endpoint.name))
            _say(made, "user", _answered(turn, ids))
    prefill = (request.prefill or "").rstrip()
    if prefill and request.thinking in (None, "off"):
        # Trailing whitespace is refused, and so is a prefill of a model that thinks.
        _say(made, "assistant", [{"type": "text", "text": prefill}])
    return made


def _say(made: list[Fields], role: str, blocks: list[Fields]) -> None:
    """Roles alternate: what one side says twice is said at once."""
    shown = [block for block in blocks if block.get("text", "x").strip()]
    if made and made[-1]["role"] == role:
        made[-1]["content"] += shown
    elif shown:
        made.append({"role": role, "content": shown})


def _part(part: Part, role: str) -> Fields:
    if role == "user" and isinstance(part, ImagePart) and part.data is not None:
        return {"type": "image", "source": _source(part.mime, part.data)}
    if role == "user" and isinstance(part, FilePart) and part.data and part.mime == _PDF:
        return {"type": "document", "title": part.name, "source": _source(_PDF, part.data)}
    return {"type": "text", "text": as_text(part)}


def _source(mime: str, data: bytes) -> Fields:
    return {"type": "base64", "media_type": mime, "data": base64_of(data)}


def _asked(turn: ToolRound, ids: list[str], provider: str) -> list[Fields]:
    """Signed thoughts go back unchanged and in their places; the text where the text was."""
    text = {"type": "text", "text": turn.text}
    blocks = [
        text if block.get("type") == "text" else block
        for block in unpacked(turn.signature_for(provider))
    ]
    first = blocks.index(text) if text in blocks else len(blocks)
    kept = [b for i, b in enumerate(blocks) if b is not text or i == first]
    if first == len(blocks):
        kept.append(text)
    calls = [
        {"type": "tool_use", "id": id_, "name": call.name, "input": dict(call.args)}
        for call, id_ in zip(turn.calls, ids, strict=True)
    ]
    return [*kept, *calls]


def _answered(turn: ToolRound, ids: list[str]) -> list[Fields]:
    return [
        {"type": "tool_result", "tool_use_id": id_, "content": result.content}
        | ({"is_error": True} if result.is_error else {})
        for result, id_ in zip(turn.results, ids, strict=False)
    ]


def _sampling(request: Request) -> Fields:
    """A model that thinks refuses to be told how to sample."""
    if request.thinking is not None and not is_off(request.thinking):
        return {}
    return {"temperature": request.temperature, "top_p": request.top_p}


def _tool(tool: ToolDeclaration) -> Fields:
    schema = dict(tool.parameters)
    return {"name": tool.name, "description": tool.description, "input_schema": schema}


def _thinking(wanted: Thinking) -> Fields:
    """A level lets the model decide; a budget is a budget, on top of what the answer may take."""
    if wanted is None:
        return {}
    if is_off(wanted):
        return {"thinking": {"type": "disabled"}}
    if isinstance(wanted, int):
        budget = max(wanted, _SMALLEST_BUDGET)
        return {"thinking": {"type": "enabled", "budget_tokens": budget}, "extra": budget}
    adaptive = {"type": "adaptive", "display": "summarized"}
    return {"thinking": adaptive, "output_config": {"effort": effort(wanted)}}
