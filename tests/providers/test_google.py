"""What is Gemini's own: parts, signatures on calls, blocked prompts, and the traps of its SDK."""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pytest

from discord_stage.model_servers import ModelServer
from discord_stage.model_servers.google_wire import GoogleWire, blocked_prompt
from discord_stage.model_servers.scripts import Call, Count, Refuse, Say, Status, Step, Think
from oshaberi.chunks import Chunk, ToolCall
from oshaberi.errors import ConfigError
from oshaberi.providers.base import Adapter
from oshaberi.providers.registry import connect
from oshaberi.providers.request.model_request import (
    ContextItem,
    FilePart,
    ImagePart,
    Request,
    TextPart,
    ToolDeclaration,
    ToolResult,
    ToolRound,
    said,
)
from tests.providers.adapter_runs import ASK, chunks, error, read, run, text, thoughts
from tests.providers.provider_families import KEY, Family
from tests.providers.recorded_bodies import adapter_of_bytes

GOOGLE = Family("google", GoogleWire, "google")
STREAM = {"content-type": "text/event-stream"}


def events(*bodies: Any) -> Status:
    return Status(200, "".join(f"data: {json.dumps(body)}\r\n\r\n" for body in bodies), STREAM)


def candidate(*parts: Any, **fields: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"role": "model", "parts": list(parts)}, **fields}]}


def asked(request: Request, model: str = "gemini-3-flash", **settings: Any) -> dict[str, Any]:
    """The body of a request."""

    async def main() -> dict[str, Any]:
        async with ModelServer(GoogleWire()) as server:
            adapter = connect("google", model, api_key=KEY, base_url=server.url, **settings)
            assert (await read(adapter, request))[-1].type == "done"
            await adapter.aclose()
            body: dict[str, Any] = server.requests[0].json
            assert server.requests[0].path.startswith(f"/v1beta/models/{model}:")
            return body

    return asyncio.run(main())


# -- asking --------------------------------------------------------------------------------------


def test_roles_and_the_system() -> None:
    items = (
        said("system", "Be brief."),
        said("assistant", "Welcome."),
        said("user", "hi"),
        said("user", "you there?"),
        said("system", "It is late."),
        said("assistant", "yes"),
    )
    body = asked(Request(items, prefill="Well, "))
    assert body["systemInstruction"]["parts"] == [{"text": "Be brief.\n\nIt is late."}]
    assert [(c["role"], [p["text"] for p in c["parts"]]) for c in body["contents"]] == [
        ("user", ["…"]),
        ("model", ["Welcome."]),
        ("user", ["hi\nyou there?"]),
        ("model", ["yes", "Well, "]),
    ]


def test_somebody_must_have_spoken() -> None:
    body = asked(Request((said("system", "Be brief."),)))
    assert body["contents"] == [{"role": "user", "parts": [{"text": "…"}]}]


def test_settings() -> None:
    tool = ToolDeclaration("look", "Look at it.", {"type": "object", "properties": {"at": {}}})
    request = replace(
        ASK,
        tools=(tool,),
        stop_strings=tuple("abcdefgh"),
        temperature=0.5,
        top_p=0.9,
        max_output_tokens=77,
        extra={"top_k": 3},
    )
    body = asked(request)
    assert body["generationConfig"] == {
        "temperature": 0.5,
        "topP": 0.9,
        "topK": 3,
        "maxOutputTokens": 77 + 8192,  # it thinks unasked
        "stopSequences": list("abcde"),
    }
    (declared,) = body["tools"][0]["functionDeclarations"]
    assert (declared["name"], declared["description"]) == ("look", "Look at it.")
    assert declared["parameters_json_schema"] == tool.parameters


