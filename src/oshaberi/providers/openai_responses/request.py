"""A request body for the Responses API."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from oshaberi.chunks import ToolCall
from oshaberi.providers.capabilities.model_capabilities import ModelCapabilities
from oshaberi.providers.openai_chat.request import cache_mark
from oshaberi.providers.request.dialogue import (
    DialogueTurn,
    as_text,
    base64_of,
    stable_end,
    system_text,
    turns,
)
from oshaberi.providers.request.model_request import (
    Endpoint,
    FilePart,
    ImagePart,
    Part,
    Request,
    Thinking,
    ToolDeclaration,
    ToolRound,
)
from oshaberi.providers.request.parameters import (
    CallIds,
    is_off,
    known_capabilities,
    nearest_level,
    output_tokens,
    sampling,
)
from oshaberi.providers.request.strict_schemas import strict_schema
from oshaberi.providers.wire.signed_blocks import unpacked

# The fields that tell OpenAI's models how much to reason, and to return their reasoning.


Fields = dict[str, Any]

ENCRYPTED = "reasoning.encrypted_content"
_REASONING = re.compile(r"(?:^|/|\.)(?:o[1-9]|gpt-(?:[5-9]|oss)|codex|computer-use)(?!.*-chat)")


def reasons(model: str) -> bool:
    """Return whether a model is one of OpenAI's reasoning models, by its name."""
    return _REASONING.search(model) is not None


def include(endpoint: Endpoint) -> list[str] | None:
    """Ask for encrypted reasoning, except from models that do not reason: they refuse that."""
    wanted = endpoint.quirks.get("encrypted_reasoning", reasons(endpoint.model))
    return [ENCRYPTED] if wanted else None


def reasoning(wanted: Thinking, capabilities: ModelCapabilities) -> Fields | None:
    """Return a level and a request for a summary; None if the model decides."""
    level = nearest_level(wanted, capabilities.levels)
    if level is None or capabilities.thinking == "none":
        return None
    return {"effort": level} if is_off(wanted) else {"effort": level, "summary": "auto"}


# Builds a request body for the Responses API.
#
# Nothing is stored at the API. The model's own reasoning goes back to it in encrypted form, with
# the results of its calls.


FAMILY = "openai-responses"
_PDF = "application/pdf"


def body(
    request: Request, endpoint: Endpoint, capabilities: ModelCapabilities | None = None
) -> Fields:
    """Return the JSON of the request, mandatory keys first. The API takes no stop strings."""
    known = capabilities or known_capabilities(endpoint, FAMILY)
    made: Fields = {
        "model": endpoint.model,
        "input": input_items(request, endpoint, known),
        "stream": True,
        "store": False,
    }
    optional: Fields = {
        "include": include(endpoint),
        "tools": [*(_tool(one, known) for one in request.tools), *_own_tools(request)] or None,
        "max_output_tokens": output_tokens(request, known),
        "reasoning": reasoning(request.thinking, known),
        **sampling(request, known),
    }
    made.update({key: value for key, value in optional.items() if value is not None})
    made.update(endpoint.quirks.get("body", {}))
    made.update(request.extra)
    return made


def input_items(
    request: Request, endpoint: Endpoint, capabilities: ModelCapabilities
) -> list[Fields]:
    """Return the conversation, without a prefill: the model would not continue it."""
    made: list[Fields] = []
    ids = CallIds(endpoint, capabilities)
    system = system_text(request.items)
    mark = cache_mark(request, endpoint, capabilities)
    if system:
        marked: list[Fields] = [{"type": "input_text", "text": system, **mark}]
        made.append(_message("system", marked if mark else system))
    stable = stable_end(request.items) if mark else 0
    for turn in turns(request.items, stable=stable):
        if isinstance(turn, DialogueTurn):
            # In parts: what the next request adds must not change what was cached.
            in_parts = bool(mark) and turn.role == "user"
            content = [_part(part) for part in turn.parts] if in_parts else _content(turn)
            made.append(_message(turn.role, content))
            if turn.ends_stable:
                _mark_last(made, mark)
        else:
            made += _round(turn, ids.of(turn), turn.signature_for(endpoint.name, endpoint.model))
    return made


