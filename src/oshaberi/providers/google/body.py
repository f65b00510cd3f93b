"""Builds a request for Gemini: one system instruction, contents of two roles, tools, a config."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from oshaberi.providers.endpoint import Endpoint
from oshaberi.providers.request.chat_dialogue import GAP, DialogueTurn, system_text, turns
from oshaberi.providers.request.context_items import FilePart, ImagePart, Part, ToolRound
from oshaberi.providers.request.model_request import Request, Thinking
from oshaberi.providers.request.part_texts import as_text
from oshaberi.providers.request.request_preparation import prepared
from oshaberi.providers.request.stop_strings import stop_strings
from oshaberi.providers.request.thinking_levels import budget, effort, is_off
from oshaberi.providers.wire.signed_blocks import unpacked

CALL, TEXT, THOUGHT = "call", "text", "thought"
"""The kinds of blocks that are kept for the next round."""

MOST_STOP_STRINGS = 5
_READABLE = ("application/pdf", "audio/", "video/", "image/")
_VERSION = re.compile(r"gemini-(\d+)")

Content = dict[str, Any]


async def arguments(request: Request, endpoint: Endpoint) -> dict[str, Any]:
    """What `generate_content_stream` is called with."""
    ready = await prepared(request, endpoint)
    config = _config(ready, endpoint) | dict(ready.extra)
    return {"model": endpoint.model, "contents": _contents(ready, endpoint), "config": config}


def _config(request: Request, endpoint: Endpoint) -> dict[str, Any]:
    most = endpoint.max_stop_strings or MOST_STOP_STRINGS
    config = {
        "system_instruction": system_text(request.items) or None,
        "temperature": request.temperature,
        "top_p": request.top_p,
        "max_output_tokens": request.max_output_tokens,
        "stop_sequences": list(stop_strings(request, (), most)) or None,
        "thinking_config": _thinking(request.thinking, endpoint),
        "tools": _tools(request) or None,
        "automatic_function_calling": {"disable": True},
    }
    return {key: value for key, value in config.items() if value is not None}


def _thinking(thinking: Thinking, endpoint: Endpoint) -> dict[str, Any] | None:
    """Until Gemini 2.5 a budget, after it a level; a number is always a budget."""
    if thinking is None:
        return None
    shown = {"include_thoughts": not is_off(thinking)}
    version = _VERSION.search(endpoint.model)
    by_budget = version is not None and int(version[1]) < 3
    style = endpoint.quirks.get("thinking", "budget" if by_budget else "level")
    if isinstance(thinking, int) or style == "budget":
        return shown | {"thinking_budget": budget(thinking)}
    return shown | {"thinking_level": (effort(thinking) or "minimal").upper()}


def _tools(request: Request) -> list[dict[str, Any]]:
    declared = [
        {
            "name": tool.name,
            "description": tool.description,
            "parameters_json_schema": dict(tool.parameters),
        }
        for tool in request.tools
    ]
    return [{"function_declarations": declared}] if declared else []


def _contents(request: Request, endpoint: Endpoint) -> list[Content]:
    made: list[Content] = []
    for turn in turns(request.items, user_first=True):
        if isinstance(turn, DialogueTurn):
            role = "user" if turn.role == "user" else "model"
            _say(made, role, [_part(part) for part in turn.parts])
        else:
            _say(made, "model", _asked(turn, endpoint.name))
            _say(made, "user", _answered(turn))
    if not made:
        _say(made, "user", [{"text": GAP}])
    if request.prefill:
        _say(made, "model", [{"text": request.prefill}])
    return made


def _say(made: list[Content], role: str, parts: list[Content]) -> None:
    """A call must follow a user's turn: what the model said before it belongs to the same turn.

    Results stay apart from what a user says after them: they are counted against the calls.
    """
    if role == "model" and made and made[-1]["role"] == role:
        made[-1]["parts"] += parts
    else:
        made.append({"role": role, "parts": parts})


def _part(part: Part) -> Content:
    """Bytes that Gemini can look at or listen to; everything else as text."""
    if isinstance(part, ImagePart | FilePart) and part.data and part.mime.startswith(_READABLE):
        return {"inline_data": {"data": part.data, "mime_type": part.mime}}
    return {"text": as_text(part)}


# -- tool history --------------------------------------------------------------------------------


def _asked(item: ToolRound, provider: str) -> list[Content]:
    """What the model did, with its own signatures where they were."""
    blocks = unpacked(item.signature_for(provider))
    parts = [_signed({"text": b["text"], "thought": True}, b) for b in _of(blocks, THOUGHT)]
    if item.text:
        parts.append(_signed({"text": item.text}, *_of(blocks, TEXT)[-1:]))
    signed = _of(blocks, CALL)
    for number, call in enumerate(item.calls):
        made = {"name": call.name, "args": dict(call.args)} | ({"id": call.id} if call.id else {})
        parts.append(_signed({"function_call": made}, *signed[number : number + 1]))
    return parts


def _of(blocks: Sequence[Mapping[str, Any]], kind: str) -> list[Mapping[str, Any]]:
    return [block for block in blocks if block.get("kind") == kind]


def _signed(part: Content, *blocks: Mapping[str, Any]) -> Content:
    for block in blocks:
        if block.get("signature"):
            part["thought_signature"] = base64.b64decode(block["signature"], altchars=b"-_")
    return part


def _answered(item: ToolRound) -> list[Content]:
    results = []
    for call, result in zip(item.calls, item.results, strict=False):
        said = {"error": result.content} if result.is_error else _answer(result.content)
        answered = {"name": call.name, "response": said} | ({"id": call.id} if call.id else {})
        results.append({"function_response": answered})
    return results


def _answer(content: str) -> dict[str, Any]:
    """A JSON object as it is; anything else under `output`, as Gemini expects."""
    try:
        read = json.loads(content)
    except ValueError:
        return {"output": content}
    return read if isinstance(read, dict) else {"output": read}
