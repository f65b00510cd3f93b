"""Reads one event of an OpenAI-compatible stream. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from oshaberi.chunks import Chunk, ErrorType, ThoughtKind, ThoughtPart, text_chunk
from oshaberi.providers.error_classification import ProviderFailure
from oshaberi.providers.openai_chat.request import CALL_EXTRA, THINKING_BLOCKS
from oshaberi.providers.wire.answer_files import FileStep, SoundPiece, from_data_url
from oshaberi.providers.wire.errors import StreamError, body_failure
from oshaberi.providers.wire.sse_decoder import DONE
from oshaberi.providers.wire.steps import (
    CallPiece,
    CitedPage,
    FinishStep,
    SignedBlock,
    Step,
    TokenCount,
    token_count,
)

Event = Mapping[str, Any]

_REASONS = {
    "function_call": "tool_calls",
    "max_tokens": "length",
    "model_length": "length",
    "eos": "stop",
    "sensitive": "content_filter",
    "refusal": "content_filter",
}
_FAILURES: Mapping[str, ErrorType] = {
    "error": "api_error",
    "insufficient_system_resource": "provider_overloaded",
}
"""Finish reasons that mean that there is no answer, or not all of it."""
_PLAIN = frozenset({"content", "role"})
_GROWING = ("text", "summary", "data", "signature")


def read(event: Event, keeps_reasoning: bool = False) -> Sequence[Step]:
    """Return thoughts, text, pieces of calls, the end and tokens, in order."""
    choices = event.get("choices")
    if not choices:
        return _without_choices(event)
    choice = choices[0]
    if choice.get("index"):
        # A second answer to the same request was not asked for: it is not shown.
        first = [one for one in choices if not one.get("index")]
        return read({**event, "choices": first}, keeps_reasoning)
    delta = choice.get("delta") or choice.get("message") or {}
    finish = choice.get("finish_reason")
    content = delta.get("content")
    if finish is None and content and content.__class__ is str and delta.keys() <= _PLAIN:
        # Fast path for nearly every token.
        return (text_chunk(content),)
    return tuple(_steps(event, delta, finish, keeps_reasoning))


def _without_choices(event: Event) -> Sequence[Step]:
    if event is DONE:
        return (FinishStep(),)
    if event.get("error"):
        raise StreamError(body_failure(event))
    return tuple(_tokens(event))


def _failed(event: Event, finish: str) -> StreamError:
    """Return the error of a failed answer: the server's own message, or only the reason."""
    error = event.get("error") or event["choices"][0].get("error")
    if error:
        return StreamError(body_failure({"error": error}))
    message = f"the provider could not complete the answer ({finish})"
    kind = _FAILURES[finish]
    return StreamError(ProviderFailure(None, (finish,), message, kind=kind, is_transient=True))


def _steps(event: Event, delta: Event, finish: str | None, keeps: bool) -> Iterator[Step]:
    if event.get("error"):
        raise StreamError(body_failure(event))
    if finish is not None and finish in _FAILURES:
        raise _failed(event, finish)
    yield from _thoughts(delta, keeps)
    yield from _content(delta.get("content") or delta.get("refusal"))
    yield from _spoken(delta.get("audio"))
    yield from _pictures(delta.get("images"))
    yield from _cited(event, delta)
    for call in delta.get("tool_calls") or ():
        function = call.get("function") or {}
        yield CallPiece(
            call.get("index"),
            function.get("name") or "",
            _arguments(function.get("arguments")),
            call.get("id") or None,
        )
        if call.get("extra_content"):
            number = call.get("index") or 0
            kept = {"type": CALL_EXTRA, "call": number, "extra_content": call["extra_content"]}
            yield SignedBlock(f"call {number}", kept)
    if finish:
        yield FinishStep(_REASONS.get(finish, finish))
    yield from _tokens(event)


def _arguments(given: Any) -> str:
    """Return the arguments as JSON text. Some servers send the object itself."""
    if isinstance(given, str):
        return given
    return json.dumps(given) if given else ""


def _content(content: Any) -> Iterator[Chunk]:
    """Yield the text. Mistral sends a list of blocks, some of which are thoughts."""
    if isinstance(content, str):
        if content:
            yield Chunk("text", content)
        return
    for block in content or ():
        if block.get("type") == "thinking":
            text = "".join(inner.get("text", "") for inner in block.get("thinking") or ())
            yield _thought(text, "raw")
        elif block.get("text"):
            yield Chunk("text", block["text"])


