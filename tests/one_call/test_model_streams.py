"""Streams as callers have them: text, chunks, and the stream objects of the real SDKs."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from typing import Any

import anthropic
import openai
import pytest
from google import genai
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

import oshaberi
from discord_stage.model_servers import (
    AnthropicWire,
    ModelServer,
    OpenAIResponsesWire,
    OpenAIWire,
    WireFormat,
)
from discord_stage.model_servers.google_wire import GoogleWire
from discord_stage.model_servers.scripts import Call, Count, Cut, Say, Step, Think
from oshaberi import Chunk, Delivery, ModelStreamError, ThoughtPart, ToolCall
from oshaberi.chunks import ProviderError
from oshaberi.delivery.recording_sink import RecordingSink

pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession")
"""Google's SDK does so."""

KEY = "sk-nobody"
ASKED: Any = [{"role": "user", "content": "which tea?"}]
Opened = Callable[[str, AsyncExitStack], Awaitable[Any]]


async def chat(url: str, stack: AsyncExitStack) -> Any:
    client = await stack.enter_async_context(openai.AsyncOpenAI(base_url=url, api_key=KEY))
    counted: Any = {"include_usage": True}
    return await client.chat.completions.create(
        model="m", messages=ASKED, stream=True, stream_options=counted
    )


async def chat_not_awaited(url: str, stack: AsyncExitStack) -> Any:
    client = await stack.enter_async_context(openai.AsyncOpenAI(base_url=url, api_key=KEY))
    return client.chat.completions.create(model="m", messages=ASKED, stream=True)


async def chat_manager(url: str, stack: AsyncExitStack) -> Any:
    client = await stack.enter_async_context(openai.AsyncOpenAI(base_url=url, api_key=KEY))
    return client.chat.completions.stream(model="m", messages=ASKED)


async def chat_in_a_thread(url: str, stack: AsyncExitStack) -> Any:
    client = stack.enter_context(openai.OpenAI(base_url=url, api_key=KEY))
    return await asyncio.to_thread(
        lambda: client.chat.completions.create(model="m", messages=ASKED, stream=True)
    )


async def responses(url: str, stack: AsyncExitStack) -> Any:
    client = await stack.enter_async_context(openai.AsyncOpenAI(base_url=url, api_key=KEY))
    return await client.responses.create(model="m", input="which tea?", stream=True)


async def responses_manager(url: str, stack: AsyncExitStack) -> Any:
    client = await stack.enter_async_context(openai.AsyncOpenAI(base_url=url, api_key=KEY))
    return client.responses.stream(model="m", input="which tea?")


async def messages(url: str, stack: AsyncExitStack) -> Any:
    client = anthropic.AsyncAnthropic(base_url=url, api_key=KEY)
    await stack.enter_async_context(client)
    return await client.messages.create(model="m", messages=ASKED, max_tokens=9, stream=True)


async def messages_manager(url: str, stack: AsyncExitStack) -> Any:
    client = anthropic.AsyncAnthropic(base_url=url, api_key=KEY)
    await stack.enter_async_context(client)
    return client.messages.stream(model="m", messages=ASKED, max_tokens=9)


async def messages_manager_in_a_thread(url: str, stack: AsyncExitStack) -> Any:
    client = stack.enter_context(anthropic.Anthropic(base_url=url, api_key=KEY))
    return client.messages.stream(model="m", messages=ASKED, max_tokens=9)


async def gemini(url: str, stack: AsyncExitStack) -> Any:
    client = genai.Client(api_key=KEY, http_options={"base_url": url})
    stack.push_async_callback(client.aio.aclose)
    stack.callback(client.close)
    return await client.aio.models.generate_content_stream(model="m", contents="which tea?")


async def _agent(url: str, stack: AsyncExitStack) -> Agent[None, str]:
    client = await stack.enter_async_context(openai.AsyncOpenAI(base_url=url, api_key=KEY))
    return Agent(OpenAIChatModel("m", provider=OpenAIProvider(openai_client=client)))


async def agent_run(url: str, stack: AsyncExitStack) -> Any:
    return (await _agent(url, stack)).run_stream("which tea?")


async def agent_result(url: str, stack: AsyncExitStack) -> Any:
    agent = await _agent(url, stack)
    return await stack.enter_async_context(agent.run_stream("which tea?"))


async def agent_events(url: str, stack: AsyncExitStack) -> Any:
    return (await _agent(url, stack)).run_stream_events("which tea?")


WIRES: dict[Opened, type[WireFormat]] = {
    chat: OpenAIWire,
    chat_not_awaited: OpenAIWire,
    chat_manager: OpenAIWire,
    chat_in_a_thread: OpenAIWire,
    responses: OpenAIResponsesWire,
    responses_manager: OpenAIResponsesWire,
    messages: AnthropicWire,
    messages_manager: AnthropicWire,
    messages_manager_in_a_thread: AnthropicWire,
    gemini: GoogleWire,
    agent_run: OpenAIWire,
    agent_result: OpenAIWire,
    agent_events: OpenAIWire,
}
AGENTS = (agent_run, agent_result, agent_events)
MODELS = [opened for opened in WIRES if opened not in AGENTS]


def name_of(opened: Opened) -> str:
    return opened.__name__


def answered(opened: Opened, *script: Step, **options: Any) -> tuple[Delivery, list[str]]:
    """What an SDK's stream of this answer becomes."""

    async def main() -> tuple[Delivery, list[str]]:
        sink = RecordingSink()
        async with ModelServer(WIRES[opened](), script) as server, AsyncExitStack() as stack:
            stream = await opened(server.url, stack)
            done = await oshaberi.deliver(stream, to=sink, degree=1, **options)
        return done, list(sink.contents)

    return asyncio.run(main())


