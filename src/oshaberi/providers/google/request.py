"""A request for Gemini: one system instruction, contents of two roles, tools, a config."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from oshaberi.checked_json import parse_json
from oshaberi.providers.capabilities.model_capabilities import ModelCapabilities
from oshaberi.providers.request.dialogue import GAP, DialogueTurn, as_text, system_text, turns
from oshaberi.providers.request.model_request import (
    Endpoint,
    FilePart,
    ImagePart,
    Part,
    Request,
    Thinking,
    ToolRound,
)
from oshaberi.providers.request.parameters import (
    budget,
    is_off,
    known_capabilities,
    most_stop_strings,
    nearest_level,
    output_tokens,
    sampling,
    stop_strings,
)
from oshaberi.providers.request.preparation import SEARCH_OR_TOOLS, prepared, without_tools
from oshaberi.providers.request.strict_schemas import strict_schema
from oshaberi.providers.wire.signed_blocks import unpacked

# The fields that tell Gemini how much to think: a budget up to Gemini 2.5, else a level.


def thinking_config(
    thinking: Thinking, endpoint: Endpoint, capabilities: ModelCapabilities
) -> dict[str, Any] | None:
    """Return the `thinking_config`; None if the model decides."""
    style = endpoint.quirks.get("thinking", capabilities.thinking)
    if thinking is None or style == "none":
        return None
    shown = {"include_thoughts": not is_off(thinking)}
    if style == "budget":
        return shown | {"thinking_budget": _budget(thinking, capabilities)}
    return shown | {"thinking_level": str(nearest_level(thinking, capabilities.levels)).upper()}


def _budget(thinking: Thinking, capabilities: ModelCapabilities) -> int:
    if is_off(thinking) and capabilities.off is not None:
        return 0
    wanted = max(budget(thinking) or 0, capabilities.smallest_budget)
    most = capabilities.largest_budget
    return wanted if most is None else min(wanted, most)


# Builds a request for Gemini: one system instruction, contents of two roles, tools, a config.


CALL, TEXT, THOUGHT, OWN = "call", "text", "thought", "own"
"""The kinds of blocks that are kept for the next round."""

FAMILY = "google"
MOST_STOP_STRINGS = 5
NO_SIGNATURE = b"skip_thought_signature_validator"
"""Replaces the signature of a call that another model made; Gemini 3 refuses calls without one."""

_READABLE = ("application/pdf", "audio/", "video/", "image/")

Content = dict[str, Any]


async def arguments(
    request: Request, endpoint: Endpoint, capabilities: ModelCapabilities | None = None
) -> dict[str, Any]:
    """Return the arguments of `generate_content_stream`."""
    known = capabilities or known_capabilities(endpoint, FAMILY)
    ready = await prepared(request, endpoint, known)
    if ready.search and ready.tools and not known.search_with_tools:
        ready = without_tools(ready, endpoint, known, SEARCH_OR_TOOLS)
    config = _config(ready, endpoint, known) | dict(ready.extra)
    contents = _contents(ready, endpoint, known)
    return {"model": endpoint.model, "contents": contents, "config": config}


def _config(
    request: Request, endpoint: Endpoint, capabilities: ModelCapabilities
) -> dict[str, Any]:
    most = most_stop_strings(endpoint, capabilities)
    stops = stop_strings(request, (), MOST_STOP_STRINGS if most is None else most)
    config = {
        "system_instruction": system_text(request.items) or None,
        "max_output_tokens": output_tokens(request, capabilities),
        "stop_sequences": list(stops) or None,
        "thinking_config": thinking_config(request.thinking, endpoint, capabilities),
        **_tools(request, capabilities),
        "automatic_function_calling": {"disable": True},
        "response_modalities": ["TEXT", "IMAGE"] if request.pictures else None,
        **sampling(request, capabilities),
    }
    return {key: value for key, value in config.items() if value is not None}


def _tools(request: Request, capabilities: ModelCapabilities) -> dict[str, Any]:
    """Return Google's search and our tools; only the search if the model refuses both."""
    declared = _declarations(request)
    enforced = _enforced(request, capabilities)
    if not request.search:
        return {"tools": declared or None, "tool_config": enforced or None}
    search: dict[str, Any] = {"google_search": {}}
    if not declared:
        return {"tools": [search]}
    both = {"include_server_side_tool_invocations": True}
    return {"tools": [search, *declared], "tool_config": {**both, **enforced}}


