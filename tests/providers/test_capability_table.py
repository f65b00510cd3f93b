"""docs/providers.md tells what each family can do, tried out. `make generate` writes its table."""

from __future__ import annotations

import asyncio
import json
from base64 import b64encode
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from discord_stage.model_servers.scripts import Say, Show
from oshaberi.providers import registry
from oshaberi.providers.anthropic.events import read as read_anthropic
from oshaberi.providers.anthropic.request import body as anthropic_body
from oshaberi.providers.google.events import GeminiEvent
from oshaberi.providers.google.events import read as read_google
from oshaberi.providers.google.request import arguments
from oshaberi.providers.novelai import body as novelai_body
from oshaberi.providers.ollama import body as ollama_body
from oshaberi.providers.ollama import read as read_ollama
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
from tests.providers.adapter_runs import chunks
from tests.providers.provider_families import FAMILIES as SUITE
from tests.real_servers.test_llamacpp import APIS
from tests.real_servers.test_proxy_litellm import BEHIND

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
    *("family", "streaming", "tools", "images in", "pictures out", "thinking"),
    *("cached tokens counted", "cache marked", "search of its own", "cost reported"),
    "real server tried",
)
HISTORY = (ContextItem("user", (TextPart("hi"),)), *ASKED.items)
PLAYED = {"openai": "openrouter", "ollama": "ollama-native"}
"""The family of the suite that plays all that the family can, if it has another name."""
WITHIN = {
    "azure-entra": "openai-responses",
    "bedrock": "anthropic",
    "vertex": "google",
    "vertex-claude": "anthropic",
}
"""The family whose requests and events a family has."""
Ask = Callable[[Request, Endpoint], Any]


def _google(request: Request, endpoint: Endpoint) -> Any:
    return asyncio.run(arguments(request, endpoint))


def _google_usage() -> GeminiEvent:
    ended = {"content": {"parts": []}, "finishReason": "STOP"}
    usage = {"promptTokenCount": 9, "cachedContentTokenCount": 7, "cost": 0.1}
    return GeminiEvent({"candidates": [ended], "usageMetadata": usage})


def _steps(family: str) -> list[Step]:
    """What a family reads from its API's count of tokens: 7 of 9 from the cache, for 0.1 dollar."""
    match WITHIN.get(family, family):
        case "openai":
            usage = {"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 7}, "cost": 0.1}
            return list(read_chat({"choices": [], "usage": usage}))
        case "openai-responses":
            details = {"cached_tokens": 7}
            counted = {"input_tokens": 9, "input_tokens_details": details, "cost": 0.1}
            ended = {"status": "completed", "usage": counted}
            return list(read_responses({"type": "response.completed", "response": ended}))
        case "anthropic":
            message = {"usage": {"input_tokens": 2, "cache_read_input_tokens": 7, "cost": 0.1}}
            return list(read_anthropic({"type": "message_start", "message": message}))
        case "google":
            return list(read_google(_google_usage()))
        case "ollama":
            return list(read_ollama({"done": True, "prompt_eval_count": 9, "cost": 0.1}))
    return []  # NovelAI counts no tokens


FAMILIES: dict[str, tuple[str, str, Ask]] = {
    "openai": ("OpenAI-compatible", "gpt-5", chat_body),
    "openai-responses": ("OpenAI Responses", "gpt-5", responses_body),
    "anthropic": ("Anthropic", "claude-sonnet-4-5", anthropic_body),
    "google": ("Google Gemini", "gemini-3-flash", _google),
    "ollama": ("Ollama, its own API", "qwen3", ollama_body),
    "bedrock": ("Anthropic on Bedrock", "eu.anthropic.claude-sonnet-4-5", anthropic_body),
    "vertex-claude": ("Anthropic on Vertex AI", "claude-sonnet-4-5", anthropic_body),
    "vertex": ("Gemini on Vertex AI", "gemini-3-flash", _google),
    "azure-entra": ("OpenAI Responses on Azure, Entra ID", "gpt-5", responses_body),
    "novelai": ("NovelAI", "any", novelai_body),
}
"""How each family is called, a model of it, and how it is asked."""
REAL: dict[str, set[str]] = {
    "llama.cpp": {*APIS},
    "LiteLLM": {one.preset for one in BEHIND},
}
"""The presets with which `tests/real_servers` asks each server."""


def family_table() -> str:
    lines = [f"| {' | '.join(HEADS)} |", "|---" * len(HEADS) + "|"]
    for family in (one for one in registry.FAMILIES if one != "replay"):
        title, model, ask = FAMILIES[family]
        found = {**_played(family), **_tried_out(family, model, ask)}
        cells = ["yes" if found.get(head) else "no" for head in HEADS[1:-1]]
        lines.append(f"| {' | '.join([title, *cells, _real_servers(family)])} |")
    return "\n".join(lines)


def _real_servers(family: str) -> str:
    asked = {
        server
        for server, presets in REAL.items()
        for preset in presets
        if PRESETS[preset].family_at("http://127.0.0.1/v1") == family
    }
    return ", ".join(server for server in REAL if server in asked) or "none"


def _played(family: str) -> dict[str, bool]:
    """What the adapter makes of a scripted answer in pieces and with a picture."""
    name = PLAYED.get(family, family)
    player = next((one for one in SUITE if one.name == name), None)
    if player is None:
        return {}
    found = chunks(player, Say("one ", "two"), Show(b"\x89PNG\r\n\x1a\n"))
    return {
        "streaming": sum(bool(chunk.content) for chunk in found) > 1,
        "pictures out": any(chunk.files for chunk in found),
    }


def _tried_out(family: str, model: str, ask: Ask) -> dict[str, bool]:
    """What a request carries, and what is read from the API's count."""
    endpoint = Endpoint(family, model)
    sent = ask(ASKED, endpoint)
    shown = json.dumps(sent, default=lambda data: b64encode(data).decode())
    found = (one for one in _steps(family) if isinstance(one, TokenCount))
    counted = next(found, TokenCount())
    return {
        "tools": TOOL in shown,
        "images in": b64encode(PICTURE).decode() in shown,
        "thinking": ask(replace(ASKED, thinking=None), endpoint) != sent,
        "cached tokens counted": counted.cached_tokens == 7,
        "cost reported": counted.cost_dollars == 0.1,
        "cache marked": any(
            ask(replace(ASKED, items=HISTORY, cache="off"), one)
            != ask(replace(ASKED, items=HISTORY), one)
            for one in _endpoints(family, endpoint)
        ),
        "search of its own": any(
            ask(replace(ASKED, search=True), one) != ask(ASKED, one)
            for one in _endpoints(family, endpoint)
        ),
    }


def _endpoints(family: str, endpoint: Endpoint) -> list[Endpoint]:
    """The family's usual endpoint, and those that can more."""
    newest = replace(endpoint, name="openai", model="gpt-6", is_known_server=True)
    router = Endpoint("openrouter", "anthropic/claude-x", quirks=PRESETS["openrouter"].quirks)
    more = {"openai": [endpoint, router], "openai-responses": [newest]}
    return more.get(family, [endpoint])


def written(page: str) -> str:
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{family_table()}\n{END}{after}"


def test_the_table_is_what_was_tried_out() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == written(page), "run: make generate"


def test_every_family_of_the_registry_is_in_the_table() -> None:
    assert FAMILIES.keys() == registry.FAMILIES.keys() - {"replay"}


def test_every_preset_that_asks_a_real_server_has_a_family_of_the_table() -> None:
    named = {_real_servers(family) for family in registry.FAMILIES}
    assert named == {"llama.cpp, LiteLLM", "llama.cpp", "none"}
