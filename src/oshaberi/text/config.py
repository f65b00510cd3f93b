"""Everything that a text engine depends on, in one frozen value.

Each setting is declared once, here: its default, its range and what it does. The rest of the
program (settings file, environment, command line, docs) reads these declarations.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any, Literal, TypeVar

from oshaberi.errors import ConfigError, Sentence

KnownKind = Literal["persona", "user"]


@dataclass(frozen=True, slots=True)
class Sprite:
    """Another avatar of the persona. Without an `avatar_url` its image could not be loaded."""

    name: str
    avatar_url: str | None = None
    is_identity: bool = False

    def __post_init__(self) -> None:
        _check_name("sprite.name", self.name)
        _check_text("sprite.avatar_url", self.avatar_url)
        _check_switch("sprite.is_identity", self.is_identity)


@dataclass(frozen=True, slots=True)
class Persona:
    """The persona that speaks."""

    name: str
    aliases: tuple[str, ...] = ()
    is_alter: bool = False
    avatar_url: str | None = None
    sprites: tuple[Sprite, ...] = ()

    def __post_init__(self) -> None:
        _check_name("persona.name", self.name)
        _check_text("persona.avatar_url", self.avatar_url)
        _check_switch("persona.is_alter", self.is_alter)
        object.__setattr__(self, "aliases", _strings("persona.aliases", self.aliases))
        object.__setattr__(self, "sprites", _values("persona.sprites", Sprite, self.sprites))

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name, *self.aliases)


@dataclass(frozen=True, slots=True)
class Known:
    """Somebody else whom the conversation knows: a user, or another persona.

    `takes_part`: they have written in it themselves, and were not only mentioned.
    """

    name: str
    kind: KnownKind = "user"
    id: str | None = None
    aliases: tuple[str, ...] = ()
    avatar_url: str | None = None
    takes_part: bool = False

    def __post_init__(self) -> None:
        _check_name("known.name", self.name)
        _check_text("known.avatar_url", self.avatar_url)
        _check_switch("known.takes_part", self.takes_part)
        _check_text("known.id", self.id)
        object.__setattr__(self, "aliases", _strings("known.aliases", self.aliases))
        if self.kind not in ("persona", "user"):
            raise ConfigError(f"known.kind: {self.kind!r} is not allowed; use 'persona' or 'user'")

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name, *self.aliases)


def number(default: int, low: int, high: int, what: str, *, server_high: int | None = None) -> Any:
    """Declare a number.

    `server_high` is the highest value for a server's admins, unless the operator allows more.
    """
    about = {"low": low, "high": high, "what": what}
    return field(
        default=default, metadata=about | ({"server_high": server_high} if server_high else {})
    )


def switch(default: bool, what: str) -> Any:
    return field(default=default, metadata={"switch": True, "what": what})


def fraction(default: float, what: str) -> Any:
    return field(default=default, metadata={"fraction": True, "what": what})


def choice(default: str, choices: tuple[str, ...], what: str) -> Any:
    return field(default=default, metadata={"choices": choices, "what": what})


@dataclass(frozen=True, slots=True)
class TextConfig:
    """The settings of the text, and the data of this one stream."""

    humanizer_degree: int = number(
        2, 0, 3, "0: one answer; 1: by line; 2: by line, typed; 3: by sentence, casual"
    )
    paragraph_mode: str = choice(
        "blocks",
        ("blocks", "lines"),
        "keep a whole list or quote in one message; `lines` sends one message per line",
    )
    aggregate_join: str = choice(
        "blank_line",
        ("blank_line", "preserve"),
        "degree 0: a blank line between lines, or the model's own line breaks",
    )
    max_single_message_length: int = number(
        1950, 100, 2000, "maximum length of a message, in UTF-16 code units"
    )
    flush_buffer_size: int = number(
        1000, 100, 4000, "after this many characters without a boundary, prose is cut"
    )
    flush_buffer_size_code_block: int = number(
        15000, 1000, 100_000, "a table with more characters is sent as text"
    )
    hold_limit: int = number(
        500, 50, 4000, "how many characters an unclosed bracket or quote may delay a message"
    )
    max_flush_count: int = number(
        40, 1, 1000, "maximum number of messages per response", server_high=100
    )
    whole_above_chars: int = number(
        0,
        0,
        100_000,
        "after this many characters of an answer, messages are filled up before sending; 0 is off",
    )
    emoji_usage_enabled: bool = switch(
        True, "use custom emoji, and turn `:smile:` into 😄; off: every `:name:` is removed"
    )
    emoji_preserve_unresolved_shortcodes: bool = switch(
        False, "keep `:name:` if there is no emoji of that name"
    )
    emoji_unique_lookback: int = number(
        5, 0, 50, "do not repeat custom emoji of this many recent messages; 0 is off"
    )
    emoji_run_prefix_length: int = number(
        3,
        1,
        32,
        "neighbouring emoji share a message if this many first letters of their names agree",
    )
    participant_guard_enabled: bool = switch(
        True, "stop when the model says something as `Assistant:` or as somebody who wrote here"
    )
    registered_speaker_guard_enabled: bool = switch(
        False, "stop at every line that begins with a known name, or with `User:` and the like"
    )
    llm_stop_speaker_pattern_enabled: bool = switch(
        False, "stop when the model begins to speak for anybody else"
    )
    uncensor_unicode_space_enabled: bool = switch(False, "replace U+2800 with a space")
    uncensor_sanitize_enabled: bool = switch(
        False, "remove invisible characters, and replace styled letters with plain ones"
    )
    prefill_visible: bool = switch(True, "show `output_prefill` as part of the answer")

    persona: Persona | None = None
    known: tuple[Known, ...] = ()
    emojis: tuple[str, ...] = ()
    recent_bot_messages: tuple[str, ...] = ()
    output_prefill: str | None = None
    starts_in_thought: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        check_fields(self)
        _check_text("output_prefill", self.output_prefill)
        _check_switch("starts_in_thought", self.starts_in_thought)
        if not isinstance(self.seed, int):
            raise ConfigError(f"seed: {self.seed!r} is not a whole number")
        if self.persona is not None:
            object.__setattr__(self, "persona", _value("persona", Persona, self.persona))
        object.__setattr__(self, "known", _values("known", Known, self.known))
        object.__setattr__(self, "emojis", _strings("emojis", self.emojis))
        recent = _strings("recent_bot_messages", self.recent_bot_messages)
        object.__setattr__(self, "recent_bot_messages", recent)


def check_fields(settings: Any) -> None:
    """Refuse the first value that its declaration does not allow."""
    for setting in fields(settings):
        _check(setting, getattr(settings, setting.name))


def _check(setting: Field[Any], value: object) -> None:
    about = setting.metadata
    if "low" in about:
        low, high = about["low"], about["high"]
        whole = isinstance(value, int) and not isinstance(value, bool)
        if not whole or not low <= value <= high:
            allowed = Sentence("a whole number from {low} to {high}", low=low, high=high)
            raise not_allowed(setting.name, value, allowed)
    elif "switch" in about:
        _check_switch(setting.name, value)
    elif "fraction" in about:
        if not isinstance(value, int | float) or value is True or not 0 <= value <= 1:
            raise not_allowed(setting.name, value, Sentence("a number from 0 to 1"))
    elif "choices" in about and value not in about["choices"]:
        allowed = Sentence("one of: {choices}", choices=", ".join(about["choices"]))
        raise not_allowed(setting.name, value, allowed)


def not_allowed(key: str, value: object, allowed: Sentence) -> ConfigError:
    """Return the error for a wrong value: the key, the value and what is allowed."""
    words = Sentence("{key}: {value!r} is not {allowed}", key=key, value=value, allowed=allowed)
    return ConfigError(words)


def _check_switch(key: str, value: object) -> None:
    if not isinstance(value, bool):
        raise ConfigError(
            Sentence("{key}: {value!r} is neither true nor false", key=key, value=value)
        )


def _check_text(key: str, value: object) -> None:
    if value is not None and not isinstance(value, str):
        raise ConfigError(f"{key}: {value!r} is not a text")


def _check_name(key: str, value: object) -> None:
    if not isinstance(value, str) or not value.strip():
        raise ConfigError(f"{key}: {value!r} is not a name")


V = TypeVar("V", Persona, Known, Sprite)


def _value(key: str, kind: type[V], value: object) -> V:
    """Return a value of this kind, also from the mapping (of JSON) that describes it."""
    if isinstance(value, kind):
        return value
    if not isinstance(value, Mapping):
        raise ConfigError(f"{key}: {value!r} is not a description of a {kind.__name__.lower()}")
    names = {f.name for f in fields(kind)}
    unknown = sorted(str(name) for name in value.keys() - names)
    if unknown:
        raise ConfigError(f"{key}.{unknown[0]}: no such key; known are {', '.join(sorted(names))}")
    for f in fields(kind):
        if f.default is MISSING and f.name not in value:
            raise ConfigError(f"{key}.{f.name}: is missing")
    return kind(**value)


def _values(key: str, kind: type[V], values: object) -> tuple[V, ...]:
    if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
        raise ConfigError(f"{key}: {values!r} is not a list")
    return tuple(_value(key, kind, value) for value in values)


def _strings(key: str, values: object) -> tuple[str, ...]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise ConfigError(f"{key}: {values!r} is not a list of texts")
    texts = tuple(values)
    for text in texts:
        if not isinstance(text, str):
            raise ConfigError(f"{key}: {text!r} is not a text")
    return texts