# -- parts ---------------------------------------------------------------------------------------


def _message(role: str, content: str | list[Fields]) -> Fields:
    """Return a message with its type: llama.cpp takes no item without one."""
    return {"type": "message", "role": role, "content": content}


def _mark_last(made: Sequence[Fields], mark: Fields) -> None:
    """Mark the last text of a user: only the input can be marked."""
    said = [one for one in made if one.get("role") == "user"]
    parts = [part for one in said for part in one["content"]]
    texts = [part for part in parts if part["type"] == "input_text"]
    for part in texts[-1:]:
        part.update(mark)


def _content(turn: DialogueTurn) -> str | list[Fields]:
    """Return plain text if all of it is text."""
    parts = [_part(part) for part in turn.parts]
    if turn.role == "assistant" or all(part["type"] == "input_text" for part in parts):
        return "\n".join(map(as_text, turn.parts))
    return parts


def _part(part: Part) -> Fields:
    if isinstance(part, ImagePart) and part.data is not None:
        url = _data_url(part.mime, part.data)
        return {"type": "input_image", "image_url": url, "detail": "auto"}
    if isinstance(part, FilePart) and part.data and part.mime == _PDF:
        url = _data_url(_PDF, part.data)
        return {"type": "input_file", "filename": part.name, "file_data": url}
    return {"type": "input_text", "text": as_text(part)}


def _data_url(mime: str, data: bytes) -> str:
    return f"data:{mime};base64,{base64_of(data)}"


def _own_tools(request: Request) -> list[Fields]:
    """Return the tools that the API runs itself."""
    search = [{"type": "web_search"}] if request.search else []
    return [*search, {"type": "image_generation"}] if request.pictures else [*search]


def _tool(tool: ToolDeclaration, capabilities: ModelCapabilities) -> Fields:
    """Declare a tool. By default this API would enforce the schema, which works for few schemas."""
    enforced = strict_schema(tool, capabilities, all_required=True) if tool.strict else None
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": enforced or dict(tool.parameters),
        "strict": enforced is not None,
    }


# -- tool history --------------------------------------------------------------------------------


def _round(turn: ToolRound, ids: list[str], signature: str | None) -> list[Fields]:
    """Return what the model did, in its order, and the results."""
    calls = iter([_call(call, id_) for call, id_ in zip(turn.calls, ids, strict=True)])
    texts = iter([_message("assistant", turn.text)] if turn.text.strip() else [])
    made: list[Fields] = []
    for block in unpacked(signature):
        match block.get("type"):
            case "reasoning":
                made.append(block)
            case "message":
                phase = {"phase": block["phase"]} if "phase" in block else {}
                made += [{**text, **phase} for text in _next(texts)]
            case "function_call":
                made += _next(calls)
            case str(kind) if kind.endswith("_call"):
                made.append(block)
    results = [
        {"type": "function_call_output", "call_id": id_, "output": result.content}
        for result, id_ in zip(turn.results, ids, strict=False)
    ]
    return [*made, *texts, *calls, *results]


def _next(items: Iterator[Fields]) -> list[Fields]:
    return [item for item in (next(items, None),) if item is not None]


def _call(call: ToolCall, id_: str) -> Fields:
    arguments = json.dumps(dict(call.args), ensure_ascii=False)
    return {"type": "function_call", "call_id": id_, "name": call.name, "arguments": arguments}


# -- refusals ------------------------------------------------------------------------------------


def without_reasoning_items(wanted: Mapping[str, Any]) -> Fields | None:
    """Return the request without earlier reasoning; None if there is none in it."""
    items = [item for item in wanted["input"] if item.get("type") != "reasoning"]
    return None if len(items) == len(wanted["input"]) else {**wanted, "input": items}


def without_summary(wanted: Mapping[str, Any]) -> Fields | None:
    """Return the request without a reasoning summary; None if it asks for none."""
    asked = wanted.get("reasoning") or {}
    if "summary" not in asked:
        return None
    rest = {name: value for name, value in asked.items() if name != "summary"}
    return {**wanted, "reasoning": rest}
