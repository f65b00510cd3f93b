"""A request body for an OpenAI-compatible API. Presets list the differences."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from oshaberi.chunks import ToolCall
from oshaberi.providers.capabilities.model_capabilities import ModelCapabilities
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
    most_stop_strings,
    nearest_level,
    output_tokens,
    sampling,
    stop_strings,
)
from oshaberi.providers.request.strict_schemas import strict_schema
from oshaberi.providers.wire.signed_blocks import unpacked

# The fields that tell an OpenAI-compatible server how much to think.


Fields = dict[str, Any]
Say = Callable[[Thinking, ModelCapabilities], Fields]


def thinking_fields(request: Request, capabilities: ModelCapabilities, style: str) -> Fields:
    """Return the fields; none if the model decides itself, or takes no such setting."""
    if capabilities.thinking == "none":
        return {}
    wanted = request.thinking
    if request.tools and not capabilities.tools_with_effort:
        # It may think by itself, and then refuses the tools: it is told not to.
        wanted = "off" if capabilities.can_be_off else None
    return {} if wanted is None else _STYLES[style](wanted, capabilities)


def _effort(wanted: Thinking, capabilities: ModelCapabilities) -> Fields:
    return {"reasoning_effort": nearest_level(wanted, capabilities.levels)}


def _openrouter(wanted: Thinking, capabilities: ModelCapabilities) -> Fields:
    if is_off(wanted) and capabilities.can_be_off:
        return {"reasoning": {"enabled": False}}
    if isinstance(wanted, int) and wanted:
        return {"reasoning": {"max_tokens": wanted}}
    return {"reasoning": {"effort": nearest_level(wanted, capabilities.levels)}}


def _switch(wanted: Thinking, capabilities: ModelCapabilities) -> Fields:
    if is_off(wanted) and not capabilities.can_be_off:
        return {}
    return {"thinking": {"type": "disabled" if is_off(wanted) else "enabled"}}


def _template(*names: str) -> Say:
    def made(wanted: Thinking, _capabilities: ModelCapabilities) -> Fields:
        return {"chat_template_kwargs": dict.fromkeys(names, not is_off(wanted))}

    return made


_STYLES: Mapping[str, Say] = {
    "effort": _effort,
    "openrouter": _openrouter,
    "switch": _switch,
    "enable_thinking": _template("enable_thinking"),
    "template_thinking": _template("thinking", "enable_thinking"),
    "none": lambda _wanted, _capabilities: {},
}


# Builds a request body for an OpenAI-compatible API. Presets list the differences.


FAMILY = "openai"
CALL_EXTRA = "call_extra"
"""The type of a kept block with what Google's API adds to a call (`extra_content`)."""
THINKING_BLOCKS = frozenset({"thinking", "redacted_thinking"})
"""The types of blocks that LiteLLM passes on from Anthropic."""


def body(
    request: Request, endpoint: Endpoint, capabilities: ModelCapabilities | None = None
) -> Fields:
    """Return the JSON of the request, mandatory keys first."""
    known = capabilities or known_capabilities(endpoint, FAMILY)
    quirks = endpoint.quirks
    made: Fields = {
        "model": endpoint.model,
        "messages": messages(request, endpoint, known),
        "stream": True,
    }
    if not quirks.get("no_stream_options"):
        made["stream_options"] = {"include_usage": True}
    if request.tools:
        made["tools"] = [_tool(tool, known) for tool in request.tools]
    stops = stop_strings(request, (), most_stop_strings(endpoint, known))
    limit = known.limit_field or quirks.get("max_tokens", "max_tokens")
    optional: Fields = {
        "stop": list(stops) or None,
        limit: output_tokens(request, known),
        **_search(request, str(quirks.get("search", ""))),
        "modalities": ["image", "text"] if request.pictures and quirks.get("gateway") else None,
        **sampling(request, known),
        **thinking_fields(request, known, str(quirks.get("thinking", "effort"))),
    }
    made.update({key: value for key, value in optional.items() if value is not None})
    made.update(quirks.get("body", {}))
    made.update(request.extra)
    return made


# Models that cache only what a request marks, or cache it better. All others need no marks.


_MARKED_BY_OPENAI = re.compile(r"gpt-(?:5\.[6-9]|[6-9])")
_OPENAI = frozenset({"openai", "openai-chat", "openai-responses"})
_CLAUDE = re.compile(r"(?:^|/|\.)claude-")


def cache_mark(request: Request, endpoint: Endpoint, capabilities: ModelCapabilities) -> Fields:
    """Return the field that marks the end of what is to be cached; none if nothing is marked."""
    if request.cache == "off" or not capabilities.cache_marks:
        return {}
    if endpoint.quirks.get("gateway") and _CLAUDE.search(endpoint.model):
        longer = {"ttl": request.cache} if request.cache != "5m" else {}
        return {"cache_control": {"type": "ephemeral", **longer}}
    is_openai = endpoint.is_known_server and endpoint.name in _OPENAI
    if is_openai and _MARKED_BY_OPENAI.match(endpoint.model):
        return {"prompt_cache_breakpoint": {"mode": "explicit"}}
    return {}


