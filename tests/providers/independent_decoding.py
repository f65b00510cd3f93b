"""Decodes a recorded body of a model API without any code of the adapters, to compare with them.

The whole body is known here: answers are read from final snapshots where the API sends one.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]


@dataclass
class DecodedAnswer:
    """What one recorded answer says; `usage` is (input, output) in tokens."""

    text: str = ""
    thoughts: str = ""
    calls: list[tuple[str, Any]] = field(default_factory=list)
    finish: str | None = None
    usage: tuple[int, int] | None = None
    error: str | None = None


def decoded(family: str, body: bytes) -> DecodedAnswer:
    documents = _documents(body)
    made = {
        "openai": _chat,
        "responses": _responses,
        "anthropic": _anthropic,
        "google": _google,
    }[family](documents)
    if made.finish == "length" and made.calls and _arguments(made.calls[-1][1] or "{") is None:
        # What the limit cut off was not asked for.
        made.calls.pop()
    made.calls = [(name, _arguments(text)) for name, text in made.calls]
    made.error = _bare_error(body)
    return made


def _bare_error(body: bytes) -> str | None:
    """The message of an error that stands behind the events as plain JSON."""
    _, brace, rest = body.decode("utf-8").replace("\r\n", "\n").rpartition("\n\n{")
    if not brace or "\ndata:" in rest:
        return None
    return str(json.loads("{" + rest)["error"]["message"])


def _documents(body: bytes) -> list[Json]:
    text = body.decode("utf-8").replace("\r\n", "\n")
    found = []
    for block in re.split(r"\n\n+", text):
        lines = [line[5:].removeprefix(" ") for line in block.split("\n") if line[:5] == "data:"]
        data = "\n".join(lines)
        if data.strip() and data.strip() != "[DONE]":
            found.append(json.loads(data))
    return found


def _arguments(text: str) -> Any:
    """The arguments of a call; None if they are not whole."""
    try:
        return json.loads(text or "{}") or {}
    except ValueError:
        return None


# -- chat completions ----------------------------------------------------------------------------


def _chat(documents: list[Json]) -> DecodedAnswer:
    made = DecodedAnswer()
    calls: list[Json] = []
    for document in documents:
        for choice in document.get("choices") or []:
            if choice.get("index") in (None, 0):
                _chat_choice(choice, made, calls)
        usage = document.get("usage") or (document.get("x_groq") or {}).get("usage")
        if usage:
            made.usage = (usage.get("prompt_tokens") or 0, usage.get("completion_tokens") or 0)
    made.calls = [(call["name"], call["arguments"]) for call in calls]
    return made


def _chat_choice(choice: Json, made: DecodedAnswer, calls: list[Json]) -> None:
    delta = choice.get("delta") or choice.get("message") or {}
    thought = delta.get("reasoning_content") or delta.get("reasoning") or ""
    if not thought:
        for detail in delta.get("reasoning_details") or []:
            thought += detail.get("text") or detail.get("summary") or ""
    made.thoughts += thought
    content = delta.get("content") or delta.get("refusal") or ""
    if isinstance(content, str):
        made.text += content
    else:
        for block in content:
            if block["type"] == "thinking":
                made.thoughts += "".join(part.get("text", "") for part in block["thinking"])
            else:
                made.text += block.get("text") or ""
    for piece in delta.get("tool_calls") or []:
        _chat_call(piece, calls)
    if choice.get("finish_reason"):
        made.finish = choice["finish_reason"]


def _chat_call(piece: Json, calls: list[Json]) -> None:
    function = piece.get("function") or {}
    same = [
        call
        for call in calls
        if call["index"] == piece.get("index") and piece.get("id") in (None, "", call["id"])
    ]
    if piece.get("index") is None or not same:
        call: Json = {
            "index": piece.get("index"),
            "id": piece.get("id"),
            "name": function.get("name") or "",
            "arguments": "",
        }
        calls.append(call)
    else:
        call = same[-1]
    call["arguments"] += function.get("arguments") or ""


# -- responses -----------------------------------------------------------------------------------

_ENDS = {"response.completed", "response.incomplete", "response.failed", "response.done"}


def _responses(documents: list[Json]) -> DecodedAnswer:
    last = next(doc["response"] for doc in reversed(documents) if doc["type"] in _ENDS)
    items = last["output"] or [
        doc["item"] for doc in documents if doc["type"] == "response.output_item.done"
    ]
    made = DecodedAnswer()
    for item in items:
        kind = item["type"]
        if kind == "message":
            for part in item["content"]:
                made.text += part["text"] if part["type"] == "output_text" else part["refusal"]
        elif kind == "reasoning":
            parts = [*(item.get("summary") or []), *(item.get("content") or [])]
            made.thoughts += "".join(part["text"] for part in parts)
        elif kind == "function_call":
            made.calls.append((item["name"], item["arguments"]))
    if last["status"] == "completed":
        made.finish = "tool_calls" if made.calls else "stop"
    elif last["status"] == "incomplete":
        reason = last["incomplete_details"]["reason"]
        made.finish = {"max_output_tokens": "length"}.get(reason, reason)
    usage = last.get("usage")
    if usage:
        made.usage = (usage["input_tokens"], usage["output_tokens"])
    return made


# -- messages ------------------------------------------------------------------------------------

_STOP_REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "max_tokens": "length",
    "tool_use": "tool_calls",
    "refusal": "content_filter",
}
_INPUTS = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


def _anthropic(documents: list[Json]) -> DecodedAnswer:
    made = DecodedAnswer()
    blocks: list[Json] = []
    usage: Json = {}
    for document in documents:
        match document["type"]:
            case "message_start":
                message = document["message"]
                blocks += [dict(block, json="") for block in message["content"]]
                usage.update(message.get("usage") or {})
            case "content_block_start":
                blocks.append(dict(document["content_block"], json=""))
            case "content_block_delta":
                _anthropic_delta(blocks[-1], document["delta"])
            case "message_delta":
                later = document.get("usage") or {}
                usage.update({key: value for key, value in later.items() if value is not None})
                reason = document["delta"].get("stop_reason")
                made.finish = _STOP_REASONS.get(reason, reason)
    for block in blocks:
        if block["type"] == "text":
            made.text += block.get("text") or ""
        elif block["type"] == "thinking":
            made.thoughts += block.get("thinking") or ""
        elif block["type"] == "tool_use":
            whole = json.dumps(block["input"]) if block["input"] else ""
            made.calls.append((block["name"], block["json"] or whole))
    made.usage = (sum(usage.get(key) or 0 for key in _INPUTS), usage.get("output_tokens") or 0)
    return made


def _anthropic_delta(block: Json, delta: Json) -> None:
    match delta["type"]:
        case "text_delta":
            block["text"] += delta["text"]
        case "thinking_delta":
            block["thinking"] += delta["thinking"]
        case "input_json_delta":
            block["json"] += delta["partial_json"]


# -- Gemini --------------------------------------------------------------------------------------


def _google(documents: list[Json]) -> DecodedAnswer:
    made = DecodedAnswer()
    for document in documents:
        for candidate in document.get("candidates") or []:
            for part in (candidate.get("content") or {}).get("parts") or []:
                if "functionCall" in part:
                    _google_call(part["functionCall"], made)
                elif part.get("thought"):
                    made.thoughts += part.get("text") or ""
                else:
                    made.text += part.get("text") or ""
            if candidate.get("finishReason"):
                reason = candidate["finishReason"]
                made.finish = {"STOP": "stop", "MAX_TOKENS": "length"}.get(reason, reason.lower())
        usage = document.get("usageMetadata")
        if usage:
            output = usage.get("candidatesTokenCount") or 0
            output += usage.get("thoughtsTokenCount") or 0
            made.usage = (usage.get("promptTokenCount") or 0, output)
    if made.finish == "stop" and made.calls:
        made.finish = "tool_calls"
    made.calls = [(name, json.dumps(args)) for name, args in made.calls]
    return made


def _google_call(call: Json, made: DecodedAnswer) -> None:
    """A call, or its beginning or more of it: arguments may come in pieces, each with its place."""
    if call.get("name"):
        made.calls.append((call["name"], call.get("args") or {}))
    for piece in call.get("partialArgs") or []:
        place: Any = made.calls[-1][1]
        steps = re.findall(r"\.([^.\[]+)|\[(\d+)\]", piece["jsonPath"])
        for (name, number), following in zip(steps, [*steps[1:], None], strict=True):
            key: Any = name or int(number)
            if following is None:
                _google_value(place, key, piece)
                break
            empty: Any = {} if following[0] else []
            if isinstance(key, int) and len(place) <= key:
                place.append(empty)
            elif isinstance(key, str):
                place.setdefault(key, empty)
            place = place[key]


def _google_value(place: Any, key: Any, piece: Json) -> None:
    value = next((piece[name] for name in piece if name.endswith("Value")), None)
    if isinstance(place, list) and len(place) <= key:
        place.append(value)
    elif isinstance(value, str) and (isinstance(place, list) or key in place):
        place[key] += value
    else:
        place[key] = None if "nullValue" in piece else value