@pytest.mark.parametrize(
    ("model", "thinking", "config"),
    [
        ("gemini-2.5-flash", "off", {"include_thoughts": False, "thinking_budget": 0}),
        ("gemini-2.5-flash", "medium", {"include_thoughts": True, "thinking_budget": 8192}),
        ("gemini-3-flash", "off", {"include_thoughts": False, "thinking_level": "MINIMAL"}),
        ("gemini-3.1-pro", "high", {"include_thoughts": True, "thinking_level": "HIGH"}),
        ("gemini-flash-latest", "low", {"include_thoughts": True, "thinking_level": "LOW"}),
        ("gemini-2.5-flash", 512, {"include_thoughts": True, "thinking_budget": 512}),
        ("gemini-2.5-flash", 90_000, {"include_thoughts": True, "thinking_budget": 24_576}),
        ("gemini-2.5-pro", "off", {"include_thoughts": False, "thinking_budget": 128}),
        ("gemini-2.0-flash", "high", None),
        ("gemini-3-pro-preview", "off", {"include_thoughts": False, "thinking_level": "LOW"}),
        ("gemini-3-pro-preview", "medium", {"include_thoughts": True, "thinking_level": "HIGH"}),
        ("gemini-3-flash", 512, {"include_thoughts": True, "thinking_level": "LOW"}),
        ("gemini-3-flash", 0, {"include_thoughts": False, "thinking_level": "MINIMAL"}),
        ("gemini-3-flash", None, None),
    ],
)
def test_thinking(model: str, thinking: Any, config: dict[str, Any] | None) -> None:
    body = asked(replace(ASK, thinking=thinking), model)
    assert body.get("generationConfig", {}).get("thinkingConfig") == config


def test_pictures_and_files() -> None:
    async def fetch(url: str) -> ImagePart | TextPart:
        if url.endswith("bad"):
            return TextPart("[image could not be read: no such host]")
        return ImagePart(data=b"JPEG", mime="image/jpeg")

    parts = (
        TextPart("look"),
        ImagePart(url="https://x.test/good"),
        ImagePart(url="https://x.test/bad"),
        FilePart("a.pdf", data=b"PDF", mime="application/pdf"),
        FilePart("a.txt", text="words"),
        FilePart("a.zip", data=b"PK", mime="application/zip"),
    )
    (content,) = asked(Request((ContextItem("user", parts),)), fetch_image=fetch)["contents"]
    assert content["parts"] == [
        {"text": "look"},
        {"inlineData": {"data": "SlBFRw==", "mime_type": "image/jpeg"}},
        {"text": "[image could not be read: no such host]"},
        {"inlineData": {"data": "UERG", "mime_type": "application/pdf"}},
        {"text": "[file a.txt]\nwords\n[end of a.txt]"},
        {"text": "[file a.zip (application/zip), not shown]"},
    ]


def test_the_environment_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where to send what is decided here, whatever the SDK finds lying around."""
    monkeypatch.setenv("GOOGLE_API_KEY", "somebody-elses-key")
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")
    monkeypatch.setenv("GOOGLE_GENAI_USE_ENTERPRISE", "true")
    monkeypatch.setenv("GOOGLE_GENAI_API_VERSION", "v1alpha")
    monkeypatch.setenv("GOOGLE_GENAI_HTTP_CLIENT", "httpx2")
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "a-project")

    async def scenario(adapter: Adapter, server: ModelServer) -> tuple[str, str]:
        await read(adapter)
        asked = server.requests[0]
        return asked.headers["x-goog-api-key"], asked.path.split("/")[1]

    assert run(GOOGLE, scenario) == (KEY, "v1beta")


def test_the_version_of_the_api_is_the_one_that_has_all_models() -> None:
    """The SDK's own choice is `v1`, which has neither thinking nor the newest models."""

    async def scenario(adapter: Adapter, server: ModelServer) -> str:
        await read(adapter)
        return server.requests[0].path

    assert run(GOOGLE, scenario).startswith("/v1beta/models/model-1:")


def test_without_the_sdk_a_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "google.genai", None)
    with pytest.raises(ConfigError, match=r'pip install "oshaberi\[google\]"'):
        connect("google", "gemini-3-flash", api_key=KEY)


# -- tools ---------------------------------------------------------------------------------------


