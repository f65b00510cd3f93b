"""What one persona does differently from the settings: its models, its pace, where and when.

`PersonaOptions` declares each option once, with what it may be. They are stored as one JSON object
beside the persona; an option that is not there is not set, and then the settings apply.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from datetime import datetime, time, tzinfo
from functools import lru_cache
from typing import Any

from oshaberi.bot.conversation.messages import ChannelPath
from oshaberi.bot.conversation.time_zones import near_zones, time_zone
from oshaberi.bot.conversation.turn_config import MOST_TOOLS, EffectiveSettings
from oshaberi.bot.storage.records import PersonaRecord
from oshaberi.errors import ConfigError, Sentence
from oshaberi.text.config import not_allowed
from oshaberi.value_parsing import read

MOST_MODELS = 5
MOST_CHANNELS = 50
LONGEST_MODEL = 250
MOST_SPANS = 6
LONGEST_HOURS = 120
_MODEL = re.compile(r"([a-z0-9_-]{1,40})/(\S{1,200})")
_TOOL = re.compile(r"\*|[A-Za-z_][A-Za-z0-9_-]{0,63}|[^`*/,\x00-\x1f]{1,64}/\*")
_COLOUR = re.compile(r"#?([0-9a-fA-F]{6})")
_SPAN = re.compile(r"(\d{1,2})(?::(\d\d))?\s?[-–]\s?(\d{1,2})(?::(\d\d))?")


def _option(what: str, default: Any = None, *, travels: bool = True, **about: Any) -> Any:
    """Declare an option. `travels`: it is written into cards, so that others read it."""
    return field(default=default, metadata={"what": what, "travels": travels, **about})


@dataclass(frozen=True, slots=True)
class PersonaOptions:
    """The options of one persona. None or empty means that the settings apply."""

    models: tuple[str, ...] = _option(
        "models that are asked before those of the channel, as `provider/model`",
        (),
        travels=False,
        strings=True,
    )
    humanizer_degree: int | None = _option(
        "how it writes, where no channel says so: the setting of this name", low=0, high=3
    )
    base_type_speed_ms_per_char: int | None = _option(
        "how fast it types, where no channel says so: the setting of this name", low=0, high=200
    )
    channels: tuple[int, ...] = _option(
        "channels, threads and categories in which it answers; none: everywhere",
        (),
        travels=False,
        ids=True,
    )
    awake_hours: str = _option(
        "when it answers, such as `8-23:30 Asia/Tokyo`; nothing: always", "", hours=True
    )
    allowed_tools: tuple[str, ...] = _option(
        "the only tools that it uses, by name or as `files/*`; none: all that the channel has",
        (),
        travels=False,
        strings=True,
        tools=True,
    )
    blocked_tools: tuple[str, ...] = _option(
        "tools that it does not use, by name, as `files/*`, or `*` for all",
        (),
        travels=False,
        strings=True,
        tools=True,
    )
    greeting: str = _option(
        "what it says when it is first called in a channel: nothing, its first greeting, or any "
        "of its card",
        "off",
        choices=("off", "first", "any"),
    )
    memory: str = _option(
        "what it remembers: what everybody here does, or only what was said to it",
        "server",
        choices=("server", "own"),
    )
    colour: str = _option("colour of its notices, such as `#ff8800`", "", colour=True)

    @property
    def colour_number(self) -> int | None:
        return int(self.colour[1:], 16) if self.colour else None


OPTIONS: Mapping[str, Field[Any]] = {one.name: one for one in fields(PersonaOptions)}


def default_of_option(name: str) -> Any:
    default = OPTIONS[name].default
    return None if default is MISSING else default


def options_of(persona: PersonaRecord) -> PersonaOptions:
    """Return the options of a persona, without what another version stored and is not allowed."""
    return _known(tuple(persona.options.items())) if persona.options else _NONE


def known_options(persona: PersonaRecord) -> dict[str, Any]:
    """Return all options of a persona by name, as far as they are allowed."""
    options = options_of(persona)
    return {name: getattr(options, name) for name in OPTIONS}


_NONE = PersonaOptions()


def _known(stored: tuple[tuple[str, Any], ...]) -> PersonaOptions:
    good = {}
    for name, value in stored:
        try:
            good[name] = checked_option(name, value)
        except ConfigError:
            continue
    return PersonaOptions(**good)


def checked_options(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values as they are stored. Raises ConfigError for the first that is not allowed.

    An option that has its default is left out.
    """
    checked = {name: checked_option(name, value) for name, value in values.items()}
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in checked.items()
        if value != default_of_option(name)
    }


def parsed_option(name: str, text: str) -> Any:
    """Return an option from the text of a command, checked."""
    return checked_option(name, read(_declared(name).metadata, text))


def checked_option(name: str, value: Any) -> Any:
    """Return one value as `PersonaOptions` has it. Raises ConfigError."""
    about = _declared(name).metadata
    if "low" in about:
        return _number(name, value, about["low"], about["high"])
    if "choices" in about:
        if value not in about["choices"]:
            listed = ", ".join(about["choices"])
            raise not_allowed(name, value, Sentence("one of: {choices}", choices=listed))
        return value
    if "tools" in about:
        return _tools(name, value)
    if "strings" in about:
        return _models(name, value)
    if "ids" in about:
        return _ids(name, value)
    if not isinstance(value, str):
        raise not_allowed(name, value, Sentence("a text"))
    return _colour(name, value) if "colour" in about else checked_hours(value)


def _declared(name: str) -> Field[Any]:
    declared = OPTIONS.get(name)
    if declared is None:
        listed = ", ".join(OPTIONS)
        raise ConfigError(
            Sentence("{key}: there is no such option; there are: {known}", key=name, known=listed)
        )
    return declared


