"""The second round of every recorded tool call: what the model sent goes back to it whole.

Each recording is decoded a second time here, without the adapters, into the model's turn as its API
would want it back. `python -m tests.providers.test_second_rounds` counts them.

Reads recordings that are no part of the project; without them it is skipped.
"""

from __future__ import annotations

import asyncio
import base64
import json
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from oshaberi.chunks import Chunk
from oshaberi.providers.anthropic.request import body as anthropic_body
from oshaberi.providers.capabilities.known_models import capabilities_of
from oshaberi.providers.google.request import arguments
from oshaberi.providers.openai_chat.request import body as chat_body
from oshaberi.providers.openai_responses.request import body as responses_body
from oshaberi.providers.request.model_request import Endpoint, Request, ToolResult, ToolRound
from tests.providers.adapter_runs import ASK, read, text
from tests.providers.recorded_bodies import RecordedBody, adapter_of_bytes, recordings

Event = dict[str, Any]
MODEL = "model-1"
MISSING = pytest.mark.skip(reason="no recordings here: OSHABERI_RECORDINGS names their folder")


def events_of(body: bytes) -> list[Event]:
    lines = body.decode("utf-8").replace("\r\n", "\n").split("\n")
    found = [json.loads(line[5:]) for line in lines if line.startswith("data:") and "{" in line]
    return [one for one in found if isinstance(one, dict)]


# -- the model's turn, as it was recorded --------------------------------------------------------


def anthropic_turn(events: Sequence[Event]) -> list[Event]:
    blocks: dict[int, Event] = {}
    inputs: dict[int, str] = {}
    for event in events:
        match event.get("type"):
            case "content_block_start":
                blocks[event["index"]] = dict(event["content_block"])
            case "content_block_delta":
                block, delta = blocks[event["index"]], event["delta"]
                for name in ("text", "thinking", "signature"):
                    if name in delta:
                        block[name] = block.get(name, "") + delta[name]
                if "partial_json" in delta:
                    before = inputs.get(event["index"], "")
                    inputs[event["index"]] = before + delta["partial_json"]
    for index, given in inputs.items():
        if given:
            blocks[index]["input"] = json.loads(given)
    for block in blocks.values():
        block.pop("citations", None)
        if block.get("caller") == {"type": "direct"}:
            del block["caller"]  # as it is without one
    return [one for one in blocks.values() if one["type"] != "text" or one["text"].strip()]


def chat_turn(events: Sequence[Event]) -> Event:
    calls: dict[Any, Event] = {}
    details: dict[str, Event] = {}
    for event in events:
        first = [one for one in event.get("choices") or () if not one.get("index")]
        choice = first[0] if first else {}
        delta = choice.get("delta") or choice.get("message") or {}
        for call in delta.get("tool_calls") or ():
            known = calls.setdefault(_key(calls, call), {"id": None, "name": "", "arguments": ""})
            function = call.get("function") or {}
            known["id"] = known["id"] or call.get("id") or None
            known["name"] = known["name"] or function.get("name") or ""
            given = function.get("arguments") or ""
            known["arguments"] += given if isinstance(given, str) else json.dumps(given)
        for detail in delta.get("reasoning_details") or ():
            place = details.setdefault(f"{detail.get('type')} {detail.get('index', 0)}", {})
            for name, value in detail.items():
                grows = name in ("text", "summary", "data", "signature") and value
                place[name] = place.get(name, "") + value if grows else place.get(name) or value
    return {"calls": list(calls.values()), "details": list(details.values())}


def _key(calls: Mapping[Any, Event], call: Event) -> Any:
    """Some servers number no call, or all of them 0: a new id begins a new call."""
    number, given = call.get("index") or 0, call.get("id")
    same = [key for key in calls if key[0] == number]
    if same and (not given or calls[same[-1]]["id"] in (None, given)):
        return same[-1]
    return (number, given)


def responses_turn(events: Sequence[Event]) -> list[Event]:
    items = [one["item"] for one in events if one.get("type") == "response.output_item.done"]
    if items:
        return items
    ended = [one["response"] for one in events if one.get("type") == "response.completed"]
    return list(ended[-1].get("output") or ()) if ended else []


def google_turn(events: Sequence[Event]) -> list[Event]:
    parts: list[Event] = []
    for event in events:
        content = ((event.get("candidates") or [{}])[0]).get("content") or {}
        parts += content.get("parts") or ()
    return parts


# -- the same in the second request --------------------------------------------------------------


def check_anthropic(done: ToolRound, events: Sequence[Event]) -> None:
    request, endpoint = _second(done, "anthropic")
    content = anthropic_body(request, endpoint)["messages"][1]["content"]
    assert content == anthropic_turn(events)