def _enforced(request: Request, capabilities: ModelCapabilities) -> dict[str, Any]:
    """Make calls follow the schemas.

    This applies to all tools at once, so all of them must want it.
    """
    if not request.tools or not all(tool.strict for tool in request.tools):
        return {}
    if None in [strict_schema(tool, capabilities) for tool in request.tools]:
        return {}
    return {"function_calling_config": {"mode": "VALIDATED"}}


def _declarations(request: Request) -> list[dict[str, Any]]:
    declared = [
        {
            "name": tool.name,
            "description": tool.description,
            "parameters_json_schema": dict(tool.parameters),
        }
        for tool in request.tools
    ]
    return [{"function_declarations": declared}] if declared else []


def _contents(
    request: Request, endpoint: Endpoint, capabilities: ModelCapabilities
) -> list[Content]:
    made: list[Content] = []
    for turn in turns(request.items, user_first=True):
        if isinstance(turn, DialogueTurn):
            role = "user" if turn.role == "user" else "model"
            _say(made, role, [_part(part) for part in turn.parts])
        else:
            own = turn.provider is None or turn.is_of(endpoint.name, endpoint.model)
            named = turn if own else _without_ids(turn)
            _say(made, "model", _asked(named, endpoint, capabilities))
            _say(made, "user", _answered(named))
    if not made:
        _say(made, "user", [{"text": GAP}])
    if request.prefill and capabilities.prefill:
        _say(made, "model", [{"text": request.prefill}])
    return made


def _say(made: list[Content], role: str, parts: list[Content]) -> None:
    """Add parts. Parts of the model are joined, since a call must follow a user's turn.

    Tool results stay apart from what a user says after them: Gemini compares their number with that
    of the calls.
    """
    if role == "model" and made and made[-1]["role"] == role:
        made[-1]["parts"] += parts
    else:
        made.append({"role": role, "parts": parts})


def _part(part: Part) -> Content:
    """Return bytes as data if Gemini can read their type, everything else as text."""
    if isinstance(part, ImagePart | FilePart) and part.data and part.mime.startswith(_READABLE):
        return {"inline_data": {"data": part.data, "mime_type": part.mime}}
    return {"text": as_text(part)}


# -- tool history --------------------------------------------------------------------------------


def _without_ids(turn: ToolRound) -> ToolRound:
    """Remove the call ids: Gemini uses the order, and knows only its own ids."""
    return replace(turn, calls=tuple(replace(call, id=None) for call in turn.calls))


def _asked(item: ToolRound, endpoint: Endpoint, capabilities: ModelCapabilities) -> list[Content]:
    """Return the model's thoughts, text and calls, each with its own signature."""
    blocks = unpacked(item.signature_for(endpoint.name, endpoint.model))
    parts = [_signed({"text": b["text"], "thought": True}, b) for b in _of(blocks, THOUGHT)]
    parts += [dict(block["part"]) for block in _of(blocks, OWN)]
    if item.text:
        parts.append(_signed({"text": item.text}, *_of(blocks, TEXT)[-1:]))
    signed = _of(blocks, CALL)
    calls = []
    for number, call in enumerate(item.calls):
        made = {"name": call.name, "args": dict(call.args)} | ({"id": call.id} if call.id else {})
        calls.append(_signed({"function_call": made}, *signed[number : number + 1]))
    if calls and capabilities.signs_calls and not blocks:
        calls[0]["thought_signature"] = NO_SIGNATURE
    return parts + calls


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
    """Return a JSON object as it is; anything else under `output`, as Gemini expects."""
    try:
        read = parse_json(content)
    except ValueError:
        return {"output": content}
    return read if isinstance(read, dict) else {"output": read}