def _number(name: str, value: Any, low: int, high: int) -> int | None:
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        allowed = Sentence("a whole number from {low} to {high}", low=low, high=high)
        raise not_allowed(name, value, allowed)
    return value


def _models(name: str, value: Any) -> tuple[str, ...]:
    names = value if isinstance(value, list | tuple) else None
    if names is None or not all(isinstance(one, str) and _is_model(one) for one in names):
        raise not_allowed(name, value, Sentence("a list of models, as `provider/model`"))
    if len(names) > MOST_MODELS:
        raise not_allowed(name, value, Sentence("a list of at most {most}", most=MOST_MODELS))
    return tuple(dict.fromkeys(names))


def _tools(name: str, value: Any) -> tuple[str, ...]:
    names = value if isinstance(value, list | tuple) else None
    if names is None or not all(isinstance(one, str) and _TOOL.fullmatch(one) for one in names):
        raise not_allowed(name, value, Sentence("a list of tools, such as `react` or `files/*`"))
    if len(names) > MOST_TOOLS:
        raise not_allowed(name, value, Sentence("a list of at most {most}", most=MOST_TOOLS))
    return tuple(dict.fromkeys(names))


def _is_model(text: str) -> bool:
    return _MODEL.fullmatch(text) is not None and text.isprintable() and "`" not in text


def _ids(name: str, value: Any) -> tuple[int, ...]:
    ids = value if isinstance(value, list | tuple) else None
    if ids is None or not all(type(one) is int and 0 < one < 2**63 for one in ids):
        raise not_allowed(name, value, Sentence("a list of channels, like #games"))
    if len(ids) > MOST_CHANNELS:
        raise not_allowed(name, value, Sentence("a list of at most {most}", most=MOST_CHANNELS))
    return tuple(dict.fromkeys(ids))


def _colour(name: str, value: str) -> str:
    found = _COLOUR.fullmatch(value.strip())
    if value.strip() and found is None:
        raise not_allowed(name, value, Sentence("a colour such as #ff8800"))
    return f"#{found[1].lower()}" if found else ""


# -- hours -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AwakeHours:
    """The parts of a day in which a persona is awake. A part that ends before it begins goes on
    after midnight."""

    spans: tuple[tuple[time, time], ...]
    zone: tzinfo

    def has(self, now: datetime) -> bool:
        at = now.astimezone(self.zone).time()
        return any(_is_within(at, begin, end) for begin, end in self.spans)


def _is_within(at: time, begin: time, end: time) -> bool:
    if begin < end:
        return begin <= at < end
    return at >= begin or at < end


def is_awake(persona: PersonaRecord, now: datetime) -> bool:
    """Return whether a persona answers and speaks at this time (`awake_hours`)."""
    hours = options_of(persona).awake_hours
    found = _read_hours(hours) if hours else None
    return not isinstance(found, AwakeHours) or found.has(now)


def checked_hours(text: str) -> str:
    """Return the hours as people write them, with single spaces. Raises ConfigError."""
    text = " ".join(text.split())
    if not text:
        return ""
    found = _read_hours(text) if len(text) <= LONGEST_HOURS else None
    if isinstance(found, AwakeHours):
        return text
    if isinstance(found, str):
        near = ", ".join(near_zones(found)) or "Asia/Tokyo, Europe/Berlin"
        known = Sentence("a time zone; did you mean: {zones}?", zones=near)
        raise not_allowed("awake_hours", found, known)
    raise not_allowed("awake_hours", text, Sentence("hours such as 8-23:30 Asia/Tokyo"))


@lru_cache(maxsize=1024)
def _read_hours(text: str) -> AwakeHours | str | None:
    """Return the hours; the name of the time zone if there is none of it; None if no hours."""
    spans: list[tuple[time, time]] = []
    rest = text
    while (found := _SPAN.match(rest)) is not None:
        begin, end = _time(found[1], found[2]), _time(found[3], found[4])
        if begin is None or end is None or begin == end or len(spans) == MOST_SPANS:
            return None
        spans.append((begin, end))
        rest = rest[found.end() :]
        rest = rest.lstrip(" ,")
    if not spans:
        return None
    zone = time_zone(rest or "UTC")
    return rest if zone is None else AwakeHours(tuple(spans), zone)


def _time(hour: str, minute: str | None) -> time | None:
    hours, minutes = int(hour), int(minute or 0)
    if (hours, minutes) == (24, 0):
        return time(0)
    return time(hours, minutes) if hours < 24 and minutes < 60 else None


# -- where, and how --------------------------------------------------------------------------------


def answers_in(persona: PersonaRecord, path: ChannelPath) -> bool:
    """Return whether the persona answers in this channel (`channels`)."""
    channels = options_of(persona).channels
    return not channels or not set(channels).isdisjoint(path.ids)


def settings_of_persona(settings: EffectiveSettings, persona: PersonaRecord) -> EffectiveSettings:
    """Return the settings with which the persona answers.

    What a channel says is nearer than what the persona says, and that is nearer than the server's.
    """
    options, stream = options_of(persona), settings.stream
    degree, speed = options.humanizer_degree, options.base_type_speed_ms_per_char
    if degree is not None and "humanizer_degree" not in settings.of_channel:
        stream = replace(stream, text=replace(stream.text, humanizer_degree=degree))
    if speed is not None and "base_type_speed_ms_per_char" not in settings.of_channel:
        stream = replace(stream, base_type_speed_ms_per_char=speed)
    return settings if stream is settings.stream else replace(settings, stream=stream)


def memory_of(persona: PersonaRecord) -> int:
    """Return whose facts the persona knows: its id if it has a memory of its own, else 0."""
    return persona.id if options_of(persona).memory == "own" else 0
