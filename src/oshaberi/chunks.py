"""What a provider adapter says, whatever its API: text, a tool call, an error, the end; thoughts.

Values only. Nothing that is peculiar to one provider passes this seam, except `raw` for the log.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

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
    """A piece of reasoning: what the model wrote for itself, or a summary of it."""

    text: str
    kind: ThoughtKind = "raw"
    signature: str | None = None


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool the model asks for. With `error`, its arguments could not be read."""

    name: str
    args: Mapping[str, Any] = field(default_factory=dict)
    id: str | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class ProviderError:
    """Why the provider failed, in terms that do not depend on which provider it is."""

    type: ErrorType
    message: str = ""
    code: str | int | None = None
    retryable: bool = False
    provider: str | None = None
    raw: Any = field(default=None, compare=False, repr=False)
    shown: str | None = field(default=None, compare=False, repr=False)
    """What of the message may be shown in a channel; None: all of it."""


def _possible(tokens: int) -> int:
    return min(max(tokens, 0), MOST_TOKENS)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens, as the provider counts them: none less than 0, nor more than a request can have."""

    input_tokens: int = 0
    output_tokens: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "input_tokens", _possible(self.input_tokens))
        object.__setattr__(self, "output_tokens", _possible(self.output_tokens))


@dataclass(frozen=True, slots=True)
class Chunk:
    """One step of a stream. Parallel tool calls of one response come together, in order."""

    type: ChunkType
    content: str = ""
    calls: tuple[ToolCall, ...] = ()
    error: ProviderError | None = None
    thoughts: tuple[ThoughtPart, ...] = ()
    finish_reason: str | None = None
    usage: Usage | None = None
    continuation_prefill: str | None = None
