"""Adapters under the orchestrator: from a socket to sent messages, and a stop that hangs up."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from discord_stage.model_servers import ModelServer
from discord_stage.model_servers.scripts import (
    Call,
    Count,
    Cut,
    Refuse,
    Say,
    Stall,
    Step,
    Think,
)
from oshaberi.chunks import ProviderError
from oshaberi.delivery.config import StreamConfig
from oshaberi.delivery.recording_sink import RecordingSink
from oshaberi.providers.base import Adapter
from oshaberi.providers.request.model_request import (
    ContextItem,
    ImagePart,
    Part,
    Request,
    TextPart,
    said,
)
from oshaberi.stream import StreamContext, StreamResult, stream_to_sink
from oshaberi.text.config import TextConfig
from tests.providers.adapter_runs import ASK, read, run
from tests.providers.provider_families import Family, every_family, having

CONFIG = StreamConfig(text=TextConfig(humanizer_degree=1))


def _delivered(family: Family, *script: Step) -> tuple[StreamResult, list[str]]:
    async def scenario(adapter: Adapter, server: ModelServer) -> tuple[StreamResult, list[str]]:
        sink = RecordingSink()
        result = await stream_to_sink(adapter, ASK, CONFIG, StreamContext("c", user="u"), sink)
        await server.idle()
        return result, sink.contents

    return run(family, scenario, script)


@every_family
def test_an_answer_becomes_messages(family: Family) -> None:
    result, texts = _delivered(family, Say("Hello the", "re.\n\nHow are", " you?"))
    assert (result.status, result.finish_reason) == ("completed", "stop")
    assert texts == ["Hello there.", "How are you?"]


@having("calls", "usage", "thoughts")
def test_a_call_becomes_a_result(family: Family) -> None:
    script = (Think("Hm."), Say("One moment.\n"), Call("look", '{"at": 1}'), Count(7, 9))
    result, texts = _delivered(family, *script)
    assert (result.status, texts) == ("function_call", ["One moment."])
    assert result.usage is not None
    assert (result.usage.input_tokens, result.usage.output_tokens) == (7, 9)
    assert result.thought_log.texts[0] == "Hm."


@every_family
@pytest.mark.parametrize(("step", "kind"), [(Cut(), "network"), (Refuse("auth"), "auth")])
def test_an_error_becomes_a_result(family: Family, step: Step, kind: str) -> None:
    result, _texts = _delivered(family, Say("Half.\n"), step)
    assert result.status == "error"
    assert isinstance(result.data, ProviderError)
    assert result.data.type == kind


@every_family
def test_a_stop_hangs_up(family: Family) -> None:
    async def scenario(adapter: Adapter, server: ModelServer) -> None:
        sent = asyncio.Event()
        sink = RecordingSink(on_record=lambda _record: sent.set())
        context = StreamContext("c", user="u")
        streaming = asyncio.create_task(stream_to_sink(adapter, ASK, CONFIG, context, sink))
        await sent.wait()
        context.stops.request_stop("c", "u")
        result = await streaming
        assert result.status == "stopped_by_user"
        await server.all_closed()

    run(family, scenario, (Say("Hello.\n", "And "), Stall()))


PIXEL = bytes(range(60))
PIXEL_SENT = b64encode(PIXEL).decode()


def _fetching(found: Part) -> Callable[[str], Awaitable[Part]]:
    async def fetch(url: str) -> Part:
        assert url == "https://pictures.example/cat.png"
        return found

    return fetch


@having("thoughts")
@pytest.mark.parametrize(
    ("found", "sent"),
    [
        (ImagePart(data=PIXEL, mime="image/webp"), PIXEL_SENT),
        (TextPart("[image could not be read: too large]"), "could not be read: too large"),
        (None, "an image, not shown"),
    ],
    ids=["image", "note", "no fetcher"],
)
def test_images_are_fetched_by_what_was_handed_in(
    family: Family, found: Part | None, sent: str
) -> None:
    image = ImagePart("https://pictures.example/cat.png")
    seen = ContextItem("user", (TextPart("What is it?"), image))

    async def scenario(adapter: Adapter, server: ModelServer) -> str:
        await read(adapter, Request((seen,)))
        return server.requests[0].body.decode()

    fetch = _fetching(found) if found is not None else None
    body = run(family, scenario, fetch_image=fetch)
    assert sent in body
    assert "pictures.example" not in body


@every_family
def test_a_context_longer_than_the_window_is_trimmed(family: Family) -> None:
    history = tuple(said("user", f"{n:03} " + "word " * 50) for n in range(40))
    request = replace(ASK, items=(*history, *ASK.items), max_output_tokens=100)

    async def scenario(adapter: Adapter, server: ModelServer) -> str:
        await read(adapter, request)
        return server.requests[0].body.decode()

    body = run(family, scenario, window=1000)
    assert "000 word" not in body
    assert "039 word" in body
    assert "Be brief." in body
