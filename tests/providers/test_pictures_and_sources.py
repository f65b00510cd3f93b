"""Answers that are not only text: pictures, sounds, and links to the pages that were found."""

from __future__ import annotations

import base64
import wave
from io import BytesIO
from typing import Any

import pytest

from discord_stage.model_servers import ModelServer
from discord_stage.model_servers.scripts import Cite, Refuse, Say, Show
from oshaberi.chunks import AnswerFile, Chunk, ToolCall
from oshaberi.errors import ConfigError
from oshaberi.providers.anthropic.request import body as anthropic_body
from oshaberi.providers.google.events import GeminiEvent
from oshaberi.providers.google.events import read as read_gemini
from oshaberi.providers.openai_chat.events import read as read_chat
from oshaberi.providers.openai_chat.request import body as chat_body
from oshaberi.providers.openai_responses.request import body as responses_body
from oshaberi.providers.presets import PRESETS, check_search
from oshaberi.providers.registry import connect
from oshaberi.providers.request.model_request import (
    Endpoint,
    Request,
    ToolDeclaration,
    ToolResult,
    ToolRound,
    said,
)
from oshaberi.providers.wire.answer_files import MOST_BYTES, FileStep, answer_file, from_data_url
from oshaberi.providers.wire.chunk_assembler import ChunkAssembler, links
from oshaberi.providers.wire.steps import CitedPage, FinishStep
from tests.providers.adapter_runs import chunks, read, run, text
from tests.providers.provider_families import FAMILIES, Family

PNG = b"\x89PNG\r\n\x1a\n" + b"pixels"
ASKED = Request((said("user", "draw a cat", "current"),), (ToolDeclaration("now"),))
BY_NAME = {family.name: family for family in FAMILIES}
SHOWING = pytest.mark.parametrize(
    "family", [BY_NAME[name] for name in ("openrouter", "openai-responses", "google")], ids=str
)
CITING = pytest.mark.parametrize(
    "family",
    [BY_NAME[name] for name in ("openrouter", "openai-responses", "google", "anthropic")],
    ids=str,
)


def _files(found: list[Chunk]) -> list[AnswerFile]:
    return [file for chunk in found for file in chunk.files]


@SHOWING
def test_a_picture_comes_once_in_order(family: Family) -> None:
    found = chunks(family, Say("Here:"), Show(PNG), Say("Done."))
    assert _files(found) == [AnswerFile("picture-1.png", PNG)]
    assert text(found) == "Here:Done."
    assert found[-1].type == "done"
    assert _files(chunks(family, Show(PNG))) == [AnswerFile("picture-1.png", PNG)]


def test_an_address_that_no_message_can_hold_is_no_link() -> None:
    pages = [CitedPage("https://tea.example/" + "x" * 3000, "Tea"), CitedPage("https://a.example/")]
    assert links(pages) == "\n\n-# [a.example](<https://a.example/>)"
    assert links(pages[:1]) == ""
    assert "](<b" not in links([CitedPage("https://a](<b/c")]).partition("(<https")[0]


@CITING
def test_cited_pages_become_links_after_the_text(family: Family) -> None:
    steps = [Cite(f"https://tea.example/{n}", f"Tea {n}") for n in range(9)]
    found = chunks(family, Say("Tea is warm."), *steps, steps[0])
    linked = [f"[Tea {n}](<https://tea.example/{n}>)" for n in range(5)]
    assert found[-1].links == f"\n\n-# {' · '.join(linked)}"
    assert text(found) == "Tea is warm."
    few = chunks(family, Say("Hm."), *steps, request=Request(ASKED.items, most_sources=1))
    assert few[-1].links == f"\n\n-# {linked[0]}"
    none = chunks(family, Say("Hm."), *steps, request=Request(ASKED.items, most_sources=0))
    assert none[-1].links == ""


def test_perplexity_sends_what_it_found() -> None:
    both = {"search_results": [{"url": "https://a.b", "title": "A"}], "citations": ["https://a.b"]}
    delta = {"choices": [{"index": 0, "delta": {"content": "x"}, "finish_reason": "stop"}]}
    assert CitedPage("https://a.b", "A") in read_chat({**delta, **both})
    alone = read_chat({**delta, "citations": ["https://c.d"]})
    assert [one for one in alone if isinstance(one, CitedPage)] == [CitedPage("https://c.d")]


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (PNG, "picture-1.png"),
        (b"\xff\xd8\xff\xe0jpeg", "picture-1.jpg"),
        (b"RIFF....WEBPVP8 ", "picture-1.webp"),
        (b"RIFF....WAVEfmt ", "sound-1.wav"),
        (b"OggSound", "sound-1.ogg"),
        (b"ID3tags", "sound-1.mp3"),
    ],
)
def test_the_first_bytes_decide_what_it_is(content: bytes, name: str) -> None:
    step = FileStep(base64.b64encode(content).decode(), "image/svg+xml")
    assert answer_file(step, 1) == AnswerFile(name, content)


