"""A request body for Anthropic's Messages API."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from oshaberi.checked_json import parse_json
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
    CacheTime,
    Endpoint,
    FilePart,
    ImagePart,
    Item,
    Part,
    Request,
    Thinking,
    ToolDeclaration,
    ToolRound,
)
from oshaberi.providers.request.parameters import (
    CallIds,
    budget,
    is_off,
    known_capabilities,
    most_stop_strings,
    nearest_level,
    output_tokens,
    sampling,
    stop_strings,
)
from oshaberi.providers.request.strict_schemas import strict_schema
from oshaberi.providers.wire.signed_blocks import TEXT_BEGINS, unpacked

T = TypeVar("T")

# The fields that tell Anthropic's models how much to think: by budget, or by effort.


Fields = dict[str, Any]


def thinking_fields(wanted: Thinking, capabilities: ModelCapabilities, longest: int) -> Fields:
    """Return the fields. `longest` limits the whole output, thoughts included."""
    if wanted is None or capabilities.thinking == "none":
        return {}
    if is_off(wanted) and capabilities.off is not None:
        return {"thinking": {"type": capabilities.off}}
    if capabilities.thinking == "budget":
        return _by_budget(budget(wanted) or 0, capabilities, longest)
    effort = {"output_config": {"effort": nearest_level(wanted, capabilities.levels)}}
    if is_off(wanted):
        return effort
    return {"thinking": {"type": "adaptive", "display": "summarized"}, **effort}


def _by_budget(wanted: int, capabilities: ModelCapabilities, longest: int) -> Fields:
    """Return a budget below the limit of the whole output, as the API requires."""
    tokens = max(min(wanted, longest - 1), capabilities.smallest_budget)
    if tokens >= longest:
        return {}
    return {"thinking": {"type": "enabled", "budget_tokens": tokens}}


# Builds a request body for Anthropic's Messages API.


FAMILY = "anthropic"
INPUT_PIECES = "input_pieces"
"""The field of a kept block with the input of the API's own tool, as JSON text."""
DEFAULT_OUTPUT = 8192
SEARCH: Fields = {"type": "web_search_20250305", "name": "web_search", "max_uses": 5}
"""The API's own search, in the version that every model with a search knows."""
_WITHOUT_SEARCH = frozenset({"bedrock"})
_PDF = "application/pdf"


def body(
    request: Request, endpoint: Endpoint, capabilities: ModelCapabilities | None = None
) -> Fields:
    """Return the JSON of the request. The API requires `max_tokens`."""
    known = capabilities or known_capabilities(endpoint, FAMILY)
    if known.thinking == "budget" and _is_in_foreign_loop(request, endpoint):
        # Such a model wants its own thoughts before the calls, but these are another model's.
        request = replace(request, thinking=None)
    limited = replace(request, max_output_tokens=request.max_output_tokens or DEFAULT_OUTPUT)
    longest = output_tokens(limited, known) or DEFAULT_OUTPUT
    made: Fields = {
        "model": endpoint.model,
        "max_tokens": longest,
        "messages": messages(request, endpoint, known),
        "stream": True,
        **thinking_fields(request.thinking, known, longest),
    }
    stops = stop_strings(request, (), most_stop_strings(endpoint, known))
    mark = cache_mark(request.cache) if known.cache_marks else {}
    searches = request.search and endpoint.name not in _WITHOUT_SEARCH
    tools = [*(SEARCH for _ in range(searches)), *(_tool(one, known) for one in request.tools)]
    system = _system(request.items, mark)
    if tools and mark and not system:
        tools[-1] |= mark
    optional: Fields = {
        # The API's cache begins with the tools: a mark here covers them.
        "system": system or None,
        "tools": tools or None,
        "stop_sequences": list(stops) or None,
        **sampling(request, known),
    }
    made.update({key: value for key, value in optional.items() if value is not None})
    made.update(endpoint.quirks.get("body", {}))
    made.update(request.extra)
    return made


def _is_in_foreign_loop(request: Request, endpoint: Endpoint) -> bool:
    """Return whether the history ends with a tool round of another model."""
    last = request.items[-1] if request.items else None
    return isinstance(last, ToolRound) and not last.signature_for(endpoint.name, endpoint.model)


# Tells the API what to cache: it reads the beginning of a request from its cache only up to a mark
# of an earlier request, and looks back from a mark over a few blocks only.


LOOK_BACK = 20
"""How many blocks before a mark the API searches for an earlier mark."""


def cache_mark(wanted: CacheTime) -> Fields:
    """Return the field that marks a block; none if nothing is to be cached."""
    if wanted == "off":
        return {}
    longer = {"ttl": wanted} if wanted != "5m" else {}
    return {"cache_control": {"type": "ephemeral", **longer}}


