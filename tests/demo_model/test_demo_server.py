"""The server as any client meets it: bad requests, other addresses, limits, speed."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Mapping
from typing import Any

import pytest
from aiohttp import ClientSession

from oshaberi.bot.conversation.transcript import line
from oshaberi.bot.local_run.demo_model import MODEL, DemoModel
from oshaberi.bot.local_run.demo_model.requests import read
from oshaberi.bot.local_run.demo_model.server import TOKENS_PER_SECOND
from oshaberi.providers.request.model_request import said
from tests.demo_model.demo_questions import answer

Json = Mapping[str, Any]
HELLO = {"model": MODEL, "stream": True, "messages": [{"role": "user", "content": "hello"}]}


def call(
    method: str, path: str, body: bytes | None = None, **headers: str
) -> tuple[int, Json | str]:
    async def main() -> tuple[int, Json | str]:
        async with DemoModel(speed=math.inf) as model, ClientSession() as session:
            url = model.url.removesuffix("/v1") + path
            async with session.request(method, url, data=body, headers=headers) as response:
                text = await response.text()
                is_json = response.content_type == "application/json"
                return response.status, json.loads(text) if is_json else text

    return asyncio.run(main())


def test_models() -> None:
    status, body = call("GET", "/v1/models")
    assert status == 200
    assert isinstance(body, dict)
    assert [model["id"] for model in body["data"]] == [MODEL]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"{", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[]", "must be a JSON object"),
        (b"{}", "'messages' must be"),
        (b'{"messages": [1]}', "every message"),
        (b'{"messages": [{"role": "user"}]}', "only streams"),
    ],
)
def test_bad_requests_are_told_why(body: bytes, message: str) -> None:
    status, answered = call("POST", "/v1/chat/completions", body)
    assert status == 400
    assert isinstance(answered, dict)
    assert message in answered["error"]["message"]


def test_odd_requests_are_answered() -> None:
    odd = {
        "stream": True,
        "tools": [None, {}, {"function": {"name": "current_time", "parameters": 3}}],
        "messages": [{"role": 3}, {"role": "user", "content": [{"text": "what time"}, 7]}],
        "max_tokens": "many",
    }
    status, body = call("POST", "/v1/chat/completions", json.dumps(odd).encode())
    assert status == 200
    assert isinstance(body, str)
    assert '"tool_calls"' in body
    assert body.endswith("data: [DONE]\n\n")


def test_other_addresses() -> None:
    status, body = call("GET", "/v1/nothing")
    assert status == 404
    assert isinstance(body, dict)
    assert "GET /v1/models" in body["error"]["message"]


@pytest.mark.parametrize("headers", [{"Origin": "https://evil.test"}, {"Host": "evil.test"}])
def test_websites_do_not_get_in(headers: dict[str, str]) -> None:
    status, _ = call("POST", "/v1/chat/completions", json.dumps(HELLO).encode(), **headers)
    assert status == 403


def test_the_limit_of_tokens() -> None:
    found = answer("tell me a story", max_output_tokens=12)
    assert found[-1].finish_reason == "length"
    usage = next(chunk.usage for chunk in found if chunk.usage)
    assert usage.output_tokens == 12


def test_several_people_in_one_message() -> None:
    said_by = [line("Ren", "hi"), line("Alice", "so\nNote: there", 'in reply to Mochi: "a (b)"')]
    asked = read({"stream": True, "messages": [{"role": "user", "content": "\n".join(said_by)}]})
    assert (asked.user, asked.words) == ("Alice", "so\nNote: there")
    plain = read({"stream": True, "messages": [{"role": "user", "content": "<@12> hi"}]})
    assert (plain.user, plain.words) == ("", "hi")


def test_the_question_that_a_note_names() -> None:
    note = '(Now answer what Mika wrote: "@Mochi good night". What stands after it was said since.)'
    messages = [
        {"role": "user", "content": "Mika: @Mochi good night\nRen: hm"},
        {"role": "assistant", "content": "Hm."},
        {"role": "user", "content": note},
    ]
    asked = read({"messages": messages, "stream": True})
    assert (asked.user, asked.words) == ("Mika", "good night")


def test_history_makes_a_difference() -> None:
    """The same words a second time get another answer (sooner or later)."""
    first = answer("penguins are nice")
    later = answer("penguins are nice", said("assistant", "yes"), said("user", "Ren: hm"))
    assert [c.content for c in first] != [c.content for c in later]


def test_speed_is_in_tokens() -> None:
    model = DemoModel(speed=2)
    assert model.tokens_per_second == 2 * TOKENS_PER_SECOND
    model.tokens_per_second = 10
    assert model.speed == 10 / TOKENS_PER_SECOND
