"""The options of one model, and their checks, for the settings file and `/model`.

Some options belong to the endpoint (`window`), some to each request (`thinking`), and `price` to
neither. Parameters that Oshaberi does not know go to the model's API unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

from oshaberi.checked_json import parse_json
from oshaberi.chunks import Usage
from oshaberi.errors import ConfigError, Sentence
from oshaberi.providers.request.model_request import (
    THINKING_ALLOWED,
    CacheTime,
    Thinking,
    is_thinking,
)
from oshaberi.text.config import TextConfig, not_allowed

MOST_TOKENS = 100_000_000
SMALLEST_WINDOW = 256
MOST_PREFILL = 2000
MOST_TEMPERATURE = 5
MOST_DOLLARS = 1_000_000
MOST_SOURCES = 20
TEXT_LIMITS = (
    "flush_buffer_size",
    "flush_buffer_size_code_block",
    "hold_limit",
    "max_single_message_length",
)
"""The text settings that a single model may override."""


@dataclass(frozen=True, slots=True)
class ModelOption:
    """One option: its purpose, its allowed values, and their check."""

    what: str
    allowed: Sentence
    fits: Callable[[Any], bool]


def _is_whole(value: object, low: int, high: int) -> bool:
    return type(value) is int and low <= value <= high


def _is_number(value: object, high: float) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= high


@dataclass(frozen=True, slots=True)
class TokenPrice:
    """What a million tokens cost, in dollars.

    `cached` is for input that came from the provider's cache, `cache_write` for input that was
    stored in it. Without them such input costs as much as any other.
    """

    input: float
    output: float
    cached: float | None = None
    cache_write: float | None = None

    def micros(self, used: Usage) -> int:
        """Return the cost in millionths of a dollar."""
        stored = min(used.cache_write_tokens, used.input_tokens)
        cached = min(used.cached_tokens, used.input_tokens - stored)
        return round(
            (used.input_tokens - cached - stored) * self.input
            + cached * (self.input if self.cached is None else self.cached)
            + stored * (self.input if self.cache_write is None else self.cache_write)
            + used.output_tokens * self.output
        )


_PRICES = ("input", "output", "cached", "cache_write")


def _is_price(value: object) -> bool:
    if not isinstance(value, Mapping) or not {"input", "output"} <= value.keys() <= {*_PRICES}:
        return False
    return all(_is_number(one, MOST_DOLLARS) for one in value.values())


def _is_text_table(value: object) -> bool:
    if not isinstance(value, Mapping) or not value.keys() <= set(TEXT_LIMITS):
        return False
    TextConfig(**value)
    return True


_WHETHER = Sentence("true or false")
OPTIONS: Mapping[str, ModelOption] = {
    "window": ModelOption(
        "how many tokens it can read and write in all",
        Sentence("a whole number from {low} to {high}", low=SMALLEST_WINDOW, high=MOST_TOKENS),
        lambda value: _is_whole(value, SMALLEST_WINDOW, MOST_TOKENS),
    ),
    "max_output_tokens": ModelOption(
        "how many tokens an answer may have",
        Sentence("a whole number from {low} to {high}", low=1, high=MOST_TOKENS),
        lambda value: _is_whole(value, 1, MOST_TOKENS),
    ),
    "images": ModelOption(
        "whether it is shown images", _WHETHER, lambda value: isinstance(value, bool)
    ),
    "thinking": ModelOption(
        "how much it thinks before it answers",
        THINKING_ALLOWED,
        is_thinking,
    ),
    "prefill": ModelOption(
        "how each of its answers begins, for APIs that let a model go on from there",
        Sentence("a text of at most {most} characters", most=MOST_PREFILL),
        lambda value: isinstance(value, str) and 0 < len(value.strip()) <= MOST_PREFILL,
    ),
    "reemits": ModelOption(
        "whether each piece of its stream repeats the last words of the piece before",
        _WHETHER,
        lambda value: isinstance(value, bool),
    ),
    "text": ModelOption(
        "text settings that differ for this model",
        Sentence("a table with some of {names}", names=", ".join(TEXT_LIMITS)),
        _is_text_table,
    ),
    "temperature": ModelOption(
        "how freely it chooses its words",
        Sentence("a number from 0 to {high}", high=MOST_TEMPERATURE),
        lambda value: _is_number(value, MOST_TEMPERATURE),
    ),
    "top_p": ModelOption(
        "how many likely words it chooses from",
        Sentence("a number from 0 to 1"),
        lambda value: _is_number(value, 1),
    ),
    "pictures": ModelOption(
        "whether its answers may have pictures, if the API has to be asked for them",
        _WHETHER,
        lambda value: isinstance(value, bool),
    ),
    "search": ModelOption(
        "whether it may search the web with its provider's own tool, beside the bot's tools",
        _WHETHER,
        lambda value: isinstance(value, bool),
    ),
    "sources": ModelOption(
        "how many of the pages that an answer cites are linked under it",
        Sentence("a whole number from {low} to {high}", low=0, high=MOST_SOURCES),
        lambda value: _is_whole(value, 0, MOST_SOURCES),
    ),
    "cache": ModelOption(
        "how long the provider keeps the beginning of a request, if it has to be told",
        Sentence("one of {levels}", levels=", ".join(get_args(CacheTime))),
        lambda value: value in get_args(CacheTime),
    ),
    "price": ModelOption(
        "what a million tokens cost, in dollars",
        Sentence(
            "a table with input and output, if you like also cached and cache_write, numbers from "
            "0 to {high}",
            high=MOST_DOLLARS,
        ),
        _is_price,
    ),
}
"""The options, in the order in which they are listed."""


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """The options of one model. None means that the default applies."""

    window: int | None = None
    max_output_tokens: int | None = None
    images: bool | None = None
    thinking: Thinking = None
    prefill: str | None = None
    reemits: bool | None = None
    text: Mapping[str, int] = field(default_factory=dict)
    temperature: float | None = None
    top_p: float | None = None
    pictures: bool | None = None
    search: bool | None = None
    sources: int | None = None
    cache: CacheTime | None = None
    price: Mapping[str, float] | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    def endpoint_settings(self) -> dict[str, Any]:
        """Return the arguments of `connect` other than provider and model."""
        made: dict[str, Any] = {}
        if self.window is not None:
            made["window"] = self.window
        if self.reemits is not None:
            made["reemits"] = self.reemits
        if self.images is not None:
            made["capabilities"] = {"images": self.images}
        if self.text:
            made["text"] = dict(self.text)
        return made

    def request_fields(self) -> dict[str, Any]:
        """Return the fields of a `Request` that these options set."""
        return {
            "max_output_tokens": self.max_output_tokens,
            "thinking": self.thinking,
            "prefill": self.prefill,
            "temperature": self.temperature,
            "top_p": self.top_p,
            "extra": self.extra,
            **({} if self.cache is None else {"cache": self.cache}),
            "pictures": bool(self.pictures),
            "search": bool(self.search),
            **({} if self.sources is None else {"most_sources": self.sources}),
        }


def options_of(params: Mapping[str, Any]) -> ModelOptions:
    """Return the options in a model's parameters. A ConfigError says what is allowed."""
    given = {key: value for key, value in params.items() if value is not None}
    ours = {key: checked_option(key, value) for key, value in given.items() if key in OPTIONS}
    return ModelOptions(**ours, extra={key: given[key] for key in given if key not in OPTIONS})