@pytest.mark.parametrize(
    "data",
    [
        base64.b64encode(b"<svg onload=alert(1)>").decode(),
        base64.b64encode(b"MZ program").decode(),
        base64.b64encode(b"RIFF").decode(),
        "not base64!",
        "",
        "A" * (MOST_BYTES * 2),
    ],
)
def test_what_cannot_be_shown_has_no_content(data: str) -> None:
    assert answer_file(FileStep(data, "image/png"), 1).content == b""


def test_gemini_speaks_in_samples() -> None:
    samples = b"\x01\x00" * 240
    step = FileStep(base64.b64encode(samples).decode(), "audio/L16;codec=pcm;rate=12000")
    made = answer_file(step, 2)
    assert made.name == "sound-2.wav"
    with wave.open(BytesIO(made.content)) as sound:
        assert (sound.getframerate(), sound.getnchannels(), sound.getsampwidth()) == (12000, 1, 2)
        assert sound.readframes(240) == samples


def test_only_the_first_files_are_taken() -> None:
    assembler = ChunkAssembler("p", ASKED)
    step = FileStep(base64.b64encode(PNG).decode())
    found = [*assembler.take([step] * 50), *assembler.take([FinishStep("stop")])]
    assert [bool(file.content) for file in _files(list(found))] == [True] * 4 + [False]


def test_a_picture_is_never_fetched() -> None:
    assert from_data_url("https://evil.example/cat.png") is None
    assert from_data_url(None) is None
    assert from_data_url("data:image/png;base64,QUJD") == FileStep("QUJD", "image/png")


def test_drafts_in_thoughts_are_not_shown() -> None:
    part = {"inlineData": {"mimeType": "image/png", "data": "QUJD"}, "thought": True}
    steps = read_gemini(GeminiEvent({"candidates": [{"content": {"parts": [part]}}]}))
    assert not any(isinstance(step, FileStep) for step in steps)


# -- what is asked for ---------------------------------------------------------------------------


def _kinds(body: dict[str, Any]) -> list[str]:
    return [str(tool.get("name") or tool["type"]) for tool in body["tools"]]


def test_the_own_search_stands_beside_the_tools() -> None:
    asked = Request(ASKED.items, ASKED.tools, search=True)
    assert _kinds(responses_body(asked, Endpoint("openai", "gpt-6"))) == ["now", "web_search"]
    assert _kinds(anthropic_body(asked, Endpoint("anthropic", "claude-x"))) == ["web_search", "now"]
    router = Endpoint("openrouter", "x/y", quirks=PRESETS["openrouter"].quirks)
    assert chat_body(asked, router)["plugins"] == [{"id": "web"}]
    assert "plugins" not in chat_body(ASKED, router)
    sonar = Endpoint("perplexity", "sonar", quirks=PRESETS["perplexity"].quirks)
    assert chat_body(ASKED, sonar)["disable_search"] is True
    assert "disable_search" not in chat_body(asked, sonar)


def test_pictures_are_asked_for() -> None:
    asked = Request(ASKED.items, pictures=True)
    assert _kinds(responses_body(asked, Endpoint("openai", "gpt-6"))) == ["image_generation"]
    router = Endpoint("openrouter", "x/y", quirks=PRESETS["openrouter"].quirks)
    assert chat_body(asked, router)["modalities"] == ["image", "text"]
    assert "modalities" not in chat_body(asked, Endpoint("groq", "x"))


@pytest.mark.parametrize(
    ("model", "tools"),
    [
        ("gemini-3-pro", ["googleSearch", "functionDeclarations"]),
        ("gemini-2.5-pro", ["googleSearch"]),
    ],
)
def test_googles_search(model: str, tools: list[str]) -> None:
    family = BY_NAME["google"]

    async def scenario(_adapter: Any, server: ModelServer) -> None:
        adapter: Any = connect("google", model, api_key="k", base_url=server.url)
        await read(adapter, Request(ASKED.items, ASKED.tools, search=True, pictures=True))
        await adapter.aclose()
        sent = server.requests[-1].json
        assert [key for tool in sent["tools"] for key in tool] == tools
        told = adapter.endpoint.learned.told(adapter.endpoint.place)
        both_words = "it takes its own search or the tools, not both: the tools are left out"
        assert told == (() if len(tools) == 2 else (both_words,))
        both = sent.get("toolConfig", {}).get("includeServerSideToolInvocations")
        assert both is (True if len(tools) == 2 else None)
        assert sent["generationConfig"]["responseModalities"] == ["TEXT", "IMAGE"]

    run(family, scenario)


def test_a_gemini_that_takes_only_one_of_both_keeps_the_search() -> None:
    words = "Tool use with function calling is unsupported by the model."

    async def scenario(adapter: Any, server: ModelServer) -> None:
        await read(adapter, Request(ASKED.items, ASKED.tools, search=True))
        assert [key for tool in server.requests[-1].json["tools"] for key in tool] == [
            "googleSearch"
        ]
        assert [*adapter.endpoint.learned.told(adapter.endpoint.place)] == [
            "it takes its own search or the tools, not both: the tools are left out"
        ]

    run(BY_NAME["google"], scenario, (Refuse("api_error", words),), (Say("Found."),))


