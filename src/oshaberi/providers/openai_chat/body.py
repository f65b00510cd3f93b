"""Builds a request body for an OpenAI-compatible API. Presets say what differs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from oshaberi.chunks import ToolCall
from oshaberi.providers.endpoint import Endpoint
from oshaberi.providers.request.chat_dialogue import DialogueTurn, system_text, turns
from oshaberi.providers.request.context_items import ImagePart, Part, ToolDeclaration, ToolRound
from oshaberi.providers.request.model_request import Request, Thinking
from oshaberi.providers.request.part_texts import as_text, base64_of
from oshaberi.providers.request.stop_strings import stop_strings
from oshaberi.providers.request.thinking_levels import effort, is_off
from oshaberi.providers.wire.signed_blocks import unpacked

Fields = dict[str, Any]


def body(request: Request, endpoint: Endpoint) -> Fields:
    """The JSON of the request, mandatory keys first."""
    quirks = endpoint.quirks
    made: Fields = {
        "model": endpoint.model,
        "messages": messages(request, endpoint),
        "stream": True,
    }
    if not quirks.get("no_stream_options"):
        made["stream_options"] = {"include_usage": True}
    if request.tools:
        made["tools"] = [_tool(tool) for tool in request.tools]
    stops = stop_strings(request, (), endpoint.max_stop_strings)
    optional: Fields = {
        "stop": list(stops) or None,
        quirks.get("max_tokens", "max_tokens"): request.max_output_tokens,
        "temperature": request.temperature,
        "top_p": request.top_p,
        **thinking(request.thinking, str(quirks.get("thinking", "effort"))),
    }
    made.update({key: value for key, value in optional.items() if value is not None})
    made.update(quirks.get("body", {}))
    made.update(request.extra)
    return made


def messages(request: Request, endpoint: Endpoint) -> list[Fields]:
    made: list[Fields] = []
    system = system_text(request.items)
    if system:
        made.append({"role": "system", "content": system})
    user_first = bool(endpoint.quirks.get("user_first"))
    for number, turn in enumerate(turns(request.items, user_first=user_first)):
        if isinstance(turn, DialogueTurn):
            made.append({"role": turn.role, "content": _content(turn)})
        else:
            made += _round(turn, number, endpoint)
    if request.prefill and "prefill" in endpoint.quirks:
        prefix: Fields = {"role": "assistant", "content": request.prefill}
        made.append(prefix | endpoint.quirks["prefill"])
    return made


def _content(turn: DialogueTurn) -> str | list[Fields]:
    """Plain text where it is all text: the oldest servers know nothing else."""
    if turn.role == "assistant" or not any(isinstance(part, ImagePart) for part in turn.parts):
        return "\n".join(map(as_text, turn.parts))
    return [_part(part) for part in turn.parts]


def _part(part: Part) -> Fields:
    if isinstance(part, ImagePart) and part.data is not None:
        url = f"data:{part.mime};base64,{base64_of(part.data)}"
        return {"type": "image_url", "image_url": {"url": url}}
    return {"type": "text", "text": as_text(part)}


def _round(turn: ToolRound, number: int, endpoint: Endpoint) -> list[Fields]:
    """A call with its results, as a pair of messages."""
    ids = [call.id or f"call{number:04}{i:04}" for i, call in enumerate(turn.calls)]
    asked: Fields = {
        "role": "assistant",
        "content": turn.text or None,
        "tool_calls": [_call(call, id_) for call, id_ in zip(turn.calls, ids, strict=True)],
        **_kept(turn.signature_for(endpoint.name)),
    }
    results = zip(turn.results, ids, strict=False)
    return [
        asked,
        *({"role": "tool", "tool_call_id": id_, "content": r.content} for r, id_ in results),
    ]


def _call(call: ToolCall, id_: str) -> Fields:
    arguments = json.dumps(dict(call.args), ensure_ascii=False)
    function = {"name": call.name, "arguments": arguments}
    return {"id": id_, "type": "function", "function": function}


def _kept(signature: str | None) -> Fields:
    """Reasoning that the API wants back: a field of its own, or a list of details."""
    fields: Fields = {}
    details = []
    for block in unpacked(signature):
        if "type" in block:
            details.append(block)
        else:
            fields.update(block)
    return fields | ({"reasoning_details": details} if details else {})


def _tool(tool: ToolDeclaration) -> Fields:
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": dict(tool.parameters),
    }
    return {"type": "function", "function": function}


def thinking(wanted: Thinking, style: str) -> Fields:
    """The level as this server wants to hear it; nothing if it is left to the model."""
    return {} if wanted is None else _STYLES[style](wanted)


def _effort(wanted: Thinking) -> Fields:
    return {"reasoning_effort": "none" if is_off(wanted) else effort(wanted)}


def _openrouter(wanted: Thinking) -> Fields:
    if is_off(wanted):
        return {"reasoning": {"enabled": False}}
    exact = isinstance(wanted, int)
    return {"reasoning": {"max_tokens": wanted} if exact else {"effort": wanted}}


def _switch(wanted: Thinking) -> Fields:
    return {"thinking": {"type": "disabled" if is_off(wanted) else "enabled"}}


def _template(*names: str) -> Callable[[Thinking], Fields]:
    def made(wanted: Thinking) -> Fields:
        return {"chat_template_kwargs": dict.fromkeys(names, not is_off(wanted))}

    return made


_STYLES: Mapping[str, Callable[[Thinking], Fields]] = {
    "effort": _effort,
    "openrouter": _openrouter,
    "switch": _switch,
    "enable_thinking": _template("enable_thinking"),
    "template_thinking": _template("thinking", "enable_thinking"),
    "none": lambda _wanted: {},
}
