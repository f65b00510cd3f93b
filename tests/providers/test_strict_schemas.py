"""A tool may ask that its schema is enforced. It is, where the API and the schema allow it."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from discord_stage.model_servers import ModelServer
from discord_stage.model_servers.scripts import Say, Status
from oshaberi.bot.tools import tool
from oshaberi.bot.tools.toolbox import ToolBox
from oshaberi.providers.anthropic.request import body as anthropic_body
from oshaberi.providers.base import Adapter
from oshaberi.providers.capabilities.model_capabilities import ModelCapabilities
from oshaberi.providers.google.request import arguments
from oshaberi.providers.ollama import body as ollama_body
from oshaberi.providers.openai_chat.request import body as chat_body
from oshaberi.providers.openai_responses.request import body as responses_body
from oshaberi.providers.request.model_request import Endpoint, Request, ToolDeclaration
from oshaberi.providers.request.strict_schemas import strict_schema
from tests.providers.adapter_runs import ASK, read, run, text
from tests.providers.provider_families import FAMILIES
from tests.tools.fake_tool_context import context

NAME = {"type": "string", "description": "Which one."}
SIMPLE: dict[str, Any] = {"type": "object", "properties": {"tea": NAME}, "required": ["tea"]}
OPTIONAL: dict[str, Any] = {**SIMPLE, "required": []}
BY_NAME = {family.name: family for family in FAMILIES}


def declared(parameters: Any = SIMPLE, *, strict: bool = True) -> ToolDeclaration:
    return ToolDeclaration("brew", "Brew tea.", parameters, strict)


def asked(*tools: ToolDeclaration) -> Request:
    return replace(ASK, tools=tools)


def bodies(*tools: ToolDeclaration) -> dict[str, Any]:
    request, endpoint = asked(*tools), Endpoint("p", "m")
    return {
        "chat": chat_body(request, endpoint)["tools"][0]["function"],
        "responses": responses_body(request, endpoint)["tools"][0],
        "anthropic": anthropic_body(request, endpoint)["tools"][0],
        "google": asyncio.run(arguments(request, endpoint))["config"].get("tool_config"),
        "ollama": ollama_body(request, endpoint)["tools"][0]["function"],
    }


def test_a_simple_schema_is_enforced_where_that_is_possible() -> None:
    made = bodies(declared())
    assert [made[name].get("strict") for name in ("chat", "responses", "anthropic")] == [True] * 3
    closed = {**SIMPLE, "additionalProperties": False}
    assert made["chat"]["parameters"] == made["responses"]["parameters"] == closed
    assert made["anthropic"]["input_schema"] == closed
    assert made["google"] == {"function_calling_config": {"mode": "VALIDATED"}}
    assert "strict" not in made["ollama"]


def test_nothing_changes_for_a_tool_that_does_not_ask() -> None:
    made = bodies(declared(strict=False))
    assert made["responses"]["strict"] is False
    assert made["google"] is None
    for name in ("chat", "anthropic"):
        assert "strict" not in made[name]
    assert made["chat"]["parameters"] == SIMPLE


def test_openai_wants_every_parameter() -> None:
    made = bodies(declared(OPTIONAL))
    assert made["responses"]["strict"] is False
    assert "strict" not in made["chat"]
    assert made["anthropic"]["strict"] is True
    assert made["google"] is not None


def test_gemini_enforces_all_or_none() -> None:
    assert bodies(declared(), replace(declared(strict=False), name="b"))["google"] is None


@pytest.mark.parametrize(
    "inner",
    [
        {},
        {"type": "string", "minLength": 1},
        {"$ref": "#/$defs/x"},
        {"type": "object", "additionalProperties": {"type": "string"}},
        {"type": "array", "items": {"oneOf": [NAME, NAME]}},
        {"anyOf": [NAME, {"type": "string", "pattern": "x"}]},
        {"type": "object", "properties": {"a": {"not": {}}}, "required": ["a"]},
        True,
    ],
)
def test_a_schema_outside_the_subset_stays_as_it_is(inner: Any) -> None:
    schema = {"type": "object", "properties": {"tea": inner}, "required": ["tea"]}
    assert strict_schema(declared(schema), ModelCapabilities()) is None
    assert bodies(declared(schema))["chat"]["parameters"] == schema


def test_a_schema_within_itself_ends() -> None:
    deep: dict[str, Any] = NAME
    for _ in range(5000):
        deep = {"type": "object", "properties": {"a": deep}, "required": ["a"]}
    assert strict_schema(declared(deep), ModelCapabilities()) is None
    listed: dict[str, Any] = NAME
    for _ in range(5000):
        listed = {"type": "array", "items": listed}
    schema = {"type": "object", "properties": {"a": listed}, "required": ["a"]}
    assert strict_schema(declared(schema), ModelCapabilities()) is None


def test_objects_within_are_closed_too() -> None:
    inner = {"type": "object", "properties": {"a": {"anyOf": [NAME, {"type": "null"}]}}}
    required = {**inner, "required": ["a"]}
    schema = {"type": "object", "properties": {"x": required}, "required": ["x"]}
    made = strict_schema(declared(schema), ModelCapabilities(), all_required=True)
    assert made is not None
    assert made["properties"]["x"]["additionalProperties"] is False
    assert "additionalProperties" not in required


REFUSALS = {
    "openai": {"error": {"message": "Invalid schema for function 'brew': strict", "code": 400}},
    "openai-responses": {"error": {"message": "Unknown parameter: 'tools[0].strict'."}},
    "anthropic": {"error": {"message": "tools.0.custom.strict: Extra inputs are not permitted"}},
    "google": {"error": {"code": 400, "message": "mode VALIDATED is not supported"}},
}


@pytest.mark.parametrize("name", REFUSALS)
def test_what_refuses_it_gets_the_tool_as_usual_and_is_remembered(name: str) -> None:
    async def scenario(adapter: Adapter, server: ModelServer) -> None:
        for _ in range(2):
            assert text(await read(adapter, asked(declared()))) == "Fine."
        sent = [json.dumps(request.json) for request in server.requests]
        assert len(sent) == 3, "it is asked for once"
        marks = [("VALIDATED" in one) or ('"strict": true' in one) for one in sent]
        assert marks == [True, False, False]
        assert all("brew" in one for one in sent)

    refused = Status(400, json.dumps(REFUSALS[name]))
    run(BY_NAME[name], scenario, (refused,), (Say("Fine."),), (Say("Fine."),))


def test_a_tool_of_ours_can_ask_for_it() -> None:
    @tool(strict=True)
    async def brew(tea: str) -> str:
        """Brew tea."""
        return tea

    (one,) = ToolBox((brew,)).declarations(context())
    assert one.strict
