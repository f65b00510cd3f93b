"""One request to a model, independent of its API: what it is shown, and where the model is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from oshaberi.chunks import ThoughtPart, ToolCall
from oshaberi.errors import Sentence
from oshaberi.providers.capabilities.learned import LearnedLimits, ModelPlace
from oshaberi.providers.request.answer_budgets import DEFAULT_BUDGETS, AnswerBudgets
from oshaberi.text.config import not_allowed

# What a model is shown, independent of its API: messages, tools and tool results.
#
# Values only. The adapter decides which become the system text and which dialogue (spec 01).


Role = Literal["system", "user", "assistant"]
Tag = Literal["system", "persona", "knowledge", "memory", "sample", "history", "current"]


@dataclass(frozen=True, slots=True)
class TextPart:
    text: str


@dataclass(frozen=True, slots=True)
class ImagePart:
    """An image: a URL that has yet to be fetched, or data."""

    url: str | None = None
    data: bytes | None = field(default=None, repr=False)
    mime: str = "image/png"


@dataclass(frozen=True, slots=True)
class FilePart:
    """A file attached to a message: its text if it has one, else its bytes."""

    name: str
    text: str | None = None
    data: bytes | None = field(default=None, repr=False)
    mime: str = "application/octet-stream"


Part = TextPart | ImagePart | FilePart


@dataclass(frozen=True, slots=True)
class ContextItem:
    """One piece of what the model sees. `system` items are never dropped.

    `message_id` is the message from which it was made, if there is one.
    """

    role: Role
    parts: tuple[Part, ...]
    tag: Tag = "history"
    message_id: int | None = field(default=None, compare=False)

    @property
    def text(self) -> str:
        """Return the text parts alone."""
        return "\n".join(part.text for part in self.parts if isinstance(part, TextPart))


@dataclass(frozen=True, slots=True)
class ToolDeclaration:
    """A tool the model may call; `parameters` is a JSON schema of an object."""

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = field(
        default_factory=lambda: {"type": "object", "properties": {}}
    )
    strict: bool = False
    """Whether the API should enforce the schema, if it can."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a tool; `content` is text or JSON as text."""

    content: str
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class ToolRound:
    """A model's turn with tool calls, and the results: `results[i]` is for `calls[i]`.

    The signatures of its thoughts go back only to the `provider` and `model` that made them.
    """

    calls: tuple[ToolCall, ...]
    results: tuple[ToolResult, ...]
    text: str = ""
    thoughts: tuple[ThoughtPart, ...] = ()
    provider: str | None = None
    model: str | None = None

    def is_of(self, provider: str, model: str | None) -> bool:
        """Return whether this model made the round. Without a model, the provider decides."""
        return provider == self.provider and (None in (model, self.model) or model == self.model)

    def signature_for(self, provider: str, model: str | None = None) -> str | None:
        """Return the last signature of this turn, if this model made it."""
        if not self.is_of(provider, model):
            return None
        signed = [part.signature for part in self.thoughts if part.signature]
        return signed[-1] if signed else None


Item = ContextItem | ToolRound


def said(role: Role, text: str, tag: Tag = "history") -> ContextItem:
    """Return a context item with one text."""
    return ContextItem(role, (TextPart(text),), tag)


# Where a model is, with its key. Its `repr` never shows a secret.


FetchImage = Callable[[str], Awaitable[ImagePart | TextPart]]
"""Fetches an image within limits; returns a note if that is not possible."""