def checked_option(name: str, value: Any) -> Any:
    option = OPTIONS[name]
    try:
        fits = option.fits(value)
    except (ConfigError, TypeError) as wrong:
        problem = wrong.args[0] if isinstance(wrong, ConfigError) else str(wrong)
        raise ConfigError(Sentence("{path}: {problem}", path=name, problem=problem)) from None
    if not fits:
        raise not_allowed(name, value, option.allowed)
    return value


def parsed_option(name: str, typed: str) -> Any:
    """Parse the value of an option as a user types it.

    A price is two to four numbers, text settings are `name=value`; both may be JSON as well.
    """
    if name == "prefill":
        return checked_option(name, typed)
    try:
        value = parse_json(typed.lower())
    except ValueError:
        value = _words_read(name, typed.strip())
    return checked_option(name, value)


def _words_read(name: str, typed: str) -> Any:
    words = re.split(r"[\s,/]+", typed)
    if name == "price" and 2 <= len(words) <= len(_PRICES):
        return {side: _number(word) for side, word in zip(_PRICES, words, strict=False)}
    if name == "text" and all("=" in word for word in words):
        return {key: _number(value) for key, _, value in (word.partition("=") for word in words)}
    return typed.lower()


def _number(word: str) -> Any:
    try:
        return int(word) if word.isdecimal() else float(word)
    except ValueError:
        return word