def _cited(event: Event, delta: Event) -> Iterator[CitedPage]:
    """Yield cited pages: OpenAI's and OpenRouter's annotations, Perplexity's search results."""
    for one in delta.get("annotations") or ():
        page = one.get("url_citation") if isinstance(one, Mapping) else None
        if isinstance(page, Mapping) and page.get("url"):
            yield CitedPage(str(page["url"]), str(page.get("title") or ""))
    results = event.get("search_results")
    for one in results if isinstance(results, list) else ():
        if isinstance(one, Mapping) and one.get("url"):
            yield CitedPage(str(one["url"]), str(one.get("title") or ""))
    for url in () if results else event.get("citations") or ():
        if isinstance(url, str):
            yield CitedPage(url)


def _spoken(audio: Any) -> Iterator[Step]:
    """Yield what a model says aloud: the words, and a piece of audio."""
    if isinstance(audio, Mapping):
        if audio.get("transcript"):
            yield Chunk("text", str(audio["transcript"]))
        if isinstance(audio.get("data"), str) and audio["data"]:
            yield SoundPiece(audio["data"])


def _pictures(images: Any) -> Iterator[FileStep]:
    """Yield the pictures that OpenRouter sends beside the text."""
    for image in images if isinstance(images, list) else ():
        place = image.get("image_url") if isinstance(image, Mapping) else None
        file = from_data_url(place.get("url") if isinstance(place, Mapping) else place)
        if file is not None:
            yield file


def _thoughts(delta: Event, keeps: bool) -> Iterator[Step]:
    details = delta.get("reasoning_details") or ()
    said = delta.get("reasoning_content") or delta.get("reasoning")
    kind: ThoughtKind = "raw"
    if details:
        kind = "summary" if details[0].get("type") == "reasoning.summary" else "raw"
        said = said or "".join(d.get("text") or d.get("summary") or "" for d in details)
    if said:
        yield _thought(said, kind)
    for detail in details:
        grows = {name: detail[name] for name in _GROWING if detail.get(name)}
        fixed = {name: value for name, value in detail.items() if name not in _GROWING}
        yield SignedBlock(f"{detail.get('type')} {detail.get('index', 0)}", fixed, grows)
    yield from _thinking_blocks(delta.get("thinking_blocks"))
    if keeps and delta.get("reasoning_content"):
        name = "reasoning_content"
        yield SignedBlock(name, {}, {name: delta[name]})


def _thinking_blocks(blocks: Any) -> Iterator[SignedBlock]:
    """Yield Anthropic's blocks, as LiteLLM passes them on: in pieces, and a signature ends one."""
    for block in blocks if isinstance(blocks, list) else ():
        kind = block.get("type")
        if kind in THINKING_BLOCKS:
            grows = {name: block[name] for name in ("thinking", "signature") if block.get(name)}
            fixed = {"type": kind} | ({"data": block["data"]} if block.get("data") else {})
            ends = bool(block.get("signature") or block.get("data"))
            yield SignedBlock("thinking_blocks", fixed, grows, ends=ends)


def _thought(text: str, kind: ThoughtKind) -> Chunk:
    return Chunk("text", thoughts=(ThoughtPart(text, kind),))


def _tokens(event: Event) -> Iterator[TokenCount]:
    usage = event.get("usage") or (event.get("x_groq") or {}).get("usage")
    if isinstance(usage, Mapping):
        details = usage.get("prompt_tokens_details")
        given = details if isinstance(details, Mapping) else {}
        yield token_count(
            (usage.get("prompt_tokens"),),
            (usage.get("completion_tokens"),),
            # DeepSeek counts them in a field of its own.
            (given.get("cached_tokens") or usage.get("prompt_cache_hit_tokens"),),
            # LiteLLM passes on what Anthropic calls it.
            (given.get("cache_write_tokens") or usage.get("cache_creation_input_tokens"),),
            # OpenRouter's price of this request.
            usage.get("cost"),
        )
    elif isinstance(timings := event.get("timings"), Mapping):
        # llama.cpp counts even if nobody asked it to (`stream_options`).
        cached = timings.get("cache_n")
        yield token_count(
            (timings.get("prompt_n"), cached), (timings.get("predicted_n"),), (cached,)
        )
