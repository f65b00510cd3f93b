"""Describes what pydantic found wrong, in our words: the key, the value and what is allowed.

`settings_loading` adds where the value comes from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from oshaberi.config.all_settings import DECLARED, near
from oshaberi.config.settings_redaction import masked, plain
from oshaberi.errors import ConfigError, Sentence
from oshaberi.secret_redaction import MASK

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
        return Sentence("{path}: no such key", path=path)
    if kind == "missing":
        return Sentence("{path}: is missing", path=path)
    if kind == "value_error":
        return Sentence("{path}: {problem}", path=path, problem=str(wrong["ctx"]["error"]))
    return Sentence(
        "{key}: {value} is not {allowed}",
        key=path,
        value=_shown(place, wrong["input"]),
        allowed=_allowed(place, wrong),
    )


def no_such_setting(key: str, known: Iterable[str]) -> Sentence:
    """Return the message for an unknown setting, with the one that was probably meant."""
    return Sentence("{key}: no such setting{hint}", key=key, hint=near(key, known))


def _path(place: tuple[int | str, ...]) -> str:
    inside = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in place[1:])
    return f"{place[0]}{inside}"


def _allowed(place: tuple[int | str, ...], wrong: Mapping[str, Any]) -> Sentence:
    setting = DECLARED[str(place[0])]
    if len(place) == 1 or "table" not in setting.about:
        return setting.allowed
    # Of tables, which only the settings file has: pydantic's words are English.
    return _WORDS.get(wrong["type"], Sentence("allowed: {problem}", problem=wrong["msg"]))


def _shown(place: tuple[int | str, ...], value: Any) -> str:
    setting = DECLARED[str(place[0])]
    if {"api_keys", "env", "headers"} & set(place):
        return MASK
    shown = masked(setting, value) if len(place) == 1 else plain(value)
    text = repr(shown)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
