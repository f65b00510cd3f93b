"""docs/providers.md tells what each family can do, tried out. `make generate` writes its table."""

from __future__ import annotations

import asyncio
import json
from base64 import b64encode
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from oshaberi.providers import registry
from oshaberi.providers.anthropic.events import read as read_anthropic
from oshaberi.providers.anthropic.request import body as anthropic_body
from oshaberi.providers.google.events import GeminiEvent
from oshaberi.providers.google.events import read as read_google
from oshaberi.providers.google.request import arguments
from oshaberi.providers.openai_chat.events import read as read_chat
from oshaberi.providers.openai_chat.request import body as chat_body
from oshaberi.providers.openai_responses.events import read as read_responses
from oshaberi.providers.openai_responses.request import body as responses_body
from oshaberi.providers.presets import PRESETS
from oshaberi.providers.request.model_request import (
    ContextItem,
    Endpoint,
    ImagePart,
    Request,
    TextPart,
    ToolDeclaration,
)
from oshaberi.providers.wire.steps import Step, TokenCount
from tests.real_servers.test_llamacpp import APIS

PAGE = Path(__file__).parents[2] / "docs" / "providers.md"
BEGIN, END = "<!-- families: begin -->", "<!-- families: end -->"
PICTURE, TOOL = b"a picture", "a_tool"
ASKED = Request(
    (ContextItem("user", (TextPart("look"), ImagePart(data=PICTURE)), "current"),),
    tools=(ToolDeclaration(TOOL),),
    thinking="high",
    max_output_tokens=50_000,
)
HEADS = (
    *("family", "streaming", "tools", "images in", "thinking", "cached tokens counted"),
    *("pictures out", "search of its own", "cost reported", "real server tried"),
)
Ask = Callable[[Request, Endpoint], Any]


def _google(request: Request, endpoint: Endpoint) -> Any:
    return asyncio.run(arguments(request, endpoint))


def _google_usage() -> GeminiEvent:
    ended = {"content": {"parts": []}, "finishReason": "STOP"}
    usage = {"promptTokenCount": 9, "cachedContentTokenCount": 7}
    return GeminiEvent({"candidates": [ended], "usageMetadata": usage})


def _steps(family: str) -> list[Step]:
    """What a family reads from its API's count of tokens, 7 of 9 from the cache."""
    match family:
        case "openai":
            usage = {"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 7}}
            return list(read_chat({"choices": [], "usage": usage}))
        case "openai-responses":
            counted = {"input_tokens": 9, "input_tokens_details": {"cached_tokens": 7}}
            ended = {"status": "completed", "usage": counted}
            return list(read_responses({"type": "response.completed", "response": ended}))
        case "anthropic":
            message = {"usage": {"input_tokens": 2, "cache_read_input_tokens": 7}}
            return list(read_anthropic({"type": "message_start", "message": message}))
        case "google":
            return list(read_google(_google_usage()))
    return []


FAMILIES: dict[str, tuple[str, str, Ask | None]] = {
    "openai": ("OpenAI-compatible", "gpt-5", chat_body),
    "openai-responses": ("OpenAI Responses", "gpt-5", responses_body),
    "anthropic": ("Anthropic", "claude-sonnet-4-5", anthropic_body),
    "google": ("Google Gemini", "gemini-3-flash", _google),
}
"""Families that are asked more than text: how each is called, a model, and how it is asked."""
TRIED = {
    "openai": "llama.cpp, LiteLLM",
    "openai-responses": "llama.cpp",
    "anthropic": "llama.cpp",
}
"""The servers of `tests/real_servers`."""


def family_table() -> str:
    lines = [f"| {' | '.join(HEADS)} |", "|---" * len(HEADS) + "|"]
    for family in (one for one in registry.FAMILIES if one != "replay"):
        title, model, ask = FAMILIES.get(family) or (PRESETS[family].title, "any", None)
        cells = [title, "yes", *_tried_out(family, model, ask), "no", "no", "no"]
        lines.append(f"| {' | '.join([*cells, TRIED.get(family, 'none')])} |")
    return "\n".join(lines)


def _tried_out(family: str, model: str, ask: Ask | None) -> list[str]:
    """Whether a request carries tools, images and thinking, and whether cached tokens are read."""
    if ask is None:
        return ["no"] * 4
    endpoint = Endpoint(family, model)
    sent = ask(ASKED, endpoint)
    shown = json.dumps(sent, default=lambda data: b64encode(data).decode())
    is_told = ask(replace(ASKED, thinking=None), endpoint) != sent
    counted = [one.cached_tokens for one in _steps(family) if isinstance(one, TokenCount)]
    found = (TOOL in shown, b64encode(PICTURE).decode() in shown, is_told, counted == [7])
    return ["yes" if one else "no" for one in found]


def written(page: str) -> str:
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{family_table()}\n{END}{after}"


def test_the_table_is_what_was_tried_out() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == written(page), "run: make generate"


def test_every_family_of_the_table_is_in_the_registry() -> None:
    assert FAMILIES.keys() <= registry.FAMILIES.keys()


def test_the_servers_are_those_of_the_tests() -> None:
    presets = {"llamacpp": "openai", "openai-responses": "openai-responses"}
    assert {presets.get(preset, preset) for preset in APIS} == TRIED.keys()
