"""A model API's prompt cache: how much of a request it has already read.

Two kinds, as the APIs document them. Most (OpenAI, Google, DeepSeek, llama.cpp) compare the
beginning of a request with earlier ones by themselves. Anthropic's reads and writes only where a
request says so (`cache_control`), and looks back from such a mark over 20 blocks.

A token is four characters of the request's JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from discord_stage.model_servers.scripts import Count

CHARS_PER_TOKEN = 4
SMALLEST = 1024
"""A shorter beginning is not cached."""
STEP = 128
"""An API that compares by itself counts in steps of this many tokens."""
LOOK_BACK = 20
MOST_MARKS = 4

Block = tuple[str, bool]
"""A block of a request as JSON without its mark, and whether it was marked."""


class TooManyMarksError(ValueError):
    """A request with more marks than the API accepts."""


@dataclass(slots=True)
class PromptCache:
    """The requests that were read so far. `count` reads one more. Nothing expires."""

    needs_marks: bool = False
    _written: set[tuple[str, ...]] = field(default_factory=set)
    _texts: list[str] = field(default_factory=list)

    def count(self, body: Mapping[str, Any], output_tokens: int = 1) -> Count:
        """Return the token count of a request, and how much of it was read before."""
        blocks = list(_blocks(body))
        if self.needs_marks:
            return self._by_marks(blocks, output_tokens)
        text = "\n".join(text for text, _ in blocks)
        shared = max((_common(text, known) for known in self._texts), default=0)
        self._texts.append(text)
        cached = shared // CHARS_PER_TOKEN // STEP * STEP
        return Count(_tokens(len(text)), output_tokens, cached if cached >= SMALLEST else 0)

    def _by_marks(self, blocks: Sequence[Block], output_tokens: int) -> Count:
        marks = [number for number, (_, is_marked) in enumerate(blocks) if is_marked]
        if len(marks) > MOST_MARKS:
            message = "A maximum of 4 blocks with cache_control may be provided. Found "
            raise TooManyMarksError(f"{message}{len(marks)}.")
        texts = tuple(text for text, _ in blocks)
        sizes = [_tokens(size) for size in accumulate(map(len, texts))]
        usable = [mark for mark in marks if sizes[mark] >= SMALLEST]
        read = max((found for mark in usable for found in self._found(texts, mark)), default=-1)
        cached = sizes[read] if read >= 0 else 0
        stored = sizes[usable[-1]] - cached if usable and usable[-1] > read else 0
        self._written.update(texts[: mark + 1] for mark in usable)
        return Count(sizes[-1] if sizes else 0, output_tokens, cached, stored)

    def _found(self, texts: tuple[str, ...], mark: int) -> Iterator[int]:
        for number in range(mark, max(-1, mark - LOOK_BACK), -1):
            if texts[: number + 1] in self._written:
                yield number
                return


def _blocks(body: Mapping[str, Any]) -> Iterator[Block]:
    """Yield what the model reads, in the APIs' order: tools, system text, messages."""
    for tool in body.get("tools") or ():
        yield _block(tool)
    for name in ("system", "systemInstruction", "system_instruction"):
        for block in _listed(body.get(name)):
            yield _block(block)
    for message in body.get("messages") or body.get("contents") or body.get("input") or ():
        content = message.get("content") if "content" in message else message.get("parts")
        role = str(message.get("role") or message.get("type"))
        for block in _listed(content):
            text, is_marked = _block(block)
            yield f"{role} {text}", is_marked
        calls = message.get("tool_calls")
        if calls:
            yield _block(calls)


def _listed(content: Any) -> Sequence[Any]:
    if content is None:
        return ()
    return content if isinstance(content, list) else (content,)


def _block(block: Any) -> Block:
    if not isinstance(block, Mapping):
        return json.dumps(block, ensure_ascii=False), False
    rest = {name: value for name, value in block.items() if name != "cache_control"}
    return json.dumps(rest, ensure_ascii=False), "cache_control" in block


def _common(one: str, other: str) -> int:
    """Return how many characters two texts have in common at their beginning."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _tokens(chars: int) -> int:
    return -(-chars // CHARS_PER_TOKEN)