def test_each_signature_goes_back_to_its_call() -> None:
    async def scenario(adapter: Adapter, server: ModelServer) -> list[Any]:
        last = (await read(adapter))[-1]
        done = ToolRound(
            last.calls,
            (ToolResult("7"), ToolResult('{"sky": "blue"}'), ToolResult("no", is_error=True)),
            "Let me see.",
            last.thoughts,
            adapter.name,
        )
        await read(adapter, replace(ASK, items=(*ASK.items, done)))
        contents: list[Any] = server.requests[1].json["contents"]
        return contents

    script = (
        Say("Let me see."),
        Call("count", '{"n": 1}'),
        Call("look", "{}", id="b", signature="U0lHTkVE"),
        Call("look", '{"again": true}'),
    )
    _user, model, results = run(GOOGLE, scenario, script)
    assert model == {
        "role": "model",
        "parts": [
            {"text": "Let me see."},
            {"functionCall": {"name": "count", "args": {"n": 1}}},
            {
                "functionCall": {"id": "b", "name": "look", "args": {}},
                "thoughtSignature": "U0lHTkVE",
            },
            {"functionCall": {"name": "look", "args": {"again": True}}},
        ],
    }
    assert results == {
        "role": "user",
        "parts": [
            {"functionResponse": {"name": "count", "response": {"output": 7}}},
            {"functionResponse": {"id": "b", "name": "look", "response": {"sky": "blue"}}},
            {"functionResponse": {"name": "look", "response": {"error": "no"}}},
        ],
    }


def test_a_call_stands_in_the_turn_of_the_text_before_it() -> None:
    done = ToolRound((ToolCall("look"),), (ToolResult("7"),))
    items = (said("user", "hi"), said("assistant", "hm"), done, said("user", "and?"))
    assert [(c["role"], len(c["parts"])) for c in asked(Request(items))["contents"]] == [
        ("user", 1),
        ("model", 2),
        ("user", 1),
        ("user", 1),
    ]


def test_calls_of_one_event_and_of_several() -> None:
    call = {"functionCall": {"name": "a", "args": {"n": 1}}}
    other = {"functionCall": {"name": "b", "args": {"n": 2}}}
    stream = events(candidate({"text": "Two. "}, call, call), candidate(other, finishReason="STOP"))
    said_first, last = chunks(GOOGLE, stream)
    assert said_first == Chunk("text", "Two. ")
    assert last.calls == (ToolCall("a", {"n": 1}), ToolCall("a", {"n": 1}), ToolCall("b", {"n": 2}))
    assert last.finish_reason == "tool_calls"


def test_a_malformed_call_is_told_to_the_model() -> None:
    last = chunks(GOOGLE, Say("Hm."), Call("good", "{}"), Call("bad", '{"a": '))[-1]
    good, bad = last.calls
    assert (good.name, good.error, bad.name, bad.args) == ("good", None, "bad", {})
    assert bad.error is not None
    assert "the arguments are not valid JSON" in bad.error


@pytest.mark.parametrize("message", [{}, {"finishMessage": "Malformed function call: ???"}])
def test_a_malformed_call_that_names_nothing(message: dict[str, str]) -> None:
    broken = candidate(finishReason="MALFORMED_FUNCTION_CALL", **message)
    (call,) = chunks(GOOGLE, events(broken))[-1].calls
    assert (call.name, call.error) == ("unknown", "the call names no tool")


def test_a_signature_in_the_other_alphabet_goes_back() -> None:
    async def scenario(adapter: Adapter, server: ModelServer) -> str:
        last = (await read(adapter))[-1]
        done = ToolRound(last.calls, (ToolResult("7"),), "", last.thoughts, adapter.name)
        await read(adapter, replace(ASK, items=(*ASK.items, done)))
        sent: str = server.requests[1].json["contents"][1]["parts"][0]["thoughtSignature"]
        return sent

    assert run(GOOGLE, scenario, (Call("look", signature="+/+/"),)) == "-_-_"


# -- answers -------------------------------------------------------------------------------------


def test_thoughts_are_summaries_and_keep_their_signature() -> None:
    found = chunks(GOOGLE, Think("One.", "Two.", signature="U0lH"), Say("Yes."))
    assert (thoughts(found), text(found)) == ("One.Two.", "Yes.")
    parts = [part for chunk in found for part in chunk.thoughts]
    assert {part.kind for part in parts} == {"summary"}
    assert "U0lH" in [part.signature for part in parts]