@pytest.mark.parametrize("opened", WIRES, ids=name_of)
def test_the_text_of_every_sdk_is_delivered(opened: Opened) -> None:
    done, contents = answered(opened, Say("Gre", "en tea.\nOr bl", "ack?"))
    assert contents == ["Green tea.", "Or black?"]
    assert (done.status, done.text, done.undelivered) == (
        "completed",
        "Green tea.\nOr black?",
        "",
    )


@pytest.mark.parametrize("opened", WIRES, ids=name_of)
def test_reasoning_is_thoughts_and_never_text(opened: Opened) -> None:
    done, contents = answered(opened, Think("They like", " green."), Say("Green tea."))
    assert contents == ["Green tea."]
    assert "".join(done.thoughts) == "They like green."


@pytest.mark.parametrize("opened", MODELS, ids=name_of)
def test_calls_end_the_stream_and_are_in_the_result(opened: Opened) -> None:
    script = (Say("Let me look"), Call("brew", '{"minutes": 2}', id="c1"), Call("taste", id="c2"))
    done, contents = answered(opened, *script)
    assert contents == ["Let me look"]
    assert done.status == "function_call"
    assert [(call.name, dict(call.args)) for call in done.calls] == [
        ("brew", {"minutes": 2}),
        ("taste", {}),
    ]


@pytest.mark.parametrize("opened", [chat, messages, gemini], ids=name_of)
def test_tokens_are_counted(opened: Opened) -> None:
    done, _contents = answered(opened, Say("Tea."), Count(12, 3))
    assert done.result is not None
    assert done.result.usage is not None
    assert (done.result.usage.input_tokens, done.result.usage.output_tokens) == (12, 3)


@pytest.mark.parametrize("opened", MODELS, ids=name_of)
def test_a_broken_stream_is_the_callers_after_what_was_said(opened: Opened) -> None:
    seen: list[Exception] = []
    done, contents = answered(opened, Say("Green tea.\nOr "), Cut(), on_error=seen.append)
    assert contents[0] == "Green tea."
    assert done.status == "error"
    assert done.error is not None
    assert seen == [done.error]


def test_a_tool_that_an_agent_runs_itself_is_no_call() -> None:
    async def main() -> tuple[Delivery, list[str]]:
        sink, first = RecordingSink(), (Say("Let me look.\n"), Call("brew"))
        async with ModelServer(OpenAIWire(), first) as server, AsyncExitStack() as stack:
            server.play(Say("Done."))
            agent = await _agent(server.url, stack)
            agent.tool_plain(brew)
            events = agent.run_stream_events("tea, please")
            return await oshaberi.deliver(events, to=sink, degree=1), list(sink.contents)

    def brew() -> str:
        return "brewed"

    done, contents = asyncio.run(main())
    assert (done.status, done.calls, contents) == ("completed", (), ["Let me look.", "Done."])


# What callers write themselves.


def delivered(stream: Any, **options: Any) -> tuple[Delivery, list[str]]:
    async def main() -> tuple[Delivery, list[str]]:
        sink = RecordingSink()
        done = await oshaberi.deliver(stream, to=sink, degree=1, **options)
        return done, list(sink.contents)

    return asyncio.run(main())


async def tokens(*items: Any) -> AsyncIterator[Any]:
    for item in items:
        await asyncio.sleep(0)
        yield item


def test_any_iterator_of_text_is_a_stream() -> None:
    for stream in (tokens("a\n", "b"), iter(["a\n", "b"]), ["a\n", "b"], ("a\nb",), "a\nb"):
        assert delivered(stream)[1] == ["a", "b"]


def test_a_blocking_iterator_runs_in_a_thread() -> None:
    where: list[int] = []

    def blocking() -> Iterator[str]:
        where.append(threading.get_ident())
        yield "a"

    assert delivered(blocking())[1] == ["a"]
    assert where != [threading.get_ident()]


def test_chunks_say_everything_themselves() -> None:
    call = ToolCall("brew", {"minutes": 2})
    chunks = (
        Chunk("text", thoughts=(ThoughtPart("hm"),)),
        Chunk("text", "Let me see."),
        Chunk("function_call", calls=(call,)),
    )
    done, contents = delivered(tokens(*chunks))
    assert (contents, done.thoughts, done.calls) == (["Let me see."], ("hm",), (call,))


def test_thoughts_in_the_text_are_thoughts() -> None:
    done, contents = delivered("<think>be nice</think>Hi")
    assert (contents, done.thoughts) == (["Hi"], ("be nice",))


def test_an_error_chunk_is_raised() -> None:
    error = ProviderError("rate_limit", "slow down")
    with pytest.raises(ModelStreamError, match="slow down") as raised:
        delivered(tokens("Hi", Chunk("error", error=error)))
    assert raised.value.error.type == "rate_limit"


@pytest.mark.parametrize(
    ("stream", "told"),
    [
        (7, "'int' is not a stream"),
        (b"tea", "'bytes' is not a stream"),
        ([b"tea"], "cannot read 'bytes' in the stream"),
        (["a", 7], "cannot read 'int' in the stream"),
        ({"a": 1}, "'dict' is not a stream"),
    ],
)
def test_what_is_no_stream_is_refused_in_one_line(stream: Any, told: str) -> None:
    with pytest.raises(TypeError, match=told) as raised:
        delivered(stream)
    assert "\n" not in str(raised.value)


def test_a_stream_that_is_not_read_to_its_end_is_closed() -> None:
    closed: list[str] = []

    async def endless() -> AsyncIterator[Chunk | str]:
        try:
            yield Chunk("function_call", calls=(ToolCall("brew"),))
            yield "never read"
        finally:
            closed.append("yes")

    assert delivered(endless())[0].status == "function_call"
    assert closed == ["yes"]
