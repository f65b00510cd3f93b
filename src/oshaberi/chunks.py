"""The steps of a provider's stream, for any API: text, tool calls, errors, the end, thoughts.

Values only. Nothing in them is specific to one provider, except `raw` for the log.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

ChunkType = Literal["text", "function_call", "error", "done"]
ThoughtKind = Literal["raw", "summary"]
ErrorType = Literal[
    "rate_limit",
    "provider_overloaded",
    "timeout",
    "content_blocked",
    "auth",
    "model_error",
    "context_length",
    "balance_exhausted",
    "affordability",
    "network",
    "api_error",
]

MOST_TOKENS = 10**9


@dataclass(frozen=True, slots=True)
class ThoughtPart:
    """A piece of reasoning: the model's own thoughts, or a summary of them."""

    text: str
    kind: ThoughtKind = "raw"
    signature: str | None = None


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call of the model. With `error`, its arguments could not be read."""

    name: str
    args: Mapping[str, Any] = field(default_factory=dict)
    id: str | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class ProviderError:
    """An error of a provider, in terms that are the same for all providers."""

    type: ErrorType
    message: str = ""
    code: str | int | None = None
    retryable: bool = False
    provider: str | None = None
    raw: Any = field(default=None, compare=False, repr=False)
    shown: str | None = field(default=None, compare=False, repr=False)
    """The part of the message that may be shown in a channel; None: all of it."""
    broke_off: bool = field(default=False, compare=False, repr=False)
    """Whether the connection was lost in the middle of an answer."""


def _possible(tokens: object) -> int:
    """Return a token count; 0 for anything but a whole number."""
    return min(max(tokens, 0), MOST_TOKENS) if isinstance(tokens, int) else 0


@dataclass(frozen=True, slots=True)
class Usage:
    """The provider's token counts, from 0 to the most that a request can have.

    `cached_tokens` are those of the input that were read from the provider's cache,
    `cache_write_tokens` those that were stored in it. `cost_dollars` is the price, if the provider
    says it.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    cost_dollars: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "input_tokens", _possible(self.input_tokens))
        object.__setattr__(self, "output_tokens", _possible(self.output_tokens))
        object.__setattr__(self, "cached_tokens", _possible(self.cached_tokens))
        object.__setattr__(self, "cache_write_tokens", _possible(self.cache_write_tokens))


@dataclass(frozen=True, slots=True)
class AnswerFile:
    """A picture or a sound in an answer. Without content, it cannot be shown."""

    name: str
    content: bytes = field(default=b"", repr=False)


class Chunk(NamedTuple):
    """One step of a stream. Parallel tool calls of one response come together, in order.

    `links` comes with the last chunk: links to the cited pages, which are shown after the answer.
    It is a named tuple because one is made for every token: a frozen dataclass would take five
    times as long.
    """

    type: ChunkType
    content: str = ""
    calls: tuple[ToolCall, ...] = ()
    error: ProviderError | None = None
    thoughts: tuple[ThoughtPart, ...] = ()
    finish_reason: str | None = None
    usage: Usage | None = None
    continuation_prefill: str | None = None
    links: str = ""
    files: tuple[AnswerFile, ...] = ()


_made = tuple.__new__


def text_chunk(text: str) -> Chunk:
    """Return `Chunk("text", text)` in a third of the time, since it is needed for every token."""
    return _made(Chunk, ("text", text, (), None, (), None, None, None, "", ()))