def check_chat(done: ToolRound, events: Sequence[Event]) -> None:
    request, endpoint = _second(done, "openai")
    message = chat_body(request, endpoint)["messages"][2]
    recorded = chat_turn(events)
    for one, given in zip(recorded["calls"], message["tool_calls"], strict=True):
        assert given["id"] == (one["id"] or given["id"])
        assert given["function"]["name"] == one["name"]
        assert json.loads(given["function"]["arguments"]) == _arguments(one["arguments"])
    details = [{k: v for k, v in one.items() if v} for one in message.get("reasoning_details", ())]
    assert details == [{k: v for k, v in one.items() if v} for one in recorded["details"]]


def _arguments(given: str) -> Any:
    try:
        return json.loads(given or "{}") or {}
    except ValueError:
        return {}  # the model is told that they were broken


def check_responses(done: ToolRound, events: Sequence[Event]) -> None:
    request, endpoint = _second(done, "responses")
    kinds = ("reasoning", "function_call")
    sent = responses_body(request, endpoint)["input"][2:]
    recorded = [one for one in responses_turn(events) if one["type"] in kinds]
    kept = [one for one in recorded if one["type"] != "reasoning" or _can_go_back(one)]
    mine = [one for one in sent if one["type"] in kinds]
    assert [one["type"] for one in mine] == [one["type"] for one in kept]
    for given, one in zip(mine, kept, strict=True):
        if one["type"] == "function_call":
            assert (given["call_id"], given["name"]) == (one["call_id"], one["name"])
            assert json.loads(given["arguments"]) == _arguments(one["arguments"])
        else:
            names = ("id", "summary", "content", "encrypted_content")
            assert {n: given.get(n) for n in names if one.get(n)} == {
                n: one[n] for n in names if one.get(n)
            }


def _can_go_back(item: Event) -> bool:
    """Reasoning without its content is a number in the API's own store, which is not used."""
    return bool(item.get("encrypted_content") or item.get("content"))


def check_google(done: ToolRound, events: Sequence[Event]) -> None:
    request, endpoint = _second(done, "google")
    asked = asyncio.run(arguments(request, endpoint, capabilities_of("google", MODEL)))
    said = [part for one in asked["contents"] if one["role"] == "model" for part in one["parts"]]
    sent = [part for part in said if "function_call" in part]
    recorded = [part for part in google_turn(events) if "functionCall" in part]
    begun = [part for part in recorded if part["functionCall"].get("name")]
    for given, one in zip(sent, begun, strict=True):
        call = one["functionCall"]
        assert given["function_call"]["name"] == call["name"]
        assert given["function_call"].get("id") == call.get("id")
        if len(begun) == len(recorded):  # otherwise the arguments came in pieces
            assert given["function_call"]["args"] == (call.get("args") or {})
        if one.get("thoughtSignature"):
            signature = base64.b64decode(one["thoughtSignature"], altchars=b"-_")
            assert given["thought_signature"] == signature


CHECKS: Mapping[str, Callable[[ToolRound, Sequence[Event]], None]] = {
    "anthropic": check_anthropic,
    "openai": check_chat,
    "responses": check_responses,
    "google": check_google,
}


def _second(done: ToolRound, name: str) -> tuple[Request, Endpoint]:
    return Request((*ASK.items, done)), Endpoint(name, MODEL)


def _answer(recorded: RecordedBody) -> list[Chunk]:
    adapter = adapter_of_bytes(recorded.family, [recorded.path.read_bytes()])
    return asyncio.run(read(adapter))


CANNOT: Mapping[str, str] = {
    "be11e74400961bb2": "thirty answers in one file, one after the other",
}
"""Fixtures that cannot have a second round, each with its reason."""
_WORDS = (b"tool_calls", b"tool_use", b"functionCall", b"function_call")
ROUNDS = [
    recorded
    for recorded in recordings()
    if recorded.path.stem not in CANNOT
    and any(word in recorded.path.read_bytes() for word in _WORDS)
]


@pytest.mark.parametrize("recorded", ROUNDS or [pytest.param(None, marks=MISSING)], ids=str)
def test_the_second_round_has_everything(recorded: RecordedBody) -> None:
    is_whole(recorded)


def is_whole(recorded: RecordedBody) -> bool:
    """Check a second round. False if there is none, because the answer only mentions tools."""
    found = _answer(recorded)
    calls = found[-1].calls
    if not calls:
        return False
    thoughts = tuple(part for chunk in found for part in chunk.thoughts)
    results = tuple(ToolResult("7") for _ in calls)
    done = ToolRound(calls, results, text(found), thoughts, recorded.family, MODEL)
    CHECKS[recorded.family](done, events_of(recorded.path.read_bytes()))
    return True


def main() -> None:
    """Print how many recordings have a second round, and which cannot."""
    counted = Counter(one.family for one in ROUNDS if is_whole(one))
    lines = [f"{len(recordings())} recordings, {counted.total()} second rounds, all whole"]
    lines += [f"  {family}: {count}" for family, count in counted.items()]
    lines += [f"cannot: {stem}: {reason}" for stem, reason in CANNOT.items()]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
