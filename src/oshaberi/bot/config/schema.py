"""The declarations as a pydantic model, and what it finds wrong, in our words.

The model merges the sources and checks the values.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Mapping
from dataclasses import is_dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_type_hints

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    create_model,
)

from oshaberi.bot.config.all_settings import DECLARED, Setting, near
from oshaberi.bot.config.redaction import mask_value, plain
from oshaberi.errors import ConfigError, Sentence
from oshaberi.secret_redaction import MASK

# Pydantic's complaints in our words: the key, the value and what is allowed. `loading` adds where
# the value comes from.


LONGEST = 80
_EXTRA = ("extra_forbidden", "unexpected_keyword_argument")
_WORDS = {
    "string_type": Sentence("a text"),
    "tuple_type": Sentence("a list"),
    "dict_type": Sentence("a table"),
    "mapping_type": Sentence("a table"),
    "is_instance_of": Sentence("a table"),
    "dataclass_type": Sentence("a table"),
}


class SettingMistakesError(ConfigError):
    """The settings have mistakes.

    The message shows the first mistake and counts the others; `lines` has all.
    """

    def __init__(self, lines: Iterable[str]) -> None:
        self.lines = tuple(lines)
        first, *others = self.lines
        more = f", and {len(others)} more: `oshaberi doctor` lists them" if others else ""
        super().__init__(first + more)


def complaint(place: tuple[int | str, ...], wrong: Mapping[str, Any]) -> Sentence:
    """Describe one validation error in one line. `place` says where it is."""
    key, kind = str(place[0]), wrong["type"]
    if key not in DECLARED:
        return no_such_setting(key, DECLARED)
    path = _path(place)
    if kind in _EXTRA:
        return Sentence("{path}: no such key{hint}", path=path, hint=_near_key(place))
    if kind == "missing":
        return Sentence("{path}: is missing", path=path)
    if kind == "value_error":
        return Sentence("{path}: {problem}", path=path, problem=str(wrong["ctx"]["error"]))
    return Sentence(
        "{key}: {value} is not {allowed}",
        key=path,
        value=_display(place, wrong["input"]),
        allowed=_allowed(place, wrong),
    )


def no_such_setting(key: str, known: Iterable[str]) -> Sentence:
    """Return the message for an unknown setting, with the one that was probably meant."""
    return Sentence("{key}: no such setting{hint}", key=key, hint=near(key, known))


def _near_key(place: tuple[int | str, ...]) -> str:
    """Suggest the key of a table that was probably meant."""
    setting = DECLARED[str(place[0])]
    known = _keys_of(get_type_hints(setting.section)[setting.name], place[1:-1])
    found = get_close_matches(str(place[-1]).lower(), known, n=1)
    if found:
        return Sentence("; did you mean {name!r}?", name=found[0])
    return Sentence("; there are {names}", names=", ".join(known)) if known else ""


def _keys_of(kind: Any, path: tuple[int | str, ...]) -> tuple[str, ...]:
    """Return the keys of the table at a path within a type; empty if it may have any."""
    if not is_dataclass(kind):
        within = (one for inner in get_args(kind) if (one := _keys_of(inner, path)))
        return next(within, ())
    hints = get_type_hints(kind)
    inner = next((step for step in path if step in hints), None)
    return tuple(hints) if inner is None else _keys_of(hints[inner], path[path.index(inner) + 1 :])


def _path(place: tuple[int | str, ...]) -> str:
    inside = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in place[1:])
    return f"{place[0]}{inside}"


def _allowed(place: tuple[int | str, ...], wrong: Mapping[str, Any]) -> Sentence:
    setting = DECLARED[str(place[0])]
    if len(place) == 1 or "table" not in setting.about:
        return setting.allowed
    # For tables, which only the settings file can have. Pydantic's own words are English.
    return _WORDS.get(wrong["type"], Sentence("allowed: {problem}", problem=wrong["msg"]))


def _display(place: tuple[int | str, ...], value: Any) -> str:
    setting = DECLARED[str(place[0])]
    if {"api_keys", "env", "headers"} & set(place):
        return MASK
    shown = mask_value(setting, value) if len(place) == 1 else plain(value)
    text = repr(shown)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


_TEXT = Annotated[str, StringConstraints(strict=True, strip_whitespace=True, min_length=1)]
_ITEM = Annotated[str, StringConstraints(strict=True, min_length=1)]
_ID = Annotated[int, Field(strict=True, ge=0, lt=2**63)]
_KINDS: Mapping[str, Any] = {
    "switch": Annotated[bool, Field(strict=True)],
    "fraction": Annotated[float, Field(strict=True, ge=0, le=1)],
    "strings": tuple[_ITEM, ...],
    "ids": tuple[_ID, ...],
    "path": Path,
    "text": _TEXT,
    "name": Annotated[str, StringConstraints(strict=True, strip_whitespace=True)],
    "passage": Annotated[str, StringConstraints(strict=True, strip_whitespace=True)],
}


def merge(*places: Mapping[str, Any]) -> dict[str, Any]:
    """Merge and check the sources; earlier ones win. Mistakes raise a ValidationError.

    A table comes from one source as a whole; tables are never merged.
    """
    given = _model().model_validate(dict(ChainMap(*map(dict, places))))
    return {key: getattr(given, key) for key in given.model_fields_set}


def check_value(setting: Setting, value: Any) -> Any:
    """Check one value. A ConfigError says what is allowed."""
    try:
        return TypeAdapter(_type(setting)).validate_python(value)
    except ValidationError as error:
        wrong = error.errors(include_url=False)[0]
        raise ConfigError(complaint((setting.name, *wrong["loc"]), wrong)) from None


@cache
def _model() -> type[BaseModel]:
    types: dict[str, Any] = {
        setting.name: (_type(setting), setting.default) for setting in DECLARED.values()
    }
    return create_model("Declared", __config__=ConfigDict(extra="forbid"), **types)


def _type(setting: Setting) -> Any:
    about = setting.about
    if "low" in about:
        return Annotated[int, Field(strict=True, ge=about["low"], le=about["high"])]
    if "choices" in about:
        return Literal[about["choices"]]
    if "table" in about:
        return get_type_hints(setting.section)[setting.name]
    return next(kind for name, kind in _KINDS.items() if name in about)