def test_without_the_tools_their_earlier_calls_are_told() -> None:
    """Another model called a tool in this answer, and this one goes on."""
    done = ToolRound((ToolCall("now", {}),), (ToolResult("half past six"),))

    async def scenario(_adapter: Any, server: ModelServer) -> None:
        adapter: Any = connect("google", "gemini-2.5-pro", api_key="k", base_url=server.url)
        await read(adapter, Request((*ASKED.items, done), ASKED.tools, search=True))
        await adapter.aclose()
        sent = server.requests[-1].body.decode()
        assert "functionCall" not in sent
        assert "half past six" in sent

    run(BY_NAME["google"], scenario)


@pytest.mark.parametrize(
    ("provider", "base_url", "hint"),
    [
        ("xai", None, "xai-responses"),
        ("openai", "http://127.0.0.1:8080/v1", "openai-responses"),
        ("groq", None, "no web search"),
        ("ollama-native", None, "no web search"),
        ("bedrock", None, "no web search"),
    ],
)
def test_a_search_that_is_not_there_is_a_mistake(
    provider: str, base_url: str | None, hint: str
) -> None:
    with pytest.raises(ConfigError, match=hint):
        check_search(provider, base_url)


@pytest.mark.parametrize(
    "provider", ["openai", "xai-responses", "openrouter", "perplexity", "google", "vertex-claude"]
)
def test_a_search_that_is_there_is_none(provider: str) -> None:
    check_search(provider, None)
    check_search("of a plug-in", None)


def test_bedrock_is_not_offered_a_search() -> None:
    asked = Request((said("user", "hi", "current"),), search=True)
    assert "tools" not in anthropic_body(asked, Endpoint("bedrock", "claude-1"))
    assert "tools" in anthropic_body(asked, Endpoint("vertex-claude", "claude-1"))


def spoken(*pieces: bytes, words: str = "", **more: Any) -> list[Chunk]:
    """What comes of a spoken answer in these pieces."""
    assembler = ChunkAssembler("p", ASKED)
    found: list[Chunk] = []
    for piece in pieces:
        audio = {"id": "audio_1", "data": base64.b64encode(piece).decode(), **more}
        found += assembler.take(read_chat({"choices": [{"delta": {"audio": audio}}]}))
    said_aloud = {"audio": {"transcript": words, "expires_at": 1}}
    found += assembler.take(
        read_chat({"choices": [{"delta": said_aloud, "finish_reason": "stop"}]})
    )
    return [*found, *assembler.finish()]


def test_what_a_model_says_aloud_is_one_file_and_its_words() -> None:
    samples = bytes(range(256)) * 40
    found = spoken(samples[:7], samples[7:4000], samples[4000:], words="Good evening.")
    assert text(found) == "Good evening."
    (file,) = (one for chunk in found for one in chunk.files)
    assert file.name == "sound-1.wav"
    with wave.open(BytesIO(file.content)) as sound:
        assert sound.readframes(sound.getnframes()) == samples
        assert (sound.getnchannels(), sound.getsampwidth(), sound.getframerate()) == (1, 2, 24_000)
    assert found[-1].type == "done"


def test_a_sound_with_a_header_stays_as_it_is() -> None:
    found = spoken(b"ID3" + b"x" * 10, b"more")
    (file,) = (one for chunk in found for one in chunk.files)
    assert (file.name, file.content) == ("sound-1.mp3", b"ID3" + b"x" * 10 + b"more")


def test_a_sound_without_end_has_no_content() -> None:
    piece = b"x" * (MOST_BYTES // 4)
    found = spoken(*[piece] * 20, words="and so on")
    (file,) = (one for chunk in found for one in chunk.files)
    assert (file.name, file.content) == ("sound-1", b"")
    assert text(found) == "and so on"
    broken = read_chat({"choices": [{"delta": {"audio": {"data": "no base64!"}}}]})
    assembler = ChunkAssembler("p", ASKED)
    assembler.take([*broken, FinishStep("stop")])
    assert assembler.finish()[0].files == (AnswerFile("sound-1"),)


def test_a_sound_is_lost_where_its_words_were_cut() -> None:
    asked = Request(ASKED.items, speaker_guard=True, speakers=("Mika",))
    assembler = ChunkAssembler("p", asked)
    audio = {"data": base64.b64encode(b"samples").decode(), "transcript": "Yes.\nMika: no"}
    steps = read_chat({"choices": [{"delta": {"audio": audio}}]})
    found = [*assembler.take(steps), *assembler.finish()]
    assert text(found) == "Yes."
    assert not any(chunk.files for chunk in found)


def test_silence_is_no_file() -> None:
    assert not any(chunk.files for chunk in spoken(words="Only words."))