def _search(request: Request, style: str) -> Fields:
    """Return the field that switches the server's own web search, if it has one."""
    match style:
        case "plugin":
            return {"plugins": [{"id": "web"}]} if request.search else {}
        case "always":
            return {} if request.search else {"disable_search": True}
        case _:
            return {}


def messages(request: Request, endpoint: Endpoint, capabilities: ModelCapabilities) -> list[Fields]:
    made: list[Fields] = []
    ids = CallIds(endpoint, capabilities)
    mark = cache_mark(request, endpoint, capabilities)
    system = system_text(request.items)
    if system:
        marked = [{"type": "text", "text": system, **mark}]
        made.append({"role": "system", "content": marked if mark else system})
    stable = stable_end(request.items) if mark else 0
    user_first = bool(endpoint.quirks.get("user_first"))
    for turn in turns(request.items, user_first=user_first, stable=stable):
        if isinstance(turn, DialogueTurn):
            # In parts: what the next request adds must not change what was cached.
            in_parts = bool(mark) and turn.role == "user"
            content = [_part(part) for part in turn.parts] if in_parts else _content(turn)
            made.append({"role": turn.role, "content": content})
            if turn.ends_stable:
                _mark_last(made, mark)
        else:
            made += _round(turn, ids.of(turn), endpoint, capabilities)
    if request.prefill and "prefill" in endpoint.quirks and capabilities.prefill:
        prefix: Fields = {"role": "assistant", "content": request.prefill}
        made.append(prefix | endpoint.quirks["prefill"])
    return made


def _mark_last(made: Sequence[Fields], mark: Fields) -> None:
    """Mark the last text of a user, which every API of this family accepts."""
    parts = [part for one in made if one["role"] == "user" for part in one["content"]]
    texts = [part for part in parts if part["type"] == "text"]
    for part in texts[-1:]:
        part.update(mark)


def _content(turn: DialogueTurn) -> str | list[Fields]:
    """Return plain text if there is only text: the oldest servers accept nothing else."""
    if turn.role == "assistant" or not any(isinstance(part, ImagePart) for part in turn.parts):
        return "\n".join(map(as_text, turn.parts))
    return [_part(part) for part in turn.parts]


def _part(part: Part) -> Fields:
    if isinstance(part, ImagePart) and part.data is not None:
        url = f"data:{part.mime};base64,{base64_of(part.data)}"
        return {"type": "image_url", "image_url": {"url": url}}
    return {"type": "text", "text": as_text(part)}


def _round(
    turn: ToolRound, ids: list[str], endpoint: Endpoint, capabilities: ModelCapabilities
) -> list[Fields]:
    """Return tool calls and their results as messages."""
    calls = [_call(call, id_) for call, id_ in zip(turn.calls, ids, strict=True)]
    for block in unpacked(turn.signature_for(endpoint.name, endpoint.model)):
        if block.get("type") == CALL_EXTRA and block["call"] < len(calls):
            calls[block["call"]]["extra_content"] = block["extra_content"]
    asked: Fields = {
        "role": "assistant",
        "content": turn.text or None,
        "tool_calls": calls,
        **_reasoning(turn, endpoint, capabilities),
    }
    results = zip(turn.results, ids, strict=False)
    return [
        asked,
        *({"role": "tool", "tool_call_id": id_, "content": r.content} for r, id_ in results),
    ]


def _reasoning(turn: ToolRound, endpoint: Endpoint, capabilities: ModelCapabilities) -> Fields:
    """Return the model's own reasoning, or a placeholder if the API requires some."""
    own = _kept(turn.signature_for(endpoint.name, endpoint.model))
    if own or not (capabilities.reasoning_with_calls or endpoint.quirks.get("keeps_reasoning")):
        return own
    # An empty text is refused, too.
    return {"reasoning_content": " "}


def _call(call: ToolCall, id_: str) -> Fields:
    arguments = json.dumps(dict(call.args), ensure_ascii=False)
    function = {"name": call.name, "arguments": arguments}
    return {"id": id_, "type": "function", "function": function}


def _kept(signature: str | None) -> Fields:
    """Return the reasoning that the API wants back: special fields, or a list of details."""
    fields: Fields = {}
    for block in unpacked(signature):
        kind = str(block.get("type", ""))
        if not kind:
            fields.update(block)
        elif kind.startswith("reasoning."):
            # Blocks of another API with the same name have other types.
            fields.setdefault("reasoning_details", []).append(block)
        elif kind in THINKING_BLOCKS:
            fields.setdefault("thinking_blocks", []).append(block)
    return fields


def _tool(tool: ToolDeclaration, capabilities: ModelCapabilities) -> Fields:
    enforced = strict_schema(tool, capabilities, all_required=True) if tool.strict else None
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": enforced or dict(tool.parameters),
        **({"strict": True} if enforced else {}),
    }
    return {"type": "function", "function": function}