def test_a_blocked_prompt_is_an_error() -> None:
    problem = error(chunks(GOOGLE, Status(200, blocked_prompt(), STREAM)))
    assert (problem.type, problem.code, problem.retryable) == (
        "content_blocked",
        "PROHIBITED_CONTENT",
        False,
    )


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("STOP", "stop"),
        ("MAX_TOKENS", "length"),
        ("OTHER", "other"),
        ("NEVER_HEARD_OF", "never_heard_of"),
    ],
)
def test_reasons_to_finish(theirs: str, ours: str) -> None:
    last = chunks(GOOGLE, events(candidate({"text": "x"}, finishReason=theirs)))[-1]
    assert (last.type, last.finish_reason) == ("done", ours)


@pytest.mark.parametrize(
    "reason", ["SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE"]
)
def test_reasons_that_withhold(reason: str) -> None:
    found = chunks(GOOGLE, events(candidate({"text": "x"}), candidate(finishReason=reason)))
    assert (text(found), error(found).type) == ("x", "content_blocked")


def test_an_answer_that_the_model_broke() -> None:
    problem = error(chunks(GOOGLE, events(candidate(finishReason="UNEXPECTED_TOOL_CALL"))))
    assert (problem.type, problem.retryable) == ("api_error", True)


def test_thinking_counts_as_output() -> None:
    usage = {"promptTokenCount": 5, "candidatesTokenCount": 7, "thoughtsTokenCount": 30}
    body = candidate({"text": "x"}, finishReason="STOP") | {"usageMetadata": usage}
    assert (
        chunks(GOOGLE, events(body))[-1].usage == chunks(GOOGLE, Say("x"), Count(5, 37))[-1].usage
    )


def test_what_cannot_be_shown_is_passed_over() -> None:
    parts = [
        {"inlineData": {"mimeType": "image/png", "data": "AAAA"}},
        {"executableCode": {"language": "PYTHON", "code": "1"}},
        {"text": "here"},
    ]
    assert text(chunks(GOOGLE, events(candidate(*parts, finishReason="STOP")))) == "here"


# -- errors --------------------------------------------------------------------------------------


def test_how_long_to_wait_is_kept() -> None:
    details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"}]
    body = {
        "error": {
            "code": 429,
            "status": "RESOURCE_EXHAUSTED",
            "message": "You exceeded your current quota, please check your plan and billing.",
            "details": details,
        }
    }
    problem = error(chunks(GOOGLE, Status(429, json.dumps(body))))
    assert (problem.type, problem.retryable) == ("rate_limit", True)
    assert problem.raw["retry_after_s"] == 34.5


@pytest.mark.parametrize("step", [Refuse("provider_overloaded"), Refuse("rate_limit")])
def test_nothing_is_tried_twice(step: Step) -> None:
    async def scenario(adapter: Adapter, server: ModelServer) -> int:
        assert error(await read(adapter)).retryable
        return len(server.requests)

    assert run(GOOGLE, scenario, (step,)) == 1


def test_a_refused_connection_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The SDK would wait up to ten seconds and try again."""
    slept: list[float] = []

    async def sleep(seconds: float, *_: Any) -> None:
        slept.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    adapter = connect("google", "gemini-3-flash", api_key=KEY, base_url="http://127.0.0.1:9")

    async def main() -> list[Chunk]:
        async with aclosing(adapter):
            return await read(adapter)

    assert error(asyncio.run(main())).type == "network"
    assert [seconds for seconds in slept if seconds >= 1] == []


def test_the_key_is_in_no_error() -> None:
    body = {"error": {"code": 400, "status": "INVALID_ARGUMENT", "message": f"Bad key {KEY}."}}
    problem = error(chunks(GOOGLE, Status(400, json.dumps(body))))
    assert KEY not in f"{problem} {problem.raw}"
    assert "[secret]" in problem.message


@pytest.mark.parametrize("end", ["\n", ""])
def test_a_stream_that_ends_with_a_bare_error_broke_off(end: str) -> None:
    """Not an event: lines of JSON, as Google writes them."""
    inner = {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}
    bare = json.dumps({"error": inner}, indent=2)
    body = f"data: {json.dumps(candidate({'text': 'Half'}))}\r\n\r\n{bare}{end}".encode()
    adapter = adapter_of_bytes("google", [body[:-40], body[-40:]])
    found = asyncio.run(read(adapter))
    assert text(found) == "Half"
    assert (error(found).type, error(found).message) == ("provider_overloaded", inner["message"])