AskWindow = Callable[[], Awaitable[int | None]]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One model of one provider. `name` is the provider's name in errors and logs.

    `window` is the window in tokens if the settings have one, `usual_window` that of the provider's
    models; `text` overrides text settings for this model (spec 01).
    """

    name: str
    model: str
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    window: int | None = None
    usual_window: int | None = None
    ask_window: AskWindow | None = field(default=None, repr=False, compare=False)
    """Asks a local server for its window."""
    cloud: str = ""
    """The cloud whose credentials sign the requests, if one does."""
    region: str | None = None
    project: str | None = None
    pull: bool = False
    """Whether Ollama may download the model if it is missing. Only the settings can allow it."""
    max_output_tokens: int | None = None
    max_stop_strings: int | None = None
    connect_seconds: float = 10.0
    silence_seconds: float = 300.0
    reemits: bool = False
    quirks: Mapping[str, Any] = field(default_factory=dict)
    text: Mapping[str, Any] = field(default_factory=dict)
    fetch_image: FetchImage | None = None
    count_tokens: Callable[[str], int] | None = None
    is_known_server: bool = False
    """Whether it is a provider's own public server, whose error messages may be shown."""
    capabilities: Mapping[str, Any] = field(default_factory=dict)
    """Fields of `ModelCapabilities` that the settings override."""
    budgets: AnswerBudgets = DEFAULT_BUDGETS
    learned: LearnedLimits = field(default_factory=LearnedLimits, repr=False, compare=False)
    """What the endpoint refused before; shared by all adapters of a process."""
    place: ModelPlace = field(init=False, repr=False, compare=False)
    """The key under which lessons about this endpoint's model are remembered."""

    def __post_init__(self) -> None:
        place = ModelPlace(self.name, self.base_url, self.model)
        object.__setattr__(self, "place", place)

    @property
    def secrets(self) -> tuple[str, ...]:
        """Return the values that no error may show."""
        return (*filter(None, [self.api_key]), *self.headers.values())


# One request to a model, independent of its API.


ThinkingLevel = Literal["off", "low", "medium", "high"]
Thinking = ThinkingLevel | int | None
"""A level, a budget in tokens, or None: the model's default."""

MOST_THINKING = 100_000_000
THINKING_LEVELS: tuple[ThinkingLevel, ...] = ("off", "low", "medium", "high")
THINKING_ALLOWED = Sentence(
    "one of {levels}, or a number of tokens", levels=", ".join(THINKING_LEVELS)
)


CacheTime = Literal["off", "5m", "1h"]
"""How long an API that must be told may keep the stable beginning of a request."""


@dataclass(slots=True)
class RequestSize:
    """The estimated tokens of a request as it was sent; 0 if there is no useful estimate.

    `base_tokens` are those of what is never left out, `window` is the model's; 0 if unknown.
    """

    estimated_tokens: int = 0
    base_tokens: int = 0
    window: int = 0


@dataclass(frozen=True, slots=True)
class Request:
    """Everything that one answer depends on, apart from the model itself.

    `speakers` are the names of all others in the conversation; with `speaker_guard` the answer ends
    where the model starts to speak for one of them. `extra` goes to the API unchanged.
    """

    items: tuple[Item, ...]
    tools: tuple[ToolDeclaration, ...] = ()
    stop_strings: tuple[str, ...] = ()
    speaker_guard: bool = False
    speakers: tuple[str, ...] = ()
    holdback_chars: int = 32
    thinking: Thinking = None
    max_output_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    prefill: str | None = None
    cache: CacheTime = "5m"
    pictures: bool = False
    """Whether the model is asked for answers that may have pictures."""
    search: bool = False
    """Whether the provider's own web search is offered, beside the tools."""
    most_sources: int = 5
    """How many of the pages that the answer cites are linked under it."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    on_wait: Callable[[Sentence], None] | None = field(default=None, repr=False, compare=False)
    """Called with the reason why the answer will come much later than usual."""
    size: RequestSize | None = field(default=None, repr=False, compare=False)
    """Filled in when the request is prepared, if it is set."""

    def __post_init__(self) -> None:
        if not is_thinking(self.thinking):
            raise not_allowed("thinking", self.thinking, THINKING_ALLOWED)


def is_thinking(value: object) -> bool:
    if isinstance(value, bool):
        return False
    if isinstance(value, int):
        return 0 <= value <= MOST_THINKING
    return value is None or value in THINKING_LEVELS