def _mark_stable(made: Sequence[Fields], mark: Fields) -> None:
    """Mark the last of these blocks, and one as far before it as the API looks back.

    So a mark of the last request is found even if much has been said since.
    """
    blocks = [block for message in made for block in message["content"]]
    for block in (*blocks[-1:], *blocks[-LOOK_BACK : 1 - LOOK_BACK]):
        if block["type"] not in ("thinking", "redacted_thinking"):
            block.update(mark)


def _system(items: Sequence[Item], mark: Fields) -> str | list[Fields]:
    text = system_text(items)
    return [{"type": "text", "text": text, **mark}] if text and mark else text


def messages(request: Request, endpoint: Endpoint, capabilities: ModelCapabilities) -> list[Fields]:
    made: list[Fields] = []
    call_ids = CallIds(endpoint, capabilities)
    mark = cache_mark(request.cache) if capabilities.cache_marks else {}
    stable = stable_end(request.items) if mark else 0
    for turn in turns(request.items, user_first=True, stable=stable):
        if isinstance(turn, DialogueTurn):
            _say(made, turn.role, [_part(part, turn.role) for part in turn.parts])
            if turn.ends_stable:
                _mark_stable(made, mark)
        else:
            ids = call_ids.of(turn)
            _say(made, "assistant", _asked(turn, ids, endpoint))
            _say(made, "user", _answered(turn, ids))
    if request.items and isinstance(request.items[-1], ToolRound):
        # The next round begins with everything up to here.
        made[-1]["content"][-1].update(mark)
    prefill = (request.prefill or "").rstrip()
    if prefill and takes_prefill(request, capabilities):
        # Trailing whitespace is refused.
        _say(made, "assistant", [{"type": "text", "text": prefill}])
    return made


def takes_prefill(request: Request, capabilities: ModelCapabilities) -> bool:
    """Return whether the model takes a prefill. A model that is thinking takes none."""
    return capabilities.prefill and request.thinking in (None, "off")


def _say(made: list[Fields], role: str, blocks: list[Fields]) -> None:
    """Add blocks. Roles must alternate, so two turns of one role are joined."""
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


def _asked(turn: ToolRound, ids: list[str], endpoint: Endpoint) -> list[Fields]:
    """Return the model's blocks in their order: signed ones and those of the API's own tools
    unchanged, its text and its calls where they stood."""
    blocks = unpacked(turn.signature_for(endpoint.name, endpoint.model))
    texts = iter(_texts(turn.text, [b[TEXT_BEGINS] for b in blocks if TEXT_BEGINS in b]))
    calls = iter(
        [
            {"type": "tool_use", "id": id_, "name": call.name, "input": dict(call.args)}
            for call, id_ in zip(turn.calls, ids, strict=True)
        ]
    )
    made: list[Fields] = []
    for block in blocks:
        match block.get("type"):
            case "text":
                made += [{"type": "text", "text": text} for text in _next(texts)]
            case "tool_use":
                made += [call | block for call in _next(calls)]
            case _:
                made.append(_own_tool(block))
    return [*made, *({"type": "text", "text": text} for text in texts), *calls]


def _texts(text: str, begins: list[int]) -> list[str]:
    """Cut the text of an answer where its blocks began, or nowhere if that is unknown."""
    encoded = text.encode()
    if not begins or begins != sorted(begins) or begins[0] or begins[-1] > len(encoded):
        return [text]
    ends = [*begins[1:], len(encoded)]
    pieces = [encoded[a:b] for a, b in zip(begins, ends, strict=True)]
    try:
        return [piece.decode() for piece in pieces]
    except UnicodeDecodeError:
        return [text]


def _next(items: Iterator[T]) -> list[T]:
    return [item for item in (next(items, None),) if item is not None]


def _own_tool(block: Fields) -> Fields:
    """Return a block with its input as JSON: a call of the API's own tool comes in pieces."""
    pieces = block.get(INPUT_PIECES)
    if pieces is None:
        return block
    rest = {name: value for name, value in block.items() if name != INPUT_PIECES}
    try:
        return rest | {"input": parse_json(pieces)}
    except ValueError:
        return rest


def _answered(turn: ToolRound, ids: list[str]) -> list[Fields]:
    return [
        {"type": "tool_result", "tool_use_id": id_, "content": result.content}
        | ({"is_error": True} if result.is_error else {})
        for result, id_ in zip(turn.results, ids, strict=False)
    ]


def _tool(tool: ToolDeclaration, capabilities: ModelCapabilities) -> Fields:
    enforced = strict_schema(tool, capabilities) if tool.strict else None
    schema = enforced or dict(tool.parameters)
    made = {"name": tool.name, "description": tool.description, "input_schema": schema}
    return {**made, "strict": True} if enforced else made
